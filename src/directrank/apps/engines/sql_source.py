"""SQL: one SELECT over a table of documents with one column per feature; a missing value is NULL."""

import numpy as np

from directrank.apps.engines.function import Function, Split, Target, Term, Version, Written, built
from directrank.errors import ExportError

TABLE = "documents"
#: The conditions of a leaf, and its value.
Leaf = tuple[list[str], str]


def write(function: Function, version: Version | None = None) -> Written:
    """Return the text of the query.

    Raises
    ------
    ExportError
        If names of columns differ in case alone.
    """
    function = function.without_special_cases()
    names: dict[str, str] = {}
    for name in function.names:
        if name.lower() in names:
            raise ExportError(
                f"in SQL {names[name.lower()]!r} and {name!r} are one column: rename one of them"
            )
        names[name.lower()] = name
    column = [_quoted(name) for name in function.names]

    def split(node: Split, left: list[Leaf], right: list[Leaf]) -> list[Leaf]:
        # The first conditions that hold decide, so leaves of the other child need none; none hold for NULL.
        sign, first, other = (">", right, left) if node.missing_left else ("<=", left, right)
        test = f"{column[node.feature]} {sign} {_number(node.threshold)}"
        return [*(([test, *tests], value) for tests, value in first), *other]

    terms = [_term(term, column[term.feature]) for term in function.weighted]
    trees = map(_case, built(function.trees, lambda value: [([], _number(value))], split))
    parts = [_number(function.intercept), *terms, *trees]
    needs = (
        f"A table {TABLE} with a column of float32 numbers (REAL) for each feature, named as the feature; "
        "a missing value is NULL.",
    )
    return Written(f"SELECT *,\n{_sum(parts)}\nAS score FROM {TABLE}\n".encode(), needs)


def _case(leaves: list[Leaf]) -> str:
    """Return a tree without nesting, which systems limit: to 10 levels, or by their parser's stack."""
    whens = [f"WHEN {' AND '.join(tests)} THEN {value}" for tests, value in leaves[:-1]]
    return f"CASE {' '.join(whens)} ELSE {leaves[-1][1]} END"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _number(value: float) -> str:
    # Without an exponent a number is DECIMAL in some systems.
    text = repr(value)
    return f"({text if 'e' in text else text + 'E0'})"


def _term(term: Term, column: str) -> str:
    value = column if term.fill is None else f"COALESCE({column}, {_number(term.fill)})"
    if term.logarithm:
        above = f"(1E0 + ABS({value}))"  # See `log1p_form`.
        value = f"CASE WHEN {above} > 1E0 THEN {value} * (LN({above}) / ({above} - 1E0)) ELSE {value} END"
    return f"{_number(term.weight)} * {value}"


def _sum(parts: list[str]) -> str:
    """Return a sum in balanced brackets: systems limit the depth of an expression."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return f"({_sum(parts[:half])}\n+ {_sum(parts[half:])})"


def scores(content: bytes, names: tuple[str, ...], features: np.ndarray) -> np.ndarray:
    """Return the scores of the query in SQLite."""
    import sqlite3

    query = content.decode()
    with sqlite3.connect(":memory:") as database:
        database.execute(f"CREATE TABLE {TABLE} ({', '.join(f'{_quoted(name)} REAL' for name in names)})")
        marks = ", ".join("?" * len(names))
        rows = [[None if value != value else value for value in row] for row in features.tolist()]
        database.executemany(f"INSERT INTO {TABLE} VALUES ({marks})", rows)
        return np.array([row[-1] for row in database.execute(query)], np.float64)


TARGET = Target("sql", "SQL", write, scores, "SQLite")
