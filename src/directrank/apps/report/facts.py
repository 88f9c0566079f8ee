"""A comparison as the page reads it."""

from collections.abc import Sequence
from functools import cached_property

from directrank.apps.experiments import Comparison, Table
from directrank.apps.experiments.store.records import Pair, Training
from directrank.apps.report.blocks import Cell, Row


class Facts:
    """A comparison, with what several sections need of it.

    `main` is the measure of the headline. `trained` is False for rankings that were made elsewhere.
    """

    def __init__(self, result: Comparison):
        self.result, self.content = result, result.content
        self.main = result.main
        self.measures = [self.main, *(measure for measure in result.measures if measure != self.main)]
        self.asked = result.conventions[0]
        self.trained = result.content.select_by is not None

    @cached_property
    def index(self) -> dict[str, int]:
        """The index of each method in the requested order."""
        return {label: index for index, label in enumerate(self.result.methods)}

    @cached_property
    def complete(self) -> list[str]:
        """The methods that failed on no fold."""
        return [
            method for method in self.result.methods if len(self.result.of(method)) == len(self.result.folds)
        ]

    @cached_property
    def unfinished(self) -> dict[str, list[Training]]:
        """The endings of models that did not converge, by method."""
        return self.result.unfinished()

    def row(self, method: str, cells: Sequence[Cell], letter: str = "") -> Row:
        """Return a row of a table about a method."""
        mark, title = (Table.dagger, "not every model converged") if method in self.unfinished else ("", "")
        return Row([Cell(method, mark=mark, title=title), *cells], self.index[method], letter)

    def ranked(self, convention: str, measure: str) -> list[str]:
        """Return the methods by mean, the best first, those that failed last."""
        means = self.result.means(measure, convention)
        return [*means, *(method for method in self.result.methods if method not in means)]

    def level(self, convention: str) -> str:
        """Return the level of the intervals, in percent."""
        return f"{self.content.tests(convention).level:.0%}"

    def pair(self, measure: str, first: str, second: str) -> Pair | None:
        """Return the test of one method against another, the difference being first minus second."""
        return self.content.tests(self.asked).pair(measure, first, second)

    def interval(self, convention: str, measure: str, method: str) -> tuple[float, float] | None:
        """Return the bootstrap interval of a method's mean, or None."""
        return self.content.tests(convention).intervals.get(measure, {}).get(method)
