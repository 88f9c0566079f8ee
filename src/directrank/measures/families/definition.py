"""What every definition of a measure inherits: parameters that are written once, a name, and defaults.

The grammar of names is that of ir_measures: ``Name(parameter=value, ...)@cutoff``. Measures of two classes of
documents, relevant ones and the others, share their threshold and counts.
"""

import math
import re
from collections.abc import Callable
from dataclasses import KW_ONLY, MISSING, Field, dataclass, field, fields
from functools import lru_cache, wraps
from typing import Any, ClassVar, TypeVar

import numpy as np

from directrank.contracts import Measure
from directrank.data.queries import Queries
from directrank.errors import MeasureNameError
from directrank.measures.positions import Positions, perfect_positions

#: The parameters of a measure by name, such as a cutoff.
MeasureParameters = dict[str, Any]
#: From a parameter's word and value to its checked value.
Check = Callable[[str, Any], Any]

_NAME = re.compile(r"\s*([^\s()@=,]+)\s*(?:\(([^()]*)\))?\s*(?:@\s*([0-9]+))?\s*")
#: A comma outside quotes and braces.
_COMMA = re.compile(r""",(?![^{]*\})(?=(?:[^'"]*['"][^'"]*['"])*[^'"]*$)""")
_PARAMETER = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(?:'([^']*)'|\"([^\"]*)\"|(\{[^{}]*\})|([^\s'\",={}]+))\s*")


def split_name(text: str) -> tuple[str, dict[str, str], int | None]:
    """Split a name into its word, its parameters and its cutoff.

    Raises MeasureNameError if the text does not follow the grammar.
    """
    match = _NAME.fullmatch(text)
    if not match:
        raise MeasureNameError(f"{text!r} is not a measure's name; expected one like nDCG@10 or AP(rel=2)")
    word, inside, cutoff = match.groups()
    parameters = {}
    for option in _COMMA.split(inside or "") if (inside or "").strip() else ():
        pair = _PARAMETER.fullmatch(option)
        if not pair:
            raise MeasureNameError(
                f"{option.strip()!r} in {text!r} is not a parameter; expected one like rel=2"
            )
        if pair[1] in parameters:
            raise MeasureNameError(f"{pair[1]} is given twice in {text!r}")
        parameters[pair[1]] = next(value for value in pair.groups()[1:] if value is not None)
    return word, parameters, None if cutoff is None else int(cutoff)


def joined_name(word: str, parameters: MeasureParameters, cutoff: int | None) -> str:
    """Write a name; the inverse of `split_name`."""
    inside = ",".join(
        f"{name}='{value}'" if isinstance(value, str) else f"{name}={value:g}"
        for name, value in parameters.items()
    )
    return word + (f"({inside})" if inside else "") + (f"@{cutoff}" if cutoff else "")


def checked_cutoff(value: int | None) -> int | None:
    """Return a cutoff, a whole number of 1 or more that fits in 64 bits, or None.

    Raises MeasureNameError if it is anything else.
    """
    if value is None:
        return None
    if isinstance(value, bool) or value != int(value) or not 1 <= value < 2**63:
        raise MeasureNameError(f"the cutoff {value!r} must be a whole number of 1 or more, below 2**63")
    return int(value)


def grade(word: str, value: object) -> float:
    """Return a grade above 0, as an int if it is whole.

    Raises MeasureNameError if it is not a number, or not positive and finite.
    """
    number = _above_0(word, value, math.inf, "")
    return int(number) if number == int(number) else number


def probability(word: str, value: object) -> float:
    """Return a number above 0 and below 1.

    Raises MeasureNameError if it is anything else.
    """
    return _above_0(word, value, 1.0, " and below 1")


