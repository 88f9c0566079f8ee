"""A comparison as the page reads it."""

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from directrank.experiments import Comparison
from directrank.experiments.results import unfinished
from directrank.experiments.tables import MARK
from directrank.report.blocks import Cell, Row


class Facts:
    """A comparison, with what several sections need of it.

    Attributes
    ----------
    result : Comparison
    summary : dict
    main : str
        The measure of the headline: the one that selected the settings, if it is reported, or the first.
    measures : list of str
        All, the main one first.
    asked : str
        The requested convention.
    trained : bool
        Whether methods were trained and selected; rankings that were made elsewhere were not.
    """

    def __init__(self, result: Comparison):
        self.result, self.summary = result, result.summary
        selecting = result.summary["select_by"]
        self.main = selecting if selecting in result.measures else result.measures[0]
        self.measures = [self.main, *(each for each in result.measures if each != self.main)]
        self.asked = result.conventions[0]
        self.trained = selecting is not None

    @cached_property
    def index(self) -> dict[str, int]:
        """The index of each method in the requested order."""
        return {label: index for index, label in enumerate(self.result.methods)}

    @cached_property
    def whole(self) -> list[str]:
        """The methods that failed on no fold."""
        return [each for each in self.result.methods if len(self.cells(each)) == len(self.result.folds)]

    @cached_property
    def unfinished(self) -> dict[str, list[dict[str, Any]]]:
        """The endings of models that did not converge, by method."""
        return unfinished(self.result)

    def cells(self, method: str) -> list[dict[str, Any]]:
        """Return the records of a method on the folds where it did not fail."""
        cells = [self.result.cell(method, fold) for fold in self.result.folds]
        return [cell for cell in cells if "error" not in cell]

    def row(self, method: str, cells: Sequence[Cell], letter: str = "") -> Row:
        """Return a row of a table about a method."""
        mark, title = (MARK, "not every model converged") if method in self.unfinished else ("", "")
        return Row([Cell(method, mark=mark, title=title), *cells], self.index[method], letter)

    def ranked(self, convention: str, measure: str) -> list[str]:
        """Return the methods by mean, the best first, those that failed last."""
        sign = 1.0 if self.result.is_error(measure) else -1.0

        def key(label: str) -> tuple[bool, float, int]:
            mean = self.result.mean(label, measure, convention)
            return mean is None, 0.0 if mean is None else sign * mean, self.index[label]

        return sorted(self.result.methods, key=key)

    def tested(self, convention: str) -> dict[str, Any]:
        """Return the tests of differences under a convention; empty if there are none."""
        return self.summary.get("significance", {}).get(convention, {})

    def level(self, convention: str) -> str:
        """Return the level of the intervals, in percent."""
        return f"{self.tested(convention).get('level', 0.95):.0%}"

    def pair(self, convention: str, measure: str, first: str, second: str) -> dict[str, Any] | None:
        """Return the test of one method against another, the difference being first minus second."""
        for each in self.tested(convention).get("pairs", {}).get(measure, ()):
            if (each["method"], each["baseline"]) == (first, second):
                return each
            if (each["method"], each["baseline"]) == (second, first):
                return _turned(each)
        return None

    def interval(self, convention: str, measure: str, method: str) -> tuple[float, float] | None:
        """Return the bootstrap interval of a method's mean, or None."""
        found = self.tested(convention).get("intervals", {}).get(measure, {}).get(method)
        return None if found is None else (found[0], found[1])


def _turned(pair: dict[str, Any]) -> dict[str, Any]:
    """Return the same test with the methods exchanged."""
    given = {
        "method": pair["baseline"],
        "baseline": pair["method"],
        "low": -pair["high"],
        "high": -pair["low"],
    }
    given |= {"wins": pair["losses"], "losses": pair["wins"]}
    return {**pair, **given, "difference": -pair["difference"], "effect": -pair["effect"]}


def mean(values: Iterable[float]) -> float:
    """Return the mean of at least one number."""
    known = list(values)
    return math.fsum(known) / len(known)
