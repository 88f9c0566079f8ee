"""Vespa: a rank profile whose first phase is the ranking function as an expression."""

import re

import numpy as np

from directrank.models.export.function import (
    Function,
    Split,
    Target,
    Term,
    Version,
    Written,
    built,
    check_names,
    strict,
)  # fmt: skip
from directrank.scorers.trees import LEAF

#: A feature of Vespa, such as ``bm25(title)``, ``attribute(price)`` or ``fieldMatch(title).order``.
FEATURE = r"(?!(if|in|true|false|isNan|log)\b)[A-Za-z_]\w*(\([\w., -]*\))?(\.\w+)*"


def write(function: Function, version: Version | None = None) -> Written:
    """Return the text of the rank profile."""
    function = function.plain()
    trees = strict(function.trees)
    used = {term.feature for term in function.terms if term.weight} | set(
        trees.feature[trees.left != LEAF].tolist()
    )
    check_names(
        function.names,
        used,
        FEATURE,
        "vespa",
        "rename it as Vespa does, such as bm25(title) or attribute(price), or export to onnx",
    )

    def split(node: Split, left: str, right: str) -> str:
        # These two forms alone are optimised; a missing value meets no comparison.
        test = "!({} >= {})" if node.missing_left else "{} < {}"
        return f"if ({test.format(function.names[node.feature], repr(node.threshold))}, {left}, {right})"

    # Compiled forests hold leaf values in float32.
    parts = built(trees, lambda value: repr(float(np.float32(value))), split)
    terms = [_term(term, function.names[term.feature]) for term in function.terms if term.weight]
    total = "\n            + ".join([*terms, *parts, f"({function.intercept!r})"])
    needs = (f"Rank features or functions: {', '.join(function.names[at] for at in sorted(used))}.",)
    text = (
        "rank-profile directrank {\n    first-phase {\n        expression {\n            "
        f"{total}\n        }}\n    }}\n}}\n"
    )
    changes = ("Leaf values are float32.",) if function.has_trees else ()
    return Written(text.encode(), needs, changes)


def _term(term: Term, name: str) -> str:
    value = name if term.fill is None else f"if (isNan({name}), {term.fill!r}, {name})"
    if term.logarithm:
        value = f"if ({value} < 0, -log(1 - {value}), log(1 + {value}))"
    return f"({term.weight!r}) * {value}"


def scores(content: bytes, names: tuple[str, ...], features: np.ndarray) -> np.ndarray:
    """Return the scores of the expression, in float64."""
    text = content.decode()
    inner = text[text.index("expression {") + len("expression {") : text.rindex("}\n    }\n}")]
    with np.errstate(invalid="ignore", divide="ignore"):
        total = _Expression(inner, dict(zip(names, features.astype(np.float64).T, strict=True))).value()
    return np.broadcast_to(total, len(features)).astype(np.float64)


class _Expression:
    """The grammar of RankingExpressionParser.jj, as far as it is written above."""

    def __init__(self, text: str, columns: dict[str, np.ndarray]):
        known = "|".join(re.escape(name) for name in sorted(columns, key=len, reverse=True))
        number = r"\d+\.?\d*(?:[eE][-+]?\d+)?"
        self.columns, self.at = columns, 0
        self.tokens = re.findall(rf"(?:if|isNan|log)(?=\s*\()|{known}|{number}|>=|[<!(),*+-]", text)

    def take(self, *expected: str) -> str:
        token = self.tokens[self.at]
        if expected and token not in expected:
            raise ValueError(f"expected {expected}, not {token!r}")
        self.at += 1
        return token

    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def value(self) -> np.ndarray:
        total = self.product()
        while self.next() in ("+", "-"):
            total = total + self.product() if self.take() == "+" else total - self.product()
        return total

    def product(self) -> np.ndarray:
        total = self.factor()
        while self.next() == "*":
            self.take()
            total = total * self.factor()
        return total

    def test(self) -> np.ndarray:
        one = self.value()
        if self.next() == "<":
            self.take()
            return one < self.value()
        if self.next() == ">=":
            self.take()
            return one >= self.value()
        return one

    def factor(self) -> np.ndarray:
        token = self.take()
        if token == "-":
            return -self.factor()
        if token == "!":
            return ~self.factor()
        if token == "(":
            inner = self.test()
            self.take(")")
            return inner
        if token in self.columns:
            return self.columns[token]
        if token in ("isNan", "log"):
            self.take("(")
            inner = self.value()
            self.take(")")
            return np.isnan(inner) if token == "isNan" else np.log(inner)
        if token == "if":
            self.take("(")
            condition = self.test()
            self.take(",")
            one = self.value()
            self.take(",")
            other = self.value()
            self.take(")")
            return np.where(condition, one, other)
        return np.array(float(token))


TARGET = Target(
    "vespa", "Vespa's rank profile", write, scores,
    "a transcript of the rule in Vespa 1f79d33 (RankingExpressionParser.jj, eval/fast_forest.cpp)",
    float32=True,
)  # fmt: skip