def _above_0(word: str, value: Any, high: float, below: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not 0 < number < high:
        raise MeasureNameError(f"{word}={value} must be a number above 0{below}")
    return number


def one_of(*choices: str) -> Check:
    """Return a check that a value is one of some words; it raises `MeasureNameError`."""

    def check(word: str, value: Any) -> str:
        if value not in choices:
            raise MeasureNameError(f"{word}={value!r} must be one of {', '.join(map(repr, choices))}")
        return value

    return check


Method = TypeVar("Method", bound=Callable[..., np.ndarray])


def cached_by_queries(compute: Method) -> Method:
    """Make a method of a measure compute its array once for each collection; it is not to be written to."""

    @wraps(compute)
    def cached(self: object, queries: Queries) -> np.ndarray:
        return queries.cached((compute, self), lambda: compute(self, queries))

    return cached  # type: ignore[return-value]


def expected_among_first(
    which: np.ndarray, last: np.ndarray, queries: Queries, positions: Positions
) -> np.ndarray:
    """Return how many of some documents are among the first ranks of each query, float64 (n_queries,).

    The positions of `which` are read; ``above`` is `last`, the last rank of the query, or more for documents
    that a run does not hold. One tied block at most goes across the last rank. If a documents are above its m
    documents, each of them is among the first k with probability (k − a)/m.
    """
    end = np.repeat(last, queries.sizes)
    inside = which & (positions.above + positions.tied <= end)
    across = which & (positions.above < end) & ~inside
    chance = np.zeros(queries.n_docs)
    np.divide(end - positions.above, positions.tied, out=chance, where=across)
    # The documents of the one block are counted, not added: the order of rows then changes no bit.
    of_block = queries.count(across) * np.maximum.reduceat(chance, queries.indptr[:-1])
    return queries.count(inside) + of_block


def first_of(counts: np.ndarray, queries: Queries) -> np.ndarray:
    """Return which documents are among the first of their query in the inner order, bool (n_docs,).

    `counts`, of shape (n_queries,), is how many of them.
    """
    return queries.place < np.repeat(counts, queries.sizes)


def best_values(measure: Measure, queries: Queries) -> np.ndarray:
    """Return the value of the best ranking of each query; 1 where that is 0."""
    best = measure.query_values(queries, perfect_positions(queries))
    return np.where(best > 0, best, 1.0)


def parameter(default: object, check: Check, word: str | None = None) -> Any:
    """Declare a parameter of a measure that may be written in its name, where a default is not printed.

    `check` goes from the word and a value, perhaps as text, to the value; it raises `MeasureNameError`.
    `word` is the parameter in names, if it is not that of the constructor.
    """
    return field(default=default, metadata={"check": check, "word": word})


@dataclass(frozen=True, repr=False)
class Definition(Measure):
    """A measure: its parameters are fields of a frozen dataclass, and its name is by default its class.

    A definition needs `meaning` and `query_values`; a field `cutoff` if names may have ``@k``, without a
    default if they must; other parameters by `parameter`, after `dataclasses.KW_ONLY`. Measures of one class
    and one set of parameters are equal.
    """

    #: Other words for it, in any case.
    aliases: ClassVar[tuple[str, ...]] = ()

    #: The last rank that counts; None for all.
    cutoff: int | None = field(default=None, init=False)

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        cls.bare_name = cls.__dict__.get("bare_name", cls.__name__)

    def __post_init__(self) -> None:
        last = checked_cutoff(self.cutoff)
        if last is None and self.cutoff_is() == "required":
            raise MeasureNameError(f"{self.bare_name} needs a cutoff, such as {self.bare_name}@10")
        if last is not None:
            object.__setattr__(self, "cutoff", last)
        for parameter in fields(self):
            value = getattr(self, parameter.name)
            if "check" in parameter.metadata and value != parameter.default:
                object.__setattr__(self, parameter.name, parameter.metadata["check"](_word(parameter), value))

    @classmethod
    def cutoff_is(cls) -> str:
        """Return whether names may have ``@k``: ``"optional"``, ``"required"`` or ``"none"``."""
        last = cls.__dataclass_fields__["cutoff"]
        if not last.init:
            return "none"
        return "required" if last.default is MISSING else "optional"

    @classmethod
    def readers(cls) -> dict[str, Callable[[str], MeasureParameters]]:
        """Return, by word, what turns a parameter written in a name into arguments of the constructor."""
        return {
            _word(parameter): lambda text, name=parameter.name: {name: text}
            for parameter in fields(cls)
            if "check" in parameter.metadata
        }

    def printed(self) -> MeasureParameters:
        """Return the parameters that are not at their defaults, by word."""
        values = {
            parameter: getattr(self, parameter.name)
            for parameter in fields(self)
            if "check" in parameter.metadata
        }
        return {_word(parameter): value for parameter, value in values.items() if value != parameter.default}

    @property
    def name(self) -> str:
        """The canonical name."""
        return joined_name(self.bare_name, self.printed(), self.cutoff)

    def __repr__(self) -> str:
        return self.name

    @property
    def deciding_ranks(self) -> int | None:
        """How many first ranks decide whether a ranking is perfect; None for all."""
        return self.cutoff


def _word(parameter: Field) -> str:
    return parameter.metadata["word"] or parameter.name


@dataclass(frozen=True, repr=False)
class TwoClasses(Definition):
    """A measure of the positions of relevant documents: those of grade `rel` or more."""

    graded: ClassVar = False
    over_grades: ClassVar = "swaps"

    _: KW_ONLY
    rel: float = parameter(1, grade)

    def n_relevant(self, queries: Queries) -> np.ndarray:
        """The number of relevant documents of each query, int64 (n_queries,)."""
        return queries.cached(("at least", self.rel), lambda: queries.count(queries.relevance >= self.rel))

    def gains(self, queries: Queries) -> np.ndarray:
        """1 for relevant documents, float64 (n_docs,)."""
        return (queries.relevance >= self.rel).astype(np.float64)

    def n_read(self, queries: Queries) -> np.ndarray:
        """Relevant documents come first; the value depends on their positions alone."""
        return self.n_relevant(queries)

    def undefined(self, queries: Queries) -> np.ndarray:
        """Queries without a relevant document."""
        return self.n_relevant(queries) == 0

    def uninformative(self, queries: Queries) -> np.ndarray:
        """Queries whose documents are all relevant, or all not."""
        relevant = self.n_relevant(queries)
        return (relevant == 0) | (relevant == queries.sizes)


@dataclass(frozen=True)
class RelevantTerms:
    r"""A measure of two classes as a sum over relevant documents, counted from the top.

    .. math:: E(\pi) = \text{const} + \sum_{i=1}^{R} (a + b\,i + e\,[\![ i = 1 ]\!]) \, v(p_i)

    where :math:`p_i` is the position of the i-th relevant document of the ranking.
    """

    # (longest + 1,), float64: v at each position from 1; its first entry belongs to no position
    curve: np.ndarray
    # level, growth, first: (n_queries,), float64: a, b and e of each query, the divisor of the measure
    # included
    level: np.ndarray
    growth: np.ndarray
    first: np.ndarray

    @classmethod
    def of(
        cls, curve: np.ndarray, n_queries: int, *, level: Any = 0.0, growth: Any = 0.0, first: Any = 0.0
    ) -> "RelevantTerms":
        """Return terms of a curve from position 1 on; a number stands for all queries."""
        from_zero = np.concatenate(([0.0], curve))
        return cls(from_zero, *(np.array(np.broadcast_to(x, n_queries)) for x in (level, growth, first)))


@lru_cache(64)
def reciprocals(n_ranks: int, cutoff: int | None) -> np.ndarray:
    """Return 1/p for the ranks p from 1 on, 0 beyond the cutoff, float64 (n_ranks,), not to be written to."""
    ranks = np.arange(1.0, n_ranks + 1)
    return np.where(ranks <= (cutoff or np.inf), 1.0 / ranks, 0.0)
