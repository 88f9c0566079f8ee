"""The grammar of measures' names: ``Name(parameter=value, ...)@cutoff``, as in ir_measures."""

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from directrank.errors import MeasureNameError

#: From a written value to keyword arguments of the measure's constructor.
Reader = Callable[[Any], dict[str, Any]]

_NAME = re.compile(r"\s*([^\s()@=,]+)\s*(?:\(([^()]*)\))?\s*(?:@\s*([0-9]+))?\s*")
_PARAMETER = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(?:'([^']*)'|\"([^\"]*)\"|([^\s'\",=]+))\s*")


class Named:
    """What every measure says of its name.

    A measure names itself, the parameters that may be written in its name, and other tools' words for it;
    it prints those parameters that differ from their defaults. Measures of one name are equal.
    """

    #: The canonical word.
    bare_name: ClassVar[str]
    #: Other words for it, in any case.
    aliases: ClassVar[tuple[str, ...]] = ()
    #: What may be written in parentheses.
    parameters: ClassVar[Mapping[str, Reader]] = {}
    #: Whether ``@k`` may be written: ``"optional"``, ``"required"`` or ``"none"``.
    cutoff_is: ClassVar[str] = "optional"

    #: Whether more than two classes of documents differ in their worth.
    graded: ClassVar[bool] = False

    #: The last position that counts, an int or None; narrower where a cutoff is required.
    cutoff: Any = None

    @property
    def fixed_places(self) -> int | None:
        """How many first positions a ranking must fill rightly to be perfect; None for all."""
        return self.cutoff

    @property
    def name(self) -> str:
        """The canonical name."""
        words = ",".join(f"{word}={_written(value)}" for word, value in self.printed().items())
        return self.bare_name + (f"({words})" if words else "") + (f"@{self.cutoff}" if self.cutoff else "")

    def printed(self) -> dict[str, Any]:
        """The parameters that are not at their defaults."""
        return {}

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


def split_name(text: str) -> tuple[str, dict[str, Any], int | None]:
    """Split a name into its word, its parameters and its cutoff.

    Raises
    ------
    MeasureNameError
        If the text does not follow the grammar.
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


def checked_cutoff(cutoff: int | None) -> int | None:
    """Return the cutoff, a whole number of 1 or more, or None.

    Raises
    ------
    MeasureNameError
        If it is anything else.
    """
    if cutoff is None:
        return None
    if isinstance(cutoff, bool) or cutoff != int(cutoff) or cutoff < 1:
        raise MeasureNameError(f"the cutoff {cutoff!r} must be a whole number of 1 or more")
    return int(cutoff)


def checked_grade(parameter: str, value: Any) -> float:
    """Return a grade above 0, an int where it is whole.

    Raises
    ------
    MeasureNameError
        If it is not a number, or not positive and finite.
    """
    try:
        grade = float(value)
    except (TypeError, ValueError):
        grade = -1.0
    if not 0 < grade < float("inf"):
        raise MeasureNameError(f"{parameter}={value} must be a number above 0")
    return int(grade) if grade == int(grade) else grade


def grade(parameter: str) -> Reader:
    """Read a grade above 0."""
    return lambda value: {parameter: checked_grade(parameter, value)}


def choice(parameter: str, *words: str) -> Reader:
    """Read one of some words."""
    return lambda value: {parameter: checked_choice(parameter, value, words)}


def checked_choice(parameter: str, value: Any, words) -> Any:
    """Return the value if it is one of the words.

    Raises
    ------
    MeasureNameError
        If it is not.
    """
    if value not in words:
        raise MeasureNameError(f"{parameter}={value!r} must be one of {', '.join(map(repr, words))}")
    return value


def _written(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else f"{value:g}"
