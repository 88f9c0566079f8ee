"""What every definition of a measure inherits: parameters that are written once, a name, and defaults."""

from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import wraps
from typing import Any, ClassVar, TypeVar

import numpy as np

from directrank.contracts import Measure
from directrank.data.queries import Queries
from directrank.errors import MeasureNameError
from directrank.measures.naming import grammar
from directrank.measures.positions import Positions, perfect_positions

Method = TypeVar("Method", bound=Callable[..., np.ndarray])


def cached_by_queries(compute: Method) -> Method:
    """Make a method of a measure compute its array once for each collection; it is not to be written to."""

    @wraps(compute)
    def cached(self: Any, queries: Queries) -> np.ndarray:
        return queries.cached((compute, self), lambda: compute(self, queries))

    return cached  # type: ignore[return-value]


def count_per_query(which: np.ndarray, queries: Queries) -> np.ndarray:
    """Count the documents of each query that a condition selects, int64 (n_queries,)."""
    counted = np.concatenate(([0], np.cumsum(which)))
    return counted[queries.indptr[1:]] - counted[queries.indptr[:-1]]


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
    of_block = count_per_query(across, queries) * np.maximum.reduceat(chance, queries.indptr[:-1])
    return count_per_query(inside, queries) + of_block


def first_of(counts: np.ndarray, queries: Queries) -> np.ndarray:
    """Return which documents are among the first of their query in the inner order, bool (n_docs,).

    `counts`, of shape (n_queries,), is how many of them.
    """
    return queries.place < np.repeat(counts, queries.sizes)


def best_values(measure: Measure, queries: Queries) -> np.ndarray:
    """Return the value of the best ranking of each query; 1 where that is 0."""
    best = measure.query_values(queries, perfect_positions(queries))
    return np.where(best > 0, best, 1.0)


def parameter(default: Any, check: grammar.Check, word: str | None = None) -> Any:
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

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.bare_name = cls.__dict__.get("bare_name", cls.__name__)

    def __post_init__(self) -> None:
        last = grammar.cutoff(self.cutoff)
        if last is None and self.cutoff_is() == "required":
            raise MeasureNameError(f"{self.bare_name} needs a cutoff, such as {self.bare_name}@10")
        if last is not None:
            object.__setattr__(self, "cutoff", last)
        for each in fields(self):
            value = getattr(self, each.name)
            if "check" in each.metadata and value != each.default:
                object.__setattr__(self, each.name, each.metadata["check"](_word(each), value))

    @classmethod
    def cutoff_is(cls) -> str:
        """Return whether names may have ``@k``: ``"optional"``, ``"required"`` or ``"none"``."""
        last = next(each for each in fields(cls) if each.name == "cutoff")
        if not last.init:
            return "none"
        return "required" if last.default is MISSING else "optional"

    @classmethod
    def readers(cls) -> dict[str, Callable[[str], dict[str, Any]]]:
        """Return, by word, what turns a parameter written in a name into arguments of the constructor."""
        return {
            _word(each): lambda text, name=each.name: {name: text}
            for each in fields(cls)
            if "check" in each.metadata
        }

    def printed(self) -> dict[str, Any]:
        """Return the parameters that are not at their defaults, by word."""
        given = {each: getattr(self, each.name) for each in fields(self) if "check" in each.metadata}
        return {_word(each): value for each, value in given.items() if value != each.default}

    @property
    def name(self) -> str:
        """The canonical name."""
        return grammar.joined_name(self.bare_name, self.printed(), self.cutoff)

    def __repr__(self) -> str:
        return self.name

    @property
    def deciding_ranks(self) -> int | None:
        """How many first ranks decide whether a ranking is perfect; None for all."""
        return self.cutoff


def _word(each: Field) -> str:
    return each.metadata["word"] or each.name
