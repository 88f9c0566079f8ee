"""SQL: one SELECT over a table of documents, whose columns it reads as they are; a missing value is NULL."""

import re

import numpy as np

from directrank.apps.engines.documents import Documents, is_text
from directrank.apps.engines.function import (
    READ,
    Category,
    Function,
    Split,
    Target,
    Term,
    Version,
    Written,
    built,
)
from directrank.errors import ExportError

TABLE = "documents"
#: A text, or the name of a column.
QUOTED = re.compile(r"""'(?:[^']|'')*'|"((?:[^"]|"")*)\"""")
#: The conditions of a leaf, and its value.
Leaf = tuple[list[str], str]


def write(function: Function, version: Version | None = None) -> Written:
    """Return the text of the query."""
    function = function.without_special_cases()
    categories = function.categories

    def split(node: Split, left: list[Leaf], right: list[Leaf]) -> list[Leaf]:
        # The first conditions that hold decide, so leaves of the other child need none; none hold for NULL.
        category = categories.get(node.feature)
        if category is not None:
            test, one = _has(category), right if node.threshold < 1 else left
            zero = left if node.threshold >= 0 else right
            first, other = (zero, one) if category.outside else (one, zero)
        else:
            sign, first, other = (">", right, left) if node.missing_left else ("<=", left, right)
            test = f"{_quoted(function.names[node.feature])} {sign} {_number(_last_below(node.threshold))}"
        return [*(([test, *tests], value) for tests, value in first), *other]

    terms = [_term(term, _value(function, term.feature)) for term in function.weighted]
    trees = map(_case, built(function.trees, lambda value: [([], _number(value))], split))
    parts = [_number(function.intercept), *terms, *trees]
    texts = dict.fromkeys(repr(categories[at].column) for at in function.features if at in categories)
    needs = [f"A table {TABLE} with the columns of training, under their names; a missing value is NULL."]
    if texts:
        needs.append(f"Columns of texts: {', '.join(texts)}.")
    return Written(f"SELECT *,\n{_sum(parts)}\nAS score FROM {TABLE}\n".encode(), tuple(needs))


def _case(leaves: list[Leaf]) -> str:
    """Return a tree without nesting, which systems limit: to 10 levels, or by their parser's stack."""
    whens = [f"WHEN {' AND '.join(tests)} THEN {value}" for tests, value in leaves[:-1]]
    return f"CASE {' '.join(whens)} ELSE {leaves[-1][1]} END"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _has(category: Category) -> str:
    """Return the condition that a column has one of the values of a category; it is unknown for NULL."""
    values = ["'" + value.replace("'", "''") + "'" for value in category.values]
    if len(values) == 1:
        return f"{_quoted(category.column)} = {values[0]}"
    return f"{_quoted(category.column)} IN ({', '.join(values)})" if values else "1 = 0"


def _value(function: Function, feature: int) -> str:
    if feature not in function.categories:
        return _quoted(function.names[feature])
    category = function.categories[feature]
    one, zero = ("0E0", "1E0") if category.outside else ("1E0", "0E0")
    return f"CASE WHEN {_has(category)} THEN {one} ELSE {zero} END"


def _number(value: float) -> str:
    # Without an exponent a number is DECIMAL in some systems.
    text = repr(value)
    return f"({text if 'e' in text else text + 'E0'})"


def _last_below(threshold: float) -> float:
    """Return the largest float64 that float32 rounds to at most a threshold, as columns may be float64."""
    here = np.float32(threshold)
    above = np.nextafter(here, np.float32(np.inf))
    if np.isinf(above):
        return float(here)
    middle = (float(here) + float(above)) / 2  # Which is rounded to the one of both that is even.
    return middle if np.float32(middle) == here else float(np.nextafter(middle, -np.inf))


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


def scores(content: bytes, documents: Documents) -> np.ndarray:
    """Return the scores of the query in SQLite, on a table of the documents' own columns."""
    import sqlite3

    query = content.decode()
    lower = {name.lower() for name in documents.columns}
    for name in (match[1].replace('""', '"') for match in QUOTED.finditer(query) if match[1] is not None):
        if name.lower() not in lower:
            documents.column(name)  # SQLite would take an unknown name for a text.
    kinds = {name: "TEXT" if is_text(column) else "REAL" for name, column in documents.columns.items()}
    columns = [column.tolist() for column in documents.columns.values()]
    with sqlite3.connect(":memory:") as database:
        try:
            table = ", ".join(f"{_quoted(name)} {kind}" for name, kind in kinds.items())
            database.execute(f"CREATE TABLE {TABLE} ({table})")
        except sqlite3.OperationalError as error:
            raise ExportError(
                f"SQLite cannot make a table of the columns of the documents: {error}"
            ) from None
        rows = ([None if cell != cell else cell for cell in row] for row in zip(*columns, strict=True))
        database.executemany(f"INSERT INTO {TABLE} VALUES ({', '.join('?' * len(kinds))})", rows)
        return np.array([row[-1] for row in database.execute(query)], np.float64)


TARGET = Target(
    "sql",
    "one SELECT over the table `documents` in standard SQL (MySQL: `sql_mode='ANSI,NO_BACKSLASH_ESCAPES'`); "
    "a missing value is NULL; needs `LN` for logarithms",
    write,
    scores,
    "SQLite",
    ignores_case=True,
    categories=READ,
)
