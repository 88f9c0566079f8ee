"""Vespa: a rank profile whose first phase is the ranking function as an expression."""

import re

import numpy as np

from directrank.apps.engines.documents import Documents, is_text
from directrank.apps.engines.expressions import Grammar, value_of
from directrank.apps.engines.function import (
    DEFINED,
    Category,
    Function,
    Split,
    Target,
    Term,
    Version,
    Written,
    built,
    strict,
)
from directrank.errors import ExportError

#: A name; and a feature, such as ``bm25(title)``, ``attribute(price)`` or ``fieldMatch(title).order``.
NAME = r"(?!(if|in|true|false|isNan|log|fabs)\b)[A-Za-z_][A-Za-z0-9_]*"
FEATURE = rf"{NAME}(\([A-Za-z0-9_.-]+(, ?[A-Za-z0-9_.-]+)*\))?(\.[A-Za-z0-9_]+)*"
#: What a text in a profile cannot hold: signs of control, and those of which Vespa's parsers disagree.
UNSAID = re.compile(r"[\x00-\x1f\x7f\\{}]")
FUNCTION = re.compile(r"^    function (\w+)\(\) \{\n        expression: (.*)\n    \}$", re.MULTILINE)


def write(function: Function, version: Version | None = None) -> Written:
    """Return the text of the rank profile."""
    function = function.without_special_cases()
    trees, used, names = strict(function.trees), function.features, [*function.names]
    numbers = [at for at in used if at not in function.categories]
    functions = ""
    for at in (at for at in used if at in function.categories):
        names[at] = f"category_{at}"
        test = _test(function.categories[at])
        functions += f"    # {function.names[at]!a}\n{function_text(names[at], test)}\n"
    if clash := [names[at] for at in numbers if re.fullmatch(r"category_\d+", names[at]) and functions]:
        raise ExportError(f"vespa: {clash[0]!r} is the name of a function of the profile; rename the column")

    def split(node: Split, left: str, right: str) -> str:
        # These two forms alone are optimised; a missing value meets no comparison.
        test = "!({} >= {})" if node.missing_left else "{} < {}"
        return f"if ({test.format(names[node.feature], repr(node.threshold))}, {left}, {right})"

    # Compiled forests hold leaf values in float32.
    parts = built(trees, lambda value: repr(float(np.float32(value))), split)
    terms = [_term(term, names[term.feature]) for term in function.weighted]
    total = "\n            + ".join([*terms, *parts, f"({function.intercept!r})"])
    needs = (f"Rank features or functions: {', '.join(names[at] for at in numbers)}.",)
    text = (
        f"rank-profile directrank {{\n{functions}    first-phase {{\n        expression {{\n            "
        f"{total}\n        }}\n    }}\n}}\n"
    )
    changes = ("Leaf values are float32.",) if function.has_trees else ()
    return Written(text.encode(), needs, changes, needs)


def function_text(name: str, expression: str) -> str:
    """Return a function of a profile."""
    return f"    function {name}() {{\n        expression: {expression}\n    }}"


def attribute(field: str) -> str:
    """Return the feature that is the value of a field.

    Raises
    ------
    ExportError
        If Vespa has no field of this name.
    """
    if not re.fullmatch(NAME, field):
        raise ExportError(
            f"vespa has no field with the name {field!r}: rename the column to letters of ASCII, digits and _"
        )
    return f"attribute({field})"


def _test(category: Category) -> str:
    for value in category.values:
        if UNSAID.search(value):
            raise ExportError(
                f"vespa cannot say the value {value!r} of the column {category.column!r}: replace its "
                "backslashes, braces and signs of control, or export to sql or source code"
            )
    values = [quoted(value) for value in category.values]
    field, one, zero = attribute(category.column), *("01" if category.outside else "10")
    if not values:
        return zero
    if len(values) == 1 and not category.outside:
        return f"if ({field} == {values[0]}, {one}, {zero})"
    return f"if ({field} in [{', '.join(values)}], {one}, {zero})"


def quoted(text: str) -> str:
    """Return a text in quotes."""
    return '"' + text.replace('"', '\\"') + '"'


def _term(term: Term, name: str) -> str:
    value = name if term.fill is None else f"if (isNan({name}), {term.fill!r}, {name})"
    if term.logarithm:
        above = f"(1 + fabs({value}))"  # See `log1p_form`.
        value = f"if ({above} > 1, {value} * (log({above}) / ({above} - 1)), {value})"
    return f"({term.weight!r}) * {value}"


def scores(content: bytes, documents: Documents) -> np.ndarray:
    """Return the scores of the expression, in float64."""
    text = content.decode()
    start = text.index("expression {", text.index("first-phase {")) + len("expression {")
    inner = text[start : text.rindex("}\n    }\n}")]
    functions, values = dict(FUNCTION.findall(text[:start])), {}

    def reference(name: str) -> np.ndarray:
        if name in functions:
            values[name] = np.asarray(value_of(functions.pop(name), grammar), float)
        if name in values:
            return values[name]
        field = re.fullmatch(r"(attribute|bm25)\((\w+)\)", name)
        if name not in documents.columns and field:
            name = field[2] if field[1] == "attribute" else f"{field[2]}.bm25"
        column = documents.column(name)
        return column if is_text(column) else column.astype(np.float64)

    grammar = Grammar(
        {"if": np.where, "isNan": np.isnan, "log": np.log, "fabs": np.abs}, reference, _unquoted
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        total = value_of(inner, grammar)
    return np.broadcast_to(total, len(documents)).astype(np.float64)


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])


TARGET = Target(
    "vespa", "rank profile: medians, logarithms, and sums of trees and weighted features", write, scores,
    "a transcript of Vespa (RankingExpressionParser.jj, eval/fast_forest.cpp), as 8.738.17 scores",
    float32=True, categories=DEFINED,
    names=(FEATURE, "rename it as Vespa does, such as bm25(title) or attribute(price), or export to onnx"),
)  # fmt: skip
