"""The grammar of measures' names: ``Name(parameter=value, ...)@cutoff``, as in ir_measures."""

import math
import re
from collections.abc import Callable
from typing import Any

from directrank.errors import MeasureNameError

#: From a parameter's word and value to its checked value.
Check = Callable[[str, Any], Any]

_NAME = re.compile(r"\s*([^\s()@=,]+)\s*(?:\(([^()]*)\))?\s*(?:@\s*([0-9]+))?\s*")
_PARAMETER = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(?:'([^']*)'|\"([^\"]*)\"|([^\s'\",=]+))\s*")


def split_name(text: str) -> tuple[str, dict[str, str], int | None]:
    """Split a name into its word, its parameters and its cutoff.

    Raises MeasureNameError if the text does not follow the grammar.
    """
    found = _NAME.fullmatch(text)
    if not found:
        raise MeasureNameError(f"{text!r} is not a measure's name; expected one like nDCG@10 or AP(rel=2)")
    word, inside, cutoff = found.groups()
    parameters = {}
    for each in (inside or "").split(",") if (inside or "").strip() else ():
        pair = _PARAMETER.fullmatch(each)
        if not pair:
            raise MeasureNameError(
                f"{each.strip()!r} in {text!r} is not a parameter; expected one like rel=2"
            )
        if pair[1] in parameters:
            raise MeasureNameError(f"{pair[1]} is given twice in {text!r}")
        parameters[pair[1]] = next(value for value in pair.groups()[1:] if value is not None)
    return word, parameters, None if cutoff is None else int(cutoff)


def joined_name(word: str, parameters: dict[str, Any], cutoff: int | None) -> str:
    """Write a name; the inverse of `split_name`."""
    inside = ",".join(
        f"{name}='{value}'" if isinstance(value, str) else f"{name}={value:g}"
        for name, value in parameters.items()
    )
    return word + (f"({inside})" if inside else "") + (f"@{cutoff}" if cutoff else "")


def cutoff(value: int | None) -> int | None:
    """Return a cutoff, a whole number of 1 or more, or None.

    Raises MeasureNameError if it is anything else.
    """
    if value is None:
        return None
    if isinstance(value, bool) or value != int(value) or value < 1:
        raise MeasureNameError(f"the cutoff {value!r} must be a whole number of 1 or more")
    return int(value)


def grade(word: str, value: Any) -> float:
    """Return a grade above 0, as an int if it is whole.

    Raises MeasureNameError if it is not a number, or not positive and finite.
    """
    number = _above_0(word, value, math.inf, "")
    return int(number) if number == int(number) else number


def probability(word: str, value: Any) -> float:
    """Return a number above 0 and below 1.

    Raises MeasureNameError if it is anything else.
    """
    return _above_0(word, value, 1.0, " and below 1")


def _above_0(word: str, value: Any, high: float, below: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not 0 < number < high:
        raise MeasureNameError(f"{word}={value} must be a number above 0{below}")
    return number


def one_of(*choices: str) -> Check:
    """Return a check that a value is one of some words; it raises `MeasureNameError`."""

    def check(word: str, value: Any) -> str:
        if value not in choices:
            raise MeasureNameError(f"{word}={value!r} must be one of {', '.join(map(repr, choices))}")
        return value

    return check
