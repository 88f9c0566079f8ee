"""The table of methods: what the command line and a comparison can train, by name."""

import re
from collections.abc import Sequence
from difflib import get_close_matches

from directrank.estimators.method import Configured, Method
from directrank.estimators.presets import (
    approximate,
    boosted,
    bounds,
    consistent,
    lambdas,
    listwise,
    pairs,
    regression,
)
from directrank.measures import parse_measure

__all__ = ["METHODS", "Configured", "Method", "configured"]

#: Every named method, in the order of printing.
METHODS = (
    *regression.METHODS,
    *pairs.METHODS,
    *listwise.METHODS,
    *lambdas.METHODS,
    *consistent.METHODS,
    *approximate.METHODS,
    *bounds.METHODS,
    *boosted.METHODS,
)

_SPEC = re.compile(r"([A-Za-z][\w-]*)\s*(?:\((.*)\))?$")


def split_specs(text: str) -> list[str]:
    """Split ``adarank(nDCG(dcg='log2')@5),regression`` at the commas outside brackets and quotes."""
    pieces, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        depth += (letter == "(") - (letter == ")") if not quote else 0
        if letter == "," and depth == 0 and not quote:
            pieces.append("")
        else:
            pieces[-1] += letter
    return [piece.strip() for piece in pieces if piece.strip()]


def configured(spec: str | Sequence[str | Configured], select_by: str = "AP") -> list[Configured]:
    """Return the methods that a comma-separated list names; ``all`` names every one.

    A sequence may hold `Configured` methods of your own beside names. An alias gives the method that it is
    another name of.

    Raises
    ------
    ValueError
        If a method is unknown, or a measure is given to one that takes none.
    MeasureNameError
        If the name of a measure is unknown.
    """
    pieces = split_specs(spec) if isinstance(spec, str) else list(spec)
    if pieces == ["all"]:
        pieces = [method.name for method in METHODS]
    if not pieces:
        raise ValueError("no method is named; `all` names every one")
    chooser = parse_measure(select_by).name
    return [piece if isinstance(piece, Configured) else _configured(piece, chooser) for piece in pieces]


def _configured(piece: str, select_by: str) -> Configured:
    match = _SPEC.match(piece)
    name, inner = (match.group(1).lower(), match.group(2)) if match else (piece, None)
    named = {name: method for method in METHODS for name in (method.name, *method.aliases)}
    if name not in named:
        near = get_close_matches(name, named, 1)
        advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(named)}"
        raise ValueError(f"no method is called {piece!r}; {advice}")
    method = named[name]
    if inner is not None and not method.takes_measure:
        raise ValueError(f"{name} takes no measure in brackets, but {piece!r} gives one")
    measure = parse_measure(inner).name if inner else method.measure
    if measure is None and method.takes_measure:
        measure = select_by
    shown = f"{method.name}({measure})" if measure and measure != method.measure else method.name
    return Configured(shown, method, measure, select_by)
