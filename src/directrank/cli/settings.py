"""Words of the command line made into values."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from directrank.cli.failures import UsageError

if TYPE_CHECKING:
    from directrank.estimators.methods import Configured

#: Constructor parameters that have an option of their own.
OWN_OPTIONS = {"measure": "--measure", "select_by": "--select-by", "random_state": "--seed"}
WORDS = {"true": True, "false": False, "none": None}


def names(text: str) -> list[str]:
    """Split a list of names at the commas outside brackets and quotes."""
    from directrank.estimators.methods import split_specs

    return split_specs(text)


def missing_rule(text: str) -> str | float:
    """Return the rule for NULL: a word, or the number that stands in."""
    if text in ("error", "query_min"):
        return text
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--missing {text}: expected error, query_min or a number") from None


def seeds_of(text: str) -> list[int]:
    """Return the numbers of a list with commas."""
    try:
        seeds = [int(each) for each in text.split(",")]
    except ValueError:
        raise UsageError(f"--seeds {text}: expected numbers with commas, such as 0,1,2") from None
    if min(seeds) < 0:
        raise UsageError(f"--seeds {text}: a seed is 0 or more")
    return seeds


def value_of(text: str) -> Any:
    """Return what a written value means: a number, true, false, none, numbers with commas, or the text."""
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    pieces = [value_of(piece) for piece in text.split(",")] if "," in text else []
    if pieces and all(type(piece) in (int, float) for piece in pieces):
        return tuple(pieces)
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _start(text: str) -> Any:
    """Return where a search starts: a word, coefficients with commas, or the ranker of a model file."""
    from pathlib import Path

    from directrank.models import load

    return load(Path(text)) if Path(text).is_file() else value_of(text)


def parameters_of(settings: Sequence[str], method: "Configured") -> dict[str, Any]:
    """Return the constructor parameters that ``--set name=value`` words give.

    Raises
    ------
    UsageError
        If a word has another form, the method has no such parameter, or it is given twice.
    """
    defaults = method.method.estimator().get_params(deep=False)
    known = [name for name in defaults if name not in OWN_OPTIONS]
    found: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(f"--set {setting}: expected name=value")
        if name in OWN_OPTIONS:
            raise UsageError(f"--set {setting}: use {OWN_OPTIONS[name]} {text}")
        if name not in known:
            near = get_close_matches(name, known, 1)
            advice = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
            raise UsageError(f"{method.method.name} has no parameter {name!r}; {advice}")
        if name in found:
            raise UsageError(f"--set {name} is given twice")
        found[name] = _start(text) if name == "start" else value_of(text)
        _check_number(setting, found[name], defaults[name])
    return found


def _check_number(setting: str, value: Any, default: Any) -> None:
    """Refuse what is not a number where the default is one; whole numbers here count something."""
    if type(default) not in (int, float):
        return
    if type(value) not in (int, float) or value != value:
        raise UsageError(f"--set {setting}: expected a number")
    if type(default) is int and (type(value) is not int or value < 0):
        raise UsageError(f"--set {setting}: expected a whole number, 0 or more")
