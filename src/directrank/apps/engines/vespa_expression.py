"""Vespa: a rank profile whose first phase is the ranking function as an expression."""

import re

import numpy as np

from directrank.apps.engines.function import (
    Function,
    Split,
    Target,
    Term,
    Version,
    Written,
    built,
    check_names,
    features_read,
    strict,
)  # fmt: skip

#: A feature of Vespa, such as ``bm25(title)``, ``attribute(price)`` or ``fieldMatch(title).order``.
FEATURE = r"(?!(if|in|true|false|isNan|log|fabs)\b)[A-Za-z_]\w*(\([\w., -]*\))?(\.\w+)*"


def write(function: Function, version: Version | None = None) -> Written:
    """Return the text of the rank profile."""
    function = function.without_special_cases()
    trees = strict(function.trees)
    used = {*features_read(trees), *(term.feature for term in function.weighted)}
    remedy = "rename it as Vespa does, such as bm25(title) or attribute(price), or export to onnx"
    check_names(function.names, used, FEATURE, "vespa", remedy)

    def split(node: Split, left: str, right: str) -> str:
        # These two forms alone are optimised; a missing value meets no comparison.
        test = "!({} >= {})" if node.missing_left else "{} < {}"
        return f"if ({test.format(function.names[node.feature], repr(node.threshold))}, {left}, {right})"

    # Compiled forests hold leaf values in float32.
    parts = built(trees, lambda value: repr(float(np.float32(value))), split)
    terms = [_term(term, function.names[term.feature]) for term in function.weighted]
    total = "\n            + ".join([*terms, *parts, f"({function.intercept!r})"])
    needs = (f"Rank features or functions: {', '.join(function.names[at] for at in sorted(used))}.",)
    text = (
        "rank-profile directrank {\n    first-phase {\n        expression {\n            "
        f"{total}\n        }}\n    }}\n}}\n"
    )
    changes = ("Leaf values are float32.",) if function.has_trees else ()
    return Written(text.encode(), needs, changes, needs)


def _term(term: Term, name: str) -> str:
    value = name if term.fill is None else f"if (isNan({name}), {term.fill!r}, {name})"
    if term.logarithm:
        above = f"(1 + fabs({value}))"  # See `log1p_form`.
        value = f"if ({above} > 1, {value} * (log({above}) / ({above} - 1)), {value})"
    return f"({term.weight!r}) * {value}"


def scores(content: bytes, names: tuple[str, ...], features: np.ndarray) -> np.ndarray:
    """Return the scores of the expression, in float64."""
    text = content.decode()
    start = text.index("expression {", text.index("first-phase {")) + len("expression {")
    inner = text[start : text.rindex("}\n    }\n}")]
    columns = dict(zip(names, features.astype(np.float64).T, strict=True))
    with np.errstate(invalid="ignore", divide="ignore"):
        total = sum(_value(term, columns) for term in inner.split("\n            + "))
    return np.broadcast_to(total, len(features)).astype(np.float64)


def _value(term: str, columns: dict[str, np.ndarray]) -> np.ndarray:
    """Return a term by RankingExpressionParser.jj; all but words and `!` follows the rules of Python."""
    longest = sorted(columns, key=len, reverse=True)
    words = {"if": "where", "!": "~", **{name: f"x[{at}]" for at, name in enumerate(longest)}}
    alternatives = "|".join(map(re.escape, longest))
    term = re.sub(
        rf"\bif(?=\s*\()|!|(?<![\w.])(?:{alternatives})(?![\w(.])", lambda word: words[word[0]], term
    )
    values = {
        "where": np.where, "isNan": np.isnan, "log": np.log, "fabs": np.abs,
        "x": [columns[name] for name in longest],
    }  # fmt: skip
    return eval(term.strip(), values)


TARGET = Target(
    "vespa", "Vespa's rank profile", write, scores,
    "a transcript of Vespa (RankingExpressionParser.jj, eval/fast_forest.cpp), as 8.738.17 scores",
    float32=True,
)  # fmt: skip
