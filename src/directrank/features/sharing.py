"""What rankers that are trained one after the other on the same data compute once."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Result = TypeVar("Result")
_last: ContextVar[dict[str, tuple] | None] = ContextVar("last", default=None)


@contextmanager
def sharing() -> Iterator[None]:
    """Let `once` keep the last result of each name until the end; inside another, its results serve too."""
    token = _last.set(dict(_last.get() or ()))
    try:
        yield
    finally:
        _last.reset(token)


def once(name: str, inputs: Sequence[object], compute: Callable[[], Result]) -> Result:
    """Return what is computed from some inputs; while `sharing`, the last result if they are the same.

    Arrays and other objects are the same if they are one object, and nobody may write to them.
    """
    last = _last.get()
    if last is None:
        return compute()
    if name not in last or not all(map(_same, inputs, last[name][0])):
        last.pop(name, None)  # One copy of the data at a time.
        last[name] = inputs, compute()
    return last[name][1]


def _same(first: object, other: object) -> bool:
    return first is other or (isinstance(first, (int, str, bytes)) and first == other)
