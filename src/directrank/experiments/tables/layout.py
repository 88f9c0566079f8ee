"""Tables of a comparison, independent of the format they are written in."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from directrank.experiments.tables.endings import MARK

#: Decimals of a printed value; values that print alike count as equal.
DECIMALS = 4


def p_value(p: float) -> str:
    """Return a p-value as printed, with its sign: ``= 0.012`` or ``< 0.0001``."""
    return "< 0.0001" if p < 0.0001 else f"= {p:.2g}"


class Printed(NamedTuple):
    """A value as printed: its text, whether it is the best of its column, and its mark."""

    text: str
    best: bool
    mark: str


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

    def mark(self, row: int, column: int) -> str:
        """Return ``>ac`` for a value significantly better than those of methods (a) and (c)."""
        letters = self.marks[row][column] if self.marks else ""
        return f">{letters}" if letters else ""

    def letter(self, row: int) -> str:
        """Return the letter of a row as printed after its label, in parentheses."""
        return f"({self.letters[row].strip('()')})" if self.letters and self.letters[row] else ""

    def printed(self, failed: str = "failed") -> list[tuple[str, list[Printed]]]:
        """Return label and letter, and printed values, of every row; `failed` is printed for no value."""
        columns, printed = range(len(self.columns)), []
        for row, (label, _) in enumerate(self.rows):
            cells = [
                Printed(self.shown(row, c) or failed, self.best(row, c), self.mark(row, c)) for c in columns
            ]
            marked = label + MARK * (label in self.unfinished)
            printed.append((f"{marked} {self.letter(row)}".rstrip(), cells))
        return printed
