"""Ctrl-C and SIGTERM end a command, and not within a step of the compiler."""

import _thread
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: The compiler's package. C calls its functions back, and errors raised there are printed and dropped. It
#: also frees C's memory, and an interrupted step could free it twice.
UNSTOPPABLE = "llvmlite."
#: Seconds after which a step of the compiler has probably ended.
SOON = 0.02


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise KeyboardInterrupt on Ctrl-C and on SIGTERM, the signal by which machines end programs.

    An error that Python's own handler raises during compilation can be lost, or crash the program; this
    handler waits until the compiler's step has ended. A program that was started to ignore Ctrl-C still
    ignores it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ignored = signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    before = {
        number: signal.signal(number, _interrupt) for number in (signal.SIGINT, signal.SIGTERM)[ignored:]
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    while frame is not None and not frame.f_globals.get("__name__", "").startswith(UNSTOPPABLE):
        frame = frame.f_back
    if frame is None:  # no step of the compiler is running
        raise KeyboardInterrupt
    if hasattr(signal, "pthread_kill"):  # It also wakes a program that waits.
        again = threading.Timer(SOON, signal.pthread_kill, (threading.get_ident(), number))
    else:
        again = threading.Timer(SOON, _thread.interrupt_main, (number,))
    again.daemon = True
    again.start()
