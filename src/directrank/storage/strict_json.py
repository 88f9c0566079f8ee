"""Unambiguous JSON: no duplicate keys, no NaN, no numbers that overflow; and records, read by their types.

Values that JSON lacks are written as objects with one reserved key: ``{"$float": "nan"}``.
"""

import hashlib
import json
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Self,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

__all__ = [
    "JSONObject",
    "Number",
    "OddValueError",
    "Plain",
    "Record",
    "StrictJSONError",
    "as_plain",
    "demand",
    "demand_names",
    "dump",
    "encode",
    "not_empty",
    "parse",
    "signed",
    "take_signature",
]

#: A value as JSON has it, which is not looked into, such as that of a parameter.
Plain = Any
#: An object of JSON.
JSONObject = dict[str, Any]
#: Lists and objects inside each other, deeper than any file of ours.
MAX_DEPTH = 64


class StrictJSONError(ValueError):
    """The text is not JSON, or it is ambiguous."""


def dump(value: object) -> str:
    """Return the canonical text of a value: sorted keys, no blanks, floats with all digits."""
    return json.dumps(_encoded(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def signed(content: Mapping[str, object]) -> str:
    """Return the line of an object and of its SHA-256: of the canonical text of the rest."""
    return dump({**content, "sha256": _digest(content)}) + "\n"


def take_signature(content: JSONObject) -> bool:
    """Remove the SHA-256 of an object, and return whether it is that of the rest.

    Raises KeyError if it has none.
    """
    return content.pop("sha256") == _digest(content)


def _digest(content: Mapping[str, object]) -> str:
    return hashlib.sha256(dump(content).encode()).hexdigest()


def parse(text: bytes) -> Plain:
    """Return the value of a UTF-8 text, or raise `StrictJSONError`."""
    try:
        value = json.loads(
            text.decode(), object_pairs_hook=_object, parse_constant=_refuse, parse_float=_finite
        )
    except (ValueError, RecursionError) as error:
        raise StrictJSONError(str(error)) from None
    _check_depth(value)
    return value


def _check_depth(value: object) -> None:
    # Without recursion: whoever walks the value later recurses, and must be able to.
    level = [value]
    for _ in range(MAX_DEPTH):
        inner = [container for container in level if isinstance(container, (list, dict))]
        level = [
            item
            for container in inner
            for item in (container.values() if isinstance(container, dict) else container)
        ]
        if not level:
            return
    raise StrictJSONError(f"nested deeper than {MAX_DEPTH} levels")


def as_plain(value: Plain, convert: Callable[[Plain], Plain] = lambda item: item) -> Plain:
    """Return a value with mappings as dict, sequences and arrays as lists, numbers as Python's.

    All other objects in it are replaced by what `convert` returns.
    """
    if isinstance(value, Mapping):
        return {str(key): as_plain(item, convert) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_plain(item, convert) for item in value]
    return as_plain(value.tolist(), convert) if hasattr(value, "tolist") else convert(value)


def _encoded(value: object) -> Plain:
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise TypeError(f"keys must be text: {list(value)[:5]}")
        return {key: _encoded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encoded(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    return value


def _object(pairs: list[tuple[str, Plain]]) -> Plain:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise StrictJSONError("a key is repeated")
    if "$float" not in value:
        return value
    if value["$float"] not in ("nan", "inf", "-inf"):
        raise StrictJSONError("not a number")
    return float(value["$float"])


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise StrictJSONError(f"{text} is too large")
    return value


def _refuse(text: str) -> float:
    raise StrictJSONError(f"{text} is not JSON")


#: Numbers are smaller: sums and axes of charts must not overflow.
LARGEST = 1e100
#: A message has at most this many letters of an odd value.
SHOWN = 40
#: From a plain value and its place to what it stands for; it raises `OddValueError`.
Decoder = Callable[[Plain, str], Plain]


class OddValueError(ValueError):
    """A value is not what is expected at its place."""

    def __init__(self, place: str, value: object, expected: str):
        text = ascii(value)
        text = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
        super().__init__(f"{place.removeprefix('.') or 'the whole'}: found {text}, expected {expected}")


def demand(fine: bool, value: object, place: str, expected: str) -> None:
    """Raise `OddValueError` unless a value is fine."""
    if not fine:
        raise OddValueError(place, value, expected)


def demand_names(value: Plain, place: str, names: Collection[str], optional: Collection[str] = ()) -> None:
    """Refuse what is no mapping, lacks a name, or has another one."""
    demand(type(value) is dict, value, place, "names with values")
    missing = [name for name in names if name not in value and name not in optional]
    demand(not missing, sorted(value), place, f"{(missing or [''])[0]!r} among the names")
    unknown = [name for name in value if name not in names]
    demand(not unknown, (unknown or [""])[0], place, f"one of {', '.join(names)}")


def finite(value: Plain, place: str) -> None:
    """Refuse numbers that are infinite or huge, and NaN."""
    demand(abs(value) < LARGEST, value, place, "a finite number")


def not_empty(value: Plain, place: str) -> None:
    """Refuse an empty list."""
    demand(len(value) > 0, "0 values", place, "a list of 1 or more")


Number = Annotated[float, finite]


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
@dataclass(frozen=True, kw_only=True)
class Record:
    """The base of records, which makes them immutable dataclasses.

    A field with a default may be absent, and is not written where it has it; a class that sets `optional` to
    some names writes and demands all others.
    """

    optional: ClassVar[Collection[str] | None] = None

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)

    @classmethod
    def like(cls, other: object) -> Self:
        """Return the record whose fields are the attributes of an object that have their names."""
        return cls(**{entry.name: getattr(other, entry.name) for entry in fields(cls)})

    @classmethod
    def read(cls, value: object, place: str = "") -> Self:
        """Return the record that plain values stand for, or raise an `OddValueError` that names the place."""
        return decoder(cls)(value, place)


def encode(value: object) -> Plain:
    """Return a record, or what holds records, as plain values."""
    return as_plain(value, lambda item: _members(item) if isinstance(item, Record) else item)


def _members(record: Record) -> JSONObject:
    absent = _defaults(type(record))
    members = {entry.name: getattr(record, entry.name) for entry in fields(record)}
    return {
        name: encode(value) for name, value in members.items() if name not in absent or value != absent[name]
    }


@cache
def _defaults(kind: type[Record]) -> JSONObject:
    """Return the fields of a record that may be absent, with their values then."""
    defaults = {
        entry.name: entry.default if entry.default_factory is MISSING else entry.default_factory()
        for entry in fields(kind)
        if entry.default is not MISSING or entry.default_factory is not MISSING
    }
    return {name: defaults[name] for name in (defaults if kind.optional is None else kind.optional)}


@cache
def decoder(kind: Any) -> Decoder:
    """Return what checks and reads a value of an annotated type: of a record, or of one of its fields."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _checked(decoder(inner[0]), inner[1:])
    if origin in (Union, UnionType):
        return _either(
            [decoder(option) for option in sorted(inner, key=lambda option: option is not NoneType)]
        )
    if origin is list:
        return _list(decoder(inner[0]))
    if origin is tuple:
        return _tuple([decoder(option) for option in inner])
    if origin is dict:
        return _dict(decoder(inner[1]))
    return BASIC[kind] if kind in BASIC else _record(kind)


def _basic(expected: str, *types: type, least: float = -LARGEST) -> Decoder:
    def read(value: Plain, place: str) -> Plain:
        fine = type(value) in types and (type(value) is not int or least <= value < LARGEST)
        demand(fine, value, place, expected)
        return value

    return read


_float = _basic("a finite number", int, float)
BASIC: dict[Any, Decoder] = {
    str: _basic("text", str),
    bool: _basic("true or false", bool),
    int: _basic("a whole number, 0 or more", int, least=0),
    float: _float,
    NoneType: _basic("nothing", NoneType),
    Any: lambda value, place: _float(value, place) if type(value) is int else value,
}


def _checked(decode: Decoder, checks: Collection[Callable[[Plain, str], None]]) -> Decoder:
    def read(value: Plain, place: str) -> Plain:
        decoded = decode(value, place)
        for check in checks:
            check(decoded, place)
        return decoded

    return read


def _either(decoders: list[Decoder]) -> Decoder:
    def read(value: Plain, place: str) -> Plain:
        for decode in decoders[:-1]:
            try:
                return decode(value, place)
            except OddValueError:
                continue
        return decoders[-1](value, place)

    return read


def _list(decode: Decoder) -> Decoder:
    def read(value: Plain, place: str) -> Plain:
        demand(type(value) is list, value, place, "a list")
        return [decode(item, f"{place}[{at}]") for at, item in enumerate(value)]

    return read


def _tuple(decoders: list[Decoder]) -> Decoder:
    def read(value: Plain, place: str) -> Plain:
        fine = type(value) is list and len(value) == len(decoders)
        demand(fine, value, place, f"a list of {len(decoders)}")
        return tuple(decode(item, place) for decode, item in zip(decoders, value, strict=True))

    return read


def _dict(decode: Decoder) -> Decoder:
    def read(value: Plain, place: str) -> Plain:
        demand(type(value) is dict, value, place, "names with values")
        return {name: decode(item, f"{place}.{name}") for name, item in value.items()}

    return read


def _record(kind: type[Record]) -> Decoder:
    hints, optional = get_type_hints(kind, include_extras=True), _defaults(kind)
    decoders = {entry.name: decoder(hints[entry.name]) for entry in fields(kind)}

    def read(value: Plain, place: str) -> Plain:
        demand_names(value, place, decoders, optional)
        return kind(**{name: decoders[name](item, f"{place}.{name}") for name, item in value.items()})

    return read
