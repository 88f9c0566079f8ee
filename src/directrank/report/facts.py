"""A comparison as the page looks at it."""

import math
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from directrank.experiments import Comparison
from directrank.experiments.tables.layout import is_error


class Facts:
    """A comparison, with what several sections ask of it.

    Attributes
    ----------
    result : Comparison
    summary : dict
    main : str
        The measure of the headline: the one that chose, if it is reported.
    measures : list of str
        All, the main one first.
    asked : str
        The convention asked for.
    """

    def __init__(self, result: Comparison):
        self.result, self.summary = result, result.summary
        chosen = result.summary["select_by"]
        self.main = chosen if chosen in result.measures else result.measures[0]
        self.measures = [self.main, *(each for each in result.measures if each != self.main)]
        self.asked = result.conventions[0]

    @cached_property
    def place(self) -> dict[str, int]:
        """The place of each method in the order asked for."""
        return {label: place for place, label in enumerate(self.result.methods)}

    @cached_property
    def whole(self) -> list[str]:
        """The methods that failed nowhere."""
        return [each for each in self.result.methods if len(self.cells(each)) == len(self.result.folds)]

    def cells(self, method: str) -> list[dict[str, Any]]:
        """Return the records of a method on the folds where it did not fail."""
        cells = [self.result.cell(method, fold) for fold in self.result.folds]
        return [cell for cell in cells if "error" not in cell]

    def ranked(self, convention: str, measure: str) -> list[str]:
        """Return the methods, the best mean first, those that failed last."""
        sign = 1.0 if is_error(measure) else -1.0

        def key(label: str) -> tuple[bool, float, int]:
            mean = self.result.mean(label, measure, convention)
            return mean is None, 0.0 if mean is None else sign * mean, self.place[label]

        return sorted(self.result.methods, key=key)

    def tested(self, convention: str) -> dict[str, Any]:
        """Return the tests of differences under a convention; empty if there are none."""
        return self.summary.get("significance", {}).get(convention, {})

    def pair(self, convention: str, measure: str, first: str, second: str) -> dict[str, Any] | None:
        """Return the test of one method against another, the difference being first minus second."""
        return self._pairs(convention, measure).get((first, second))

    def interval(self, convention: str, measure: str, method: str) -> tuple[float, float] | None:
        """Return the bootstrap interval of a method's mean, or None."""
        found = self.tested(convention).get("intervals", {}).get(measure, {}).get(method)
        return None if found is None else (found[0], found[1])

    def _pairs(self, convention: str, measure: str) -> dict[tuple[str, str], dict[str, Any]]:
        pairs = {}
        for each in self.tested(convention).get("pairs", {}).get(measure, ()):
            pairs[each["method"], each["baseline"]] = each
            pairs[each["baseline"], each["method"]] = _turned(each)
        return pairs


def mean(values: Iterable[float]) -> float:
    """Return the mean of numbers, of which there is one at least."""
    known = list(values)
    return math.fsum(known) / len(known)


def _turned(pair: dict[str, Any]) -> dict[str, Any]:
    return {
        **pair,
        "method": pair["baseline"],
        "baseline": pair["method"],
        "difference": -pair["difference"],
        "low": -pair["high"],
        "high": -pair["low"],
        "effect": -pair["effect"],
        "wins": pair["losses"],
        "losses": pair["wins"],
    }
