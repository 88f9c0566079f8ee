"""The methods by name: what the command line and a comparison can train."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import product
from typing import Any

from directrank.estimators.presets import AdaRank, ApproxRank, Regression
from directrank.estimators.ranker import Ranker
from directrank.measures import parse_measure


@dataclass(frozen=True)
class Method:
    """A named method.

    Parameters
    ----------
    name : str
        On the command line.
    estimator : type
        A `Ranker`.
    summary, paper : str
        One line each, for people.
    measure : str, optional
        The measure that the name fixes.
    takes_measure : bool, default=False
        Whether a measure can be given in brackets.
    fixed : mapping
        Constructor parameters that the name fixes.
    grid : mapping of str to tuple
        Hyper-parameters that a comparison selects on the validation part.
    """

    name: str
    estimator: type[Ranker]
    summary: str
    paper: str
    measure: str | None = None
    takes_measure: bool = False
    fixed: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, tuple] = field(default_factory=dict)


@dataclass(frozen=True)
class Configured:
    """A method with its measure, such as ``adarank(nDCG@5)``, and the measure that selects."""

    label: str
    method: Method
    measure: str | None
    select_by: str

    def points(self) -> list[dict[str, Any]]:
        """Return the grid, one dict of parameters a point."""
        names = list(self.method.grid)
        return [dict(zip(names, values, strict=True)) for values in product(*self.method.grid.values())]

    def build(self, parameters: Mapping[str, Any] | None = None, random_state: int = 0) -> Ranker:
        """Return an unfitted ranker at a point of the grid.

        A method that trains for a measure keeps its best round or start by that measure; `select_by` chooses
        among points, and inside methods that have no measure of their own.
        """
        arguments: dict[str, Any] = {**self.method.fixed, **(parameters or {})}
        if self.measure is None:
            arguments["select_by"] = self.select_by
        else:
            arguments["measure"] = self.measure
        return self.method.estimator(**arguments, random_state=random_state)


PENALTIES = (1e-4, 1e-3, 1e-2)
STEEPNESSES = (3.0, 10.0, 30.0, 100.0)
QIN = "Qin, Liu, Li, Information Retrieval 2010"

#: Every method, in the order of printing.
METHODS = (
    Method("regression", Regression, "least squares on relevance", "the baseline of LETOR's tables"),
    Method(
        "adarank",
        AdaRank,
        "boosting of single features, bound on the measure",
        "Xu, Li, SIGIR 2007",
        takes_measure=True,
    ),
    Method(
        "approxap",
        ApproxRank,
        "smooth approximation of average precision",
        QIN,
        measure="AP",
        grid={"steepness": STEEPNESSES, "penalty": PENALTIES},
    ),
    Method(
        "approxndcg",
        ApproxRank,
        "smooth approximation of nDCG over the whole list, or of the measure given",
        QIN,
        measure="nDCG",
        takes_measure=True,
        grid={"steepness": STEEPNESSES, "penalty": PENALTIES},
    ),
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


def configured(spec: str | Sequence[str], select_by: str = "AP") -> list[Configured]:
    """Return the methods that a comma-separated list names; ``all`` names every one.

    Raises
    ------
    ValueError
        If a method is unknown, or a measure is given to one that takes none.
    MeasureNameError
        If a measure's name is not understood.
    """
    pieces = split_specs(spec) if isinstance(spec, str) else list(spec)
    if pieces == ["all"]:
        pieces = [method.name for method in METHODS]
    if not pieces:
        raise ValueError("no method is named; `all` names every one")
    return [_configured(piece, parse_measure(select_by).name) for piece in pieces]


def _configured(piece: str, select_by: str) -> Configured:
    match = _SPEC.match(piece)
    name, inner = (match.group(1).lower(), match.group(2)) if match else (piece, None)
    method = next((each for each in METHODS if each.name == name), None)
    if method is None:
        names = [each.name for each in METHODS]
        near = get_close_matches(name, names, 1)
        advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
        raise ValueError(f"no method is called {piece!r}; {advice}")
    if inner is not None and not method.takes_measure:
        raise ValueError(f"{name} takes no measure in brackets, but {piece!r} gives one")
    measure = parse_measure(inner).name if inner else method.measure
    if measure is None and method.takes_measure:
        measure = select_by
    shown = f"{name}({measure})" if measure and measure != method.measure else name
    return Configured(shown, method, measure, select_by)
