"""Unambiguous JSON: no duplicate keys, no NaN, no numbers that overflow.

Values that JSON lacks are written as objects with one reserved key: ``{"$float": "nan"}``.
"""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

#: Lists and objects inside each other, deeper than any file of ours.
MAX_DEPTH = 64


class StrictJSONError(ValueError):
    """The text is not JSON, or it is ambiguous."""


def dump(value: Any) -> str:
    """Return the canonical text of a value: sorted keys, no blanks, floats with all digits."""
    return json.dumps(_encoded(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def parse(text: bytes) -> Any:
    """Return the value of a UTF-8 text, or raise `StrictJSONError`."""
    try:
        value = json.loads(
            text.decode(), object_pairs_hook=_object, parse_constant=_refuse, parse_float=_finite
        )
    except (ValueError, RecursionError) as error:
        raise StrictJSONError(str(error)) from None
    _check_depth(value)
    return value


def _check_depth(value: Any) -> None:
    # Without recursion: whoever walks the value later recurses, and must be able to.
    level = [value]
    for _ in range(MAX_DEPTH):
        inner = [each for each in level if isinstance(each, (list, dict))]
        level = [item for each in inner for item in (each.values() if isinstance(each, dict) else each)]
        if not level:
            return
    raise StrictJSONError(f"nested deeper than {MAX_DEPTH} levels")


def as_plain(value: Any, convert: Callable[[Any], Any] = lambda each: each) -> Any:
    """Return a value with mappings as dict, sequences and arrays as lists, numbers as Python's.

    All other objects in it are replaced by what `convert` returns.
    """
    if isinstance(value, Mapping):
        return {str(key): as_plain(each, convert) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_plain(each, convert) for each in value]
    return as_plain(value.tolist(), convert) if hasattr(value, "tolist") else convert(value)


def _encoded(value: Any) -> Any:
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise TypeError(f"keys must be text: {list(value)[:5]}")
        return {key: _encoded(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encoded(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    return value


def _object(pairs: list[tuple[str, Any]]) -> Any:
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
