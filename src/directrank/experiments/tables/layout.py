"""Tables of a comparison, independent of the format they are written in."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from directrank.experiments.tables.endings import MARK

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
    unfinished : collection of str
        Labels of the rows of which a model did not converge; they are printed with a dagger.
    """

    title: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[float | None]]]
    errors: Sequence[bool]
    letters: Sequence[str] = ()
    marks: Sequence[Sequence[str]] = ()
    unfinished: Collection[str] = ()

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
            marked = label + MARK * (label in self.unfinished)
            printed.append((f"{marked} {self.letters[row]}".rstrip() if self.letters else marked, cells))
        return printed
