"""Records: dataclasses that are written as plain values, and read back by the annotations of their fields.

A field that has its default is not written, and may be absent; a class that lists names in `optional` writes
and demands all its other fields.
"""

from collections.abc import Callable, Collection
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from directrank.storage.strict_json import as_plain

#: Numbers are smaller: sums and axes of charts must not overflow.
LARGEST = 1e100
#: A message has at most this many letters of an odd value.
SHOWN = 40

Record = TypeVar("Record")
Decoder = Callable[[Any, str], Any]


class OddValueError(ValueError):
    """A value is not what is expected at its place."""

    def __init__(self, place: str, value: Any, expected: str):
        text = ascii(value)
        text = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
        super().__init__(f"{place.removeprefix('.') or 'the whole'}: found {text}, expected {expected}")


def demand(fine: bool, value: Any, place: str, expected: str) -> None:
    """Raise `OddValueError` unless a value is fine."""
    if not fine:
        raise OddValueError(place, value, expected)


def demand_names(value: dict[str, Any], place: str, names: Collection[str], optional: Collection[str] = ()):
    """Refuse a mapping that lacks a name, or has another one."""
    missing = [name for name in names if name not in value and name not in optional]
    if missing:
        raise OddValueError(place, sorted(value), f"{missing[0]!r} among the names")
    unknown = [name for name in value if name not in names]
    if unknown:
        raise OddValueError(place, unknown[0], f"one of {', '.join(names)}")


def finite(value: Any, place: str) -> None:
    """Refuse numbers that are infinite or huge, and NaN."""
    demand(abs(value) < LARGEST, value, place, "a finite number")


def not_empty(value: Any, place: str) -> None:
    """Refuse an empty list."""
    demand(len(value) > 0, f"{len(value)} values", place, "a list of 1 or more")


Number = Annotated[float, finite]
#: What needs no look inside: the value of a parameter.
Plain = Any


def encode(value: Any) -> Any:
    """Return a record, or what holds records, as plain values."""
    return as_plain(value, _members)


def _members(value: Any) -> Any:
    if not is_dataclass(value):
        return value
    members = {each.name: getattr(value, each.name) for each in fields(value)}
    absent = _defaults(type(value))
    return {
        name: encode(each) for name, each in members.items() if name not in absent or each != absent[name]
    }


def decode(kind: type[Record], value: Any, place: str = "") -> Record:
    """Return the record that plain values stand for.

    Raises
    ------
    OddValueError
        If a field is missing, unknown, or not of its type; its place is named.
    """
    return decoder(kind)(value, place)


@cache
def decoder(kind: Any) -> Decoder:
    """Return what checks and reads a value of a type: a record, or what fields of records hold."""
    origin, inner = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return _record(kind)
    if origin is Annotated:
        return _checked(decoder(inner[0]), inner[1:])
    if origin in (Union, UnionType):
        return _either([decoder(each) for each in sorted(inner, key=lambda each: each is not NoneType)])
    if origin is list:
        return _list(decoder(inner[0]))
    if origin is tuple:
        return _tuple([decoder(each) for each in inner])
    return _names(decoder(inner[1])) if origin is dict else BASIC[kind]


def _basic(expected: str, *types: type, least: float = -LARGEST) -> Decoder:
    def check(value: Any, place: str) -> Any:
        demand(type(value) in types, value, place, expected)
        demand(type(value) is not int or least <= value < LARGEST, value, place, expected)
        return value

    return check


BASIC: dict[Any, Decoder] = {
    str: _basic("text", str),
    bool: _basic("true or false", bool),
    int: _basic("a whole number, 0 or more", int, least=0),
    float: _basic("a finite number", int, float),
    NoneType: _basic("nothing", NoneType),
    Any: lambda value, place: BASIC[float](value, place) if type(value) is int else value,
}


def _checked(read: Decoder, checks: Collection[Decoder]) -> Decoder:
    def check(value: Any, place: str) -> Any:
        value = read(value, place)
        for each in checks:
            each(value, place)
        return value

    return check


def _either(kinds: list[Decoder]) -> Decoder:
    def read(value: Any, place: str) -> Any:
        for each in kinds[:-1]:
            try:
                return each(value, place)
            except OddValueError:
                continue
        return kinds[-1](value, place)

    return read


def _list(read: Decoder) -> Decoder:
    def read_list(value: Any, place: str) -> Any:
        demand(type(value) is list, value, place, "a list")
        return [read(each, f"{place}[{at}]") for at, each in enumerate(value)]

    return read_list


def _tuple(kinds: list[Decoder]) -> Decoder:
    def read(value: Any, place: str) -> Any:
        demand(type(value) is list and len(value) == len(kinds), value, place, f"a list of {len(kinds)}")
        return tuple(
            kind(each, f"{place}[{at}]") for at, (kind, each) in enumerate(zip(kinds, value, strict=True))
        )

    return read


def _names(read: Decoder) -> Decoder:
    def read_names(value: Any, place: str) -> Any:
        demand(type(value) is dict, value, place, "names with values")
        return {name: read(each, f"{place}.{name}") for name, each in value.items()}

    return read_names


def _record(kind: Any) -> Decoder:
    hints, absent = get_type_hints(kind, include_extras=True), _defaults(kind)
    readers = {each.name: decoder(hints[each.name]) for each in fields(kind)}

    def read(value: Any, place: str) -> Any:
        demand(type(value) is dict, value, place, "names with values")
        demand_names(value, place, readers, absent)
        return kind(**{name: readers[name](each, f"{place}.{name}") for name, each in value.items()})

    return read


@cache
def _defaults(kind: Any) -> dict[str, Any]:
    """Return the fields of a record that may be absent, with their values then."""
    defaults = {
        each.name: each.default if each.default is not MISSING else each.default_factory()  # type: ignore[misc]
        for each in fields(kind)
        if each.default is not MISSING or each.default_factory is not MISSING
    }
    optional = getattr(kind, "optional", defaults)
    return {name: value for name, value in defaults.items() if name in optional}
