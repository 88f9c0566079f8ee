"""Ctrl-C and SIGTERM are held back, and not lost, while a step runs that must be completed."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold interrupts back until a step is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # Python cannot restore a handler that it did not set.
    handlers: dict[int, Any] = {
        number: handler for number in SIGNALS if (handler := signal.getsignal(number)) is not None
    }
    came: list[int] = []
    holding = [True]

    def hold(number: int, _: FrameType | None) -> None:
        if holding:
            came.append(number)
            return
        # The signal came while the handlers were being restored.
        signal.signal(number, handlers[number])
        signal.raise_signal(number)

    try:
        for signal_number in handlers:
            signal.signal(signal_number, hold)
        yield
    finally:
        holding.clear()
        for signal_number, handler in handlers.items():
            signal.signal(signal_number, handler)
        if came:
            signal.raise_signal(came[0])
