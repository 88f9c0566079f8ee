"""Values of options: the typed text parsed into values."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from directrank.cli.failures import UsageError, usage

if TYPE_CHECKING:
    from directrank.estimators.methods import Configured
    from directrank.experiments.options import Options

#: Options for constructor parameters, where a command has one.
OWN_OPTIONS = {"measure": "--measure", "select_by": "--select-by", "random_state": "--seed"}
WORDS = {"true": True, "false": False, "none": None}
#: ``penalty=0.1``, ``ranksvm.penalty=0.1`` or ``adarank(P(rel=2)@5).rounds=30``.
_SETTING = re.compile(r"((?:[A-Za-z][\w-]*(?:\(.*\))?\.)?[A-Za-z_]\w*)=(.*)", re.S)


def names(text: str) -> list[str]:
    """Split a list of names at the commas outside brackets and quotes."""
    from directrank.estimators.methods import split_specs

    return split_specs(text)


def missing_rule(text: str) -> str | float:
    """Return the rule for NULL: ``error``, ``query_min`` or the number to use instead."""
    if text in ("error", "query_min"):
        return text
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--missing {text}: expected error, query_min or a number") from None


def seeds_of(text: str) -> list[int]:
    """Return the numbers of a list with commas."""
    try:
        return [int(each) for each in text.split(",")]
    except ValueError:
        raise UsageError(f"--seeds {text}: expected numbers with commas, such as 0,1,2") from None


def value_of(text: str) -> Any:
    """Return a typed value: a number, true, false, none, a tuple of numbers, or the text."""
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


def values_of(text: str) -> list[Any]:
    """Return the typed values of a list with commas outside brackets and quotes."""
    return [value_of(each) for each in names(text)]


def assignments(
    option: str, words: Sequence[str] | None, parse: Callable[[str], Any]
) -> Iterator[tuple[str, str, Any]]:
    """Yield option and word as typed, name and value of words such as ``penalty=0.1``."""
    names = set()
    for word in words or ():
        match = _SETTING.fullmatch(word)
        if match is None:
            raise UsageError(f"{option} {word}: expected NAME=VALUE, such as penalty=0.1")
        name, text = match.groups()
        if name in names:
            raise UsageError(f"{option} {name} is given twice")
        names.add(name)
        yield f"{option} {word}", name, parse(text)


def settings_of(words: Sequence[str] | None) -> dict[str, Any]:
    """Return the parameters and values of ``--set`` options."""
    return {name: value for _, name, value in assignments("--set", words, value_of)}


def grids_of(words: Sequence[str] | None) -> dict[str, Any]:
    """Return the parameters and values of ``--grid`` options."""
    return {name: values for _, name, values in assignments("--grid", words, values_of)}


def with_settings(chosen: "Configured", words: Sequence[str] | None) -> "Configured":
    """Return a method with the parameters of ``--set`` options; ``start`` may name a model file."""
    from directrank.experiments.overrides import overridden

    for typed, name, value in assignments("--set", words, value_of):
        if name in OWN_OPTIONS:
            raise UsageError(f"{typed}: use {OWN_OPTIONS[name]} {value}")
        with usage(typed):
            (chosen,) = overridden([chosen], {name: _start(value) if name == "start" else value}, {})
    return chosen


def check_overrides(
    methods: "Sequence[Configured]", sets: Sequence[str] | None, grids: Sequence[str] | None
) -> None:
    """Check that the methods have the parameters of ``--set`` and ``--grid`` options."""
    from directrank.experiments.overrides import overridden

    for typed, name, value in assignments("--set", sets, value_of):
        with usage(typed):
            overridden(methods, {name: value}, {})
    for typed, name, values in assignments("--grid", grids, values_of):
        with usage(typed):
            overridden(methods, {}, {name: values})


def _start(value: Any) -> Any:
    """Return the start of a search: a word, coefficients, or the ranker of a model file."""
    from pathlib import Path

    from directrank.models import load

    return load(Path(value)) if isinstance(value, str) and Path(value).is_file() else value


#: Parsers of the options of `compare` that are typed as text.
PARSERS: dict[str, Callable[[Any], Any]] = {
    "measures": names, "missing": missing_rule, "seeds": seeds_of, "settings": settings_of, "grids": grids_of,
}  # fmt: skip


def comparison_options(given: Mapping[str, Any]) -> "Options":
    """Return the options of a comparison from those of the command; an error names the option as typed."""
    from directrank.experiments.options import CHECKS, Options

    typed = {each.name: given[each.name] for each in fields(Options) if given[each.name] is not None}
    parsed = {name: PARSERS[name](value) if name in PARSERS else value for name, value in typed.items()}
    for name, check in CHECKS.items():
        if name in parsed:
            with usage(f"--{name.replace('_', '-')} {typed[name]}"):
                check(parsed[name])
    return Options(**parsed)
