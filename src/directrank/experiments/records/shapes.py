"""Shapes: checks of plain values that name the place where a value is not as expected."""

from collections.abc import Callable, Collection
from typing import Any

#: A check of a value at a place; it raises `OddValueError`.
Shape = Callable[[Any, str], None]
#: Numbers are smaller: sums and axes of charts must not overflow.
LARGEST = 1e100
SHOWN = 40


class OddValueError(ValueError):
    """A value is not of the shape expected at its place."""

    def __init__(self, place: str, value: Any, expected: str):
        text = ascii(value)
        found = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
        super().__init__(f"{place.removeprefix('.') or 'the whole'}: found {found}, expected {expected}")


def fits(shape: Shape, value: Any) -> bool:
    """Whether a value has a shape."""
    try:
        shape(value, "")
    except OddValueError:
        return False
    return True


def text(value: Any, place: str) -> None:
    """Accept text."""
    _demand(isinstance(value, str), value, place, "text")


def flag(value: Any, place: str) -> None:
    """Accept true and false."""
    _demand(isinstance(value, bool), value, place, "true or false")


def whole(value: Any, place: str) -> None:
    """Accept a whole number from 0."""
    fine = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST
    _demand(fine, value, place, "a whole number, 0 or more")


def number(value: Any, place: str) -> None:
    """Accept a finite number."""
    fine = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < LARGEST
    _demand(fine, value, place, "a finite number")


def any_float(value: Any, place: str) -> None:
    """Accept a number, also one that is not finite."""
    if not isinstance(value, float):
        number(value, place)


def setting(value: Any, place: str) -> None:
    """Accept the value of a parameter: anything plain, and of numbers those that fit a float."""
    if isinstance(value, int) and not isinstance(value, bool):
        any_float(value, place)


def nothing(value: Any, place: str) -> None:
    """Accept None."""
    _demand(value is None, value, place, "nothing")


def one_of(*values: Any) -> Shape:
    """Accept some values only."""

    def check(value: Any, place: str) -> None:
        _demand(any(type(value) is type(each) and value == each for each in values), value, place, expected)

    expected = " or ".join(map(str, values))
    return check


def either(*shapes: Shape) -> Shape:
    """Accept what has one of some shapes; the error is that of the last one."""

    def check(value: Any, place: str) -> None:
        if not any(fits(shape, value) for shape in shapes[:-1]):
            shapes[-1](value, place)

    return check


def every(shape: Shape, length: int | None = None, *, least: int = 0) -> Shape:
    """Accept a list of values of one shape."""
    expected = f"a list of {length}" if length is not None else f"a list of {least} or more"

    def check(value: Any, place: str) -> None:
        _demand(isinstance(value, (list, tuple)), value, place, "a list")
        fine = len(value) >= least and length in (None, len(value))
        _demand(fine, f"{len(value)} values", place, expected)
        for at, each in enumerate(value):
            shape(each, f"{place}[{at}]")

    return check


def by_name(shape: Shape, names: Collection[str] | None = None) -> Shape:
    """Accept a mapping with values of one shape; `names` are the keys that it must have, if given."""

    def check(value: Any, place: str) -> None:
        _demand(isinstance(value, dict), value, place, "names with values")
        if names is not None:
            _demand_names(value, names, place)
        for name, each in value.items():
            shape(each, f"{place}.{name}")

    return check


def fields(**shapes: Shape) -> Shape:
    """Accept a mapping with these names and no other."""

    def check(value: Any, place: str) -> None:
        _demand(isinstance(value, dict), value, place, "names with values")
        _demand_names(value, shapes, place)
        for name, shape in shapes.items():
            shape(value[name], f"{place}.{name}")

    return check


def _demand_names(value: dict[str, Any], names: Collection[str], place: str) -> None:
    missing = [name for name in names if name not in value]
    if missing:
        raise OddValueError(place, sorted(value), f"{missing[0]!r} among the names")
    unknown = [name for name in value if name not in names]
    if unknown:
        raise OddValueError(place, unknown[0], f"one of {', '.join(names)}")


def _demand(fine: bool, value: Any, place: str, expected: str) -> None:
    if not fine:
        raise OddValueError(place, value, expected)
