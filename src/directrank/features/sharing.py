"""What rankers that are trained one after the other on the same data compute once."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar
from weakref import ref

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

    Arrays and other objects are the same if they are one object, and nobody may write to them. A result does
    not keep them in memory, and goes when they do.
    """
    last = _last.get()
    if last is None:
        return compute()
    if name not in last or not all(map(_same, inputs, last[name][0])):
        last.pop(name, None)  # One copy of the data at a time.
        for other in list(last):
            if any(isinstance(value, ref) and value() is None for value in last[other][0]):
                del last[other]
        last[name] = [_reference(value) for value in inputs], compute()
    return last[name][1]


def _reference(value: object) -> object:
    """Return a weak reference to an array or another object, and what has no such reference itself."""
    try:
        return ref(value)
    except TypeError:
        return value


def _same(value: object, reference: object) -> bool:
    other = reference() if isinstance(reference, ref) else reference
    return value is other or (isinstance(value, (int, str, bytes)) and value == other)
