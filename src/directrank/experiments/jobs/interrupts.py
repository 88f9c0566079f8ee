"""Ctrl-C, and what else asks a program to end: never lost, and never in the middle of a step."""

import _thread
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
#: A package that C calls back, where whatever is raised is printed and forgotten, and that frees C's memory,
#: which half of a step would free twice: the compiler's.
UNSTOPPABLE = "llvmlite."
#: Seconds until its step has probably ended.
SOON = 0.02


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise KeyboardInterrupt for Ctrl-C and for SIGTERM, by which machines end programs.

    What Python's own handler raises while code is compiled can be lost, or crash the program: this one waits.
    A program that was started to ignore Ctrl-C goes on to do so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        numbers.append(signal.SIGINT)
    before = {number: signal.signal(number, _interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back what asks the program to end until a step is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # One that was not set by Python cannot be put back.
    handlers: dict[int, Any] = {
        each: handler for each in SIGNALS if (handler := signal.getsignal(each)) is not None
    }
    came: list[int] = []
    holding = [True]

    def hold(number: int, _: FrameType | None) -> None:
        if holding:
            came.append(number)
            return
        # It came while handlers were put back.
        signal.signal(number, handlers[number])
        signal.raise_signal(number)

    try:
        for each in handlers:
            signal.signal(each, hold)
        yield
    finally:
        holding.clear()
        for each, handler in handlers.items():
            signal.signal(each, handler)
        if came:
            signal.raise_signal(came[0])


def _interrupt(number: int, frame: FrameType | None) -> None:
    if not _is_unstoppable(frame):
        raise KeyboardInterrupt
    if hasattr(signal, "pthread_kill"):  # it wakes a program that waits, too
        again = threading.Timer(SOON, signal.pthread_kill, (threading.get_ident(), number))
    else:
        again = threading.Timer(SOON, _thread.interrupt_main, (number,))
    again.daemon = True
    again.start()


def _is_unstoppable(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(UNSTOPPABLE):
            return True
        frame = frame.f_back
    return False
