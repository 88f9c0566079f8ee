"""Tables of a comparison, before anybody draws them: terminal, page and text share these."""

from collections.abc import Sequence
from dataclasses import dataclass

from directrank.experiments.results import Comparison
from directrank.measures import parse_measure

#: Values are printed, and called equal, to so many decimals.
DECIMALS = 4


@dataclass(frozen=True)
class Table:
    """Rows of values in [0, 1].

    Attributes
    ----------
    title, caption : str
    columns : sequence of str
        Headings of the value columns.
    rows : sequence of (str, sequence of float or None)
        A label and its values; None where there is none.
    errors : sequence of bool
        Of each column, whether smaller is better.
    """

    title: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[float | None]]]
    errors: Sequence[bool]

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


def headline(result: Comparison, convention: str) -> Table:
    """Return the means over folds on the test part: one row a method, one column a measure."""
    folds = f"mean of {len(result.folds)} folds" if len(result.folds) > 1 else "one fold"
    return Table(
        f"{result.dataset}: test, {folds}, convention {convention}",
        f"hyper-parameters chosen on validation by {result.summary['select_by']}",
        result.measures,
        [
            (method, [result.mean(method, measure, convention) for measure in result.measures])
            for method in result.methods
        ],
        [is_error(measure) for measure in result.measures],
    )


def by_fold(result: Comparison, convention: str, measure: str) -> Table:
    """Return one measure on the test part of every fold, with its mean."""
    return Table(
        f"{result.dataset}: test {measure} by fold, convention {convention}",
        "",
        [*result.folds, "mean"],
        [
            (
                method,
                [
                    *(result.value(method, fold, measure, convention) for fold in result.folds),
                    result.mean(method, measure, convention),
                ],
            )
            for method in result.methods
        ],
        [is_error(measure)] * (len(result.folds) + 1),
    )


def is_error(measure: str) -> bool:
    """Whether a measure is printed as an error, so that smaller is better."""
    return bool(getattr(parse_measure(measure), "printed_as_error", False))


def plain(table: Table) -> str:
    """Return a table as lines of text; ``*`` marks the best of a column."""
    head = ["method", *table.columns]
    body = [
        [
            label,
            *(
                (table.shown(row, column) or "failed") + ("*" if table.best(row, column) else " ")
                for column in range(len(table.columns))
            ),
        ]
        for row, (label, _) in enumerate(table.rows)
    ]
    head = [head[0], *(f"{each} " for each in head[1:])]
    widths = [max(len(line[place]) for line in [head, *body]) for place in range(len(head))]
    lines = [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in [head, *body]
    ]
    return "\n".join([table.title, *lines, *([f"({table.caption}; * best)"] if table.caption else [])])
