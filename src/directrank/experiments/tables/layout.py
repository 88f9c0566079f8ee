"""Tables of a comparison, independent of the format they are written in."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from directrank.measures import parse_measure

if TYPE_CHECKING:
    from directrank.experiments.results import Comparison

#: Decimals of a printed value; values that print alike count as equal.
DECIMALS = 4


class Printed(NamedTuple):
    """A value as printed: its text, whether it is the best of its column, and its letters."""

    text: str
    best: bool
    letters: str


@dataclass(frozen=True)
class Table:
    """A table of values in [0, 1].

    Attributes
    ----------
    title, caption : str
    columns : sequence of str
        Headings of the value columns.
    rows : sequence of (str, sequence of float or None)
        A label and its values; None where a method failed.
    errors : sequence of bool
        Of each column, whether smaller is better.
    letters : sequence of str
        The letter of each row, if differences were tested.
    marks : sequence of sequence of str
        Of each row and column, the letters of the rows that this one is significantly better than.
    """

    title: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[float | None]]]
    errors: Sequence[bool]
    letters: Sequence[str] = ()
    marks: Sequence[Sequence[str]] = ()

    def best(self, row: int, column: int) -> bool:
        """Whether a value is printed the same as the best of its column, among two or more rows."""
        values = [self.shown(each, column) for each in range(len(self.rows))]
        known = [value for value in values if value]
        best = min if self.errors[column] else max
        return len(known) > 1 and values[row] == best(known)

    def shown(self, row: int, column: int) -> str:
        """Return a value as printed, or an empty text."""
        value = self.rows[row][1][column]
        return "" if value is None else f"{value:.{DECIMALS}f}"

    def printed(self, failed: str = "failed") -> list[tuple[str, list[Printed]]]:
        """Return label and letter, and printed values, of every row; `failed` is printed for no value."""
        columns, printed = range(len(self.columns)), []
        for row, (label, _) in enumerate(self.rows):
            marks = self.marks[row] if self.marks else [""] * len(columns)
            cells = [Printed(self.shown(row, c) or failed, self.best(row, c), marks[c]) for c in columns]
            printed.append((f"{label} {self.letters[row]}".rstrip() if self.letters else label, cells))
        return printed


def headline(result: "Comparison", convention: str) -> Table:
    """Return the means over folds on the test set: one row a method, one column a measure."""
    folds = f"mean of {len(result.folds)} folds" if len(result.folds) > 1 else "one fold"
    by = result.summary["select_by"]
    notes = [f"hyper-parameters chosen on validation by {by}"] if by else []
    tested = result.summary.get("significance", {}).get(convention)
    letters, marks = [], []
    if tested and any(tested["pairs"].values()):
        rule = {"holm": "Holm", "bh": "Benjamini-Hochberg"}[tested["correction"]]
        notes.append(
            f"superscripts: better than those methods, randomisation test on queries, {rule}, "
            f"p < {tested['alpha']:g}"
        )
        letters = [tested["letters"].get(row, "") for row in result.methods]
        better = [tested["better_than"][name] for name in result.measures]
        marks = [[each.get(row, "") for each in better] for row in result.methods]
    return Table(
        f"{result.dataset}: {f'test, {folds}' if by else 'all queries'}, convention {convention}",
        "; ".join(notes),
        result.measures,
        [(row, [result.mean(row, name, convention) for name in result.measures]) for row in result.methods],
        [is_error(measure) for measure in result.measures],
        letters,
        marks,
    )


def by_fold(result: "Comparison", convention: str, measure: str) -> Table:
    """Return one measure on the test set of every fold, with its mean."""
    rows = []
    for method in result.methods:
        values = [result.value(method, fold, measure, convention) for fold in result.folds]
        rows.append((method, [*values, result.mean(method, measure, convention)]))
    title = f"{result.dataset}: test {measure} by fold, convention {convention}"
    columns = [*result.folds, "mean"]
    return Table(title, "", columns, rows, [is_error(measure)] * len(columns))


def is_error(measure: str) -> bool:
    """Whether a measure is printed as an error, so that smaller is better."""
    return parse_measure(measure).is_error
