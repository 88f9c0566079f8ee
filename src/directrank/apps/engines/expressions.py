"""Expressions of engines, parsed by their grammars and computed on columns: Vespa's, Lucene's and Solr's."""

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from directrank.errors import ExportError

TOKEN = re.compile(
    r"""\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<text>"(?:[^"\\]|\\.)*")"""
    r"""|(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)|(?P<sign><=|>=|==|\S))""",
    re.DOTALL | re.ASCII,
)
COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}
SUMS, PRODUCTS = {"+": np.add, "-": np.subtract}, {"*": np.multiply, "/": np.divide}


class Grammar(NamedTuple):
    """What the expressions of an engine hold.

    Attributes
    ----------
    functions : mapping of str to callable
    reference : callable
        From the text of a name, with its arguments in brackets, to a column.
    text : callable
        From a quoted text to what it says.
    operators : bool
        Whether there are operators, or functions alone.
    """

    functions: Mapping[str, Callable[..., Any]]
    reference: Callable[[str], Any]
    text: Callable[[str], str]
    operators: bool = True


def value_of(text: str, grammar: Grammar) -> Any:
    """Return the value of an expression.

    Raises
    ------
    ExportError
        If it is none.
    """
    return _Parser(text, grammar).whole()


class _Parser:
    def __init__(self, text: str, grammar: Grammar) -> None:
        self.text, self.grammar, self.at = text, grammar, 0
        self.tokens = list(TOKEN.finditer(text.rstrip()))
        if "".join(token[0] for token in self.tokens) != text.rstrip():
            self._fail()

    def whole(self) -> Any:
        found = self._choice()
        if self.at < len(self.tokens):
            self._fail()
        return found

    def _fail(self) -> None:
        where = self.tokens[self.at].start() if self.at < len(self.tokens) else len(self.text)
        raise ExportError(f"the engine cannot read {self.text[where : where + 40]!r} in an expression")

    def _peek(self) -> str:
        return self.tokens[self.at][0].strip() if self.at < len(self.tokens) else ""

    def _next(self, *expected: str) -> re.Match:
        if self.at == len(self.tokens) or (expected and self._peek() not in expected):
            self._fail()
        self.at += 1
        return self.tokens[self.at - 1]

    def _choice(self) -> Any:
        """Return the value of ``a ? b : c``, or of what binds closer."""
        condition = self._comparison()
        if not self.grammar.operators or self._peek() != "?":
            return condition
        self._next("?")
        first = self._choice()
        self._next(":")
        return np.where(condition, first, self._choice())

    def _comparison(self) -> Any:
        left = self._series(SUMS)
        if self.grammar.operators and self._peek() == "in":
            self._next()
            return np.isin(left, self._list("[", "]"))
        if self.grammar.operators and self._peek() in COMPARISONS:
            return COMPARISONS[self._next()[0].strip()](left, self._series(SUMS))
        return left

    def _series(self, signs: Mapping[str, Callable]) -> Any:
        below = (lambda: self._series(PRODUCTS)) if signs is SUMS else self._signed
        total = below()
        while self.grammar.operators and self._peek() in signs:
            total = signs[self._next()[0].strip()](total, below())
        return total

    def _signed(self) -> Any:
        if self._peek() == "-":
            self._next()
            return np.negative(self._signed())
        if self.grammar.operators and self._peek() == "!":
            self._next()
            return np.logical_not(self._signed())
        return self._primary()

    def _primary(self) -> Any:
        token = self._next()
        if token["number"]:
            return float(token["number"])
        if token["text"]:
            return self.grammar.text(token["text"])
        if token["name"] in self.grammar.functions and self._peek() == "(":
            return self.grammar.functions[token["name"]](*self._list("(", ")"))
        if token["name"]:
            return self.grammar.reference(self._reference(token))
        if not self.grammar.operators or token["sign"] != "(":
            self.at -= 1
            self._fail()
        inner = self._choice()
        self._next(")")
        return inner

    def _reference(self, name: re.Match) -> str:
        """Return a name, with its arguments and its output."""
        if self._peek() == "(":
            self._next()
            while self._peek() != ")":
                self._next()
            self._next()
            while self._peek() == ".":
                self._next()
                self._next()
        return self.text[name.start("name") : self.tokens[self.at - 1].end()]

    def _list(self, first: str, last: str) -> list[Any]:
        self._next(first)
        found = [self._choice()]
        while self._next(",", last)[0].strip() == ",":
            found.append(self._choice())
        return found
