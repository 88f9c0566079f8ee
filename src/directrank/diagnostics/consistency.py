"""Check whether minimising a surrogate's expected value yields the best ranking for a measure.

A surrogate is consistent with a measure if, for every distribution of relevance given a query, scores that
minimise the expected surrogate also rank best in expectation (Buffoni et al. 2011, Definition 2). A single
distribution can refute this; `check` tests one.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from directrank.contracts import Measure, Reweighable, Surrogate, ValueAndGradient
from directrank.data.grouping import group_rows
from directrank.data.queries import Queries
from directrank.features.shards import make_shards
from directrank.measures.capabilities import Standardised
from directrank.measures.positions import positions_of
from directrank.storage.strict_json import JSONObject
from directrank.surrogates.objective import Objective

Outcomes = Sequence[tuple[float, Sequence[float]]]

MAX_DOCS = 8
#: Scores that differ by less than this share of their range count as tied.
TIED = 1e-6
#: Smaller regrets are rounding.
NO_REGRET = 1e-9


@dataclass(frozen=True)
class ConsistencyResult:
    """The result of `check`; all values are expected ones, and documents are numbered from 0.

    `consistent` says whether the regret is only rounding: True does not prove consistency, False refutes it.
    `supervision` is the expected standard form of the measure, which ranks best; None if it has none.
    """

    surrogate: str
    measure: str
    outcomes: Outcomes
    scores: np.ndarray
    value: float
    best_value: float
    best_ranking: tuple[int, ...]
    regret: float
    consistent: bool
    supervision: np.ndarray | None

    @property
    def ranking(self) -> tuple[int, ...]:
        """Documents by descending score."""
        return tuple(int(i) for i in np.argsort(-self.scores, kind="stable"))

    def to_dict(self) -> JSONObject:
        """Return plain data; documents are numbered from 1."""
        return {
            **vars(self),
            "outcomes": [{"probability": p, "relevance": list(y)} for p, y in self.outcomes],
            "ranking": [i + 1 for i in self.ranking],
            "best_ranking": [i + 1 for i in self.best_ranking],
        }

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and rows of text: one row per document."""
        columns = {"document": range(1, len(self.scores) + 1), "score": [f"{s:.4f}" for s in self.scores]}
        if self.supervision is not None:
            columns["expected standard form"] = [f"{value:.4f}" for value in self.supervision]
        return list(columns), [list(map(str, row)) for row in zip(*columns.values(), strict=True)]

    def lines(self) -> list[str]:
        """Return sentences: the order of the minimiser, the best order, and the verdict."""
        ranks = merged(self.scores)
        tied = (np.flatnonzero(ranks == rank) for rank in sorted(set(ranks), reverse=True))
        order = " > ".join(" = ".join(str(i + 1) for i in block) for block in tied)
        best = " > ".join(str(i + 1) for i in self.best_ranking)
        conclusion = f"regret {self.regret:.4f}: not consistent with {self.measure}"
        if self.consistent:
            conclusion = "no regret: this distribution does not refute consistency"
        return [
            f"its order   {order}: expected {self.measure} {self.value:.4f}",
            f"best order  {best}: expected {self.measure} {self.best_value:.4f}",
            conclusion,
        ]


class Distribution:
    """A finite distribution of relevance for the documents of one query.

    Outcomes are probabilities with the relevance of each document, the same ones in the same order each time;
    what is no distribution is a `ValueError`.
    """

    def __init__(self, outcomes: Outcomes):
        self.probability = np.array([p for p, _ in outcomes], np.float64)
        lengths = {len(relevance) for _, relevance in outcomes}
        if len(lengths) != 1 or not 2 <= max(lengths) <= MAX_DOCS:
            raise ValueError(f"every outcome needs the relevance of the same 2 to {MAX_DOCS} documents")
        if (self.probability < 0).any() or not math.isclose(self.probability.sum(), 1.0, abs_tol=1e-9):
            raise ValueError(f"probabilities add up to {self.probability.sum():g}; expected 1, none negative")
        self.n_docs = lengths.pop()
        relevance = np.concatenate([np.asarray(y, np.float64) for _, y in outcomes])
        if not (np.isfinite(relevance).all() and (relevance >= 0).all()):
            raise ValueError("relevance must be finite and not negative")
        self.queries: Queries = group_rows(relevance, np.repeat(np.arange(len(outcomes)), self.n_docs))[0]
        # The document of each row of the outcomes, whose rows are sorted by relevance.
        self.document = self.queries.row % self.n_docs

    def expected_values(self, measure: Measure, scores: np.ndarray) -> np.ndarray:
        """Return the expected measure, over outcomes and ties, of orders by scores (n_orders, n_docs)."""
        times, outcomes = len(scores), len(self.probability)
        queries = self.queries.repeated(times)
        positions = positions_of(queries, scores[:, self.document].ravel())
        return measure.query_values(queries, positions).reshape(times, outcomes) @ self.probability

    def expected_supervision(self, measure: Standardised) -> np.ndarray:
        """Return E[r(Y)], float64 (n_docs,)."""
        weights = np.repeat(self.probability, self.n_docs) * measure.supervision(self.queries)
        return np.bincount(self.document, weights, self.n_docs)


def check(surrogate: Surrogate, measure: Measure, distribution: Outcomes) -> ConsistencyResult:
    """Minimise the expected surrogate over a distribution, and compare its ranking with the best one.

    A surrogate without a value, or that gradients cannot minimise, is a `TypeError`; see `Distribution`.

    References
    ----------
    .. [1] D. Buffoni, C. Calauzènes, P. Gallinari, N. Usunier, "Learning scoring functions with
       order-preserving losses and standardized supervision", ICML 2011.

    Examples
    --------
    >>> from directrank.measures import DCG
    >>> from directrank.surrogates import OrderPreserving, Pairwise
    >>> graded = [(0.2, (4, 0, 0)), (0.8, (0, 1, 0))]
    >>> check(OrderPreserving(DCG()), DCG(), graded).ranking, check(Pairwise(), DCG(), graded).ranking
    ((0, 1, 2), (1, 0, 2))
    """
    if ValueAndGradient not in surrogate.offers:
        raise TypeError(f"{surrogate.name} offers no ValueAndGradient, so that it cannot be minimised here")
    if Reweighable in surrogate.requires:
        raise TypeError(f"the weights of {surrogate.name} follow the ranking: it has no minimiser of its own")
    if not surrogate.is_smooth:
        raise TypeError(f"{surrogate.name} has corners, so that gradients do not find its minimiser")
    outcomes = Distribution(distribution)
    scores = minimiser(surrogate, outcomes)
    value = float(outcomes.expected_values(measure, merged(scores)[None])[0])
    best_value, best_ranking = best_order(measure, outcomes)
    regret = max(0.0, best_value - value)
    consistent = regret <= NO_REGRET * max(1.0, abs(best_value))
    supervision = outcomes.expected_supervision(measure) if isinstance(measure, Standardised) else None
    return ConsistencyResult(
        surrogate.name, measure.name, distribution, scores, value, best_value, best_ranking, regret,
        consistent, supervision,
    )  # fmt: skip


def random_distribution(
    rng: np.random.Generator, *, max_docs: int = 5, max_grade: int = 4
) -> list[tuple[float, tuple[float, ...]]]:
    """Return a random distribution over two to five outcomes for 2 to `max_docs` documents, for `check`.

    Every outcome has at least two grades.
    """
    n_docs, n_outcomes = int(rng.integers(2, max_docs + 1)), int(rng.integers(2, 6))
    relevance = rng.integers(0, max_grade + 1, (n_outcomes, n_docs))
    relevance[:, 0] = np.where(np.ptp(relevance, axis=1) == 0, (relevance[:, 0] + 1) % 2, relevance[:, 0])
    probability = rng.dirichlet(np.ones(n_outcomes))
    return [(float(p), tuple(map(float, y))) for p, y in zip(probability, relevance, strict=True)]


def minimiser(surrogate: Surrogate, outcomes: Distribution) -> np.ndarray:
    """Return scores of mean 0 that minimise the expected surrogate, found from zero scores."""
    queries, document = outcomes.queries, outcomes.document
    objective = Objective(surrogate, queries, make_shards(queries.indptr, 1), weights=outcomes.probability)

    def function(s: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = objective.value_and_gradient(s[document])
        return value, np.bincount(document, gradient, outcomes.n_docs)

    start = np.zeros(outcomes.n_docs)
    minimum = minimize(function, start, jac=True, method="BFGS", options={"gtol": 1e-10, "maxiter": 2000})
    return minimum.x - minimum.x.mean()


def merged(scores: np.ndarray) -> np.ndarray:
    """Return ranks of scores, ascending; scores that differ by rounding are tied."""
    order = np.argsort(scores)
    apart = np.diff(scores[order]) > TIED * max(np.ptp(scores), np.finfo(float).tiny)
    ranks = np.empty(len(scores))
    ranks[order] = np.concatenate(([0], np.cumsum(apart)))
    return ranks


def best_order(measure: Measure, outcomes: Distribution) -> tuple[float, tuple[int, ...]]:
    """Return the largest expected measure of all rankings, and the first ranking that has it."""
    rankings = np.array(list(itertools.permutations(range(outcomes.n_docs))))
    values = outcomes.expected_values(measure, -np.argsort(rankings, axis=1).astype(np.float64))
    first = int(np.argmax(values >= values.max() - NO_REGRET))
    return float(values.max()), tuple(rankings[first].tolist())


def check_random(surrogate: Surrogate, measure: Measure, times: int, seed: int) -> list[ConsistencyResult]:
    """Return the verdicts on random distributions, the largest regret first."""
    rng = np.random.default_rng(seed)
    tried = [random_distribution(rng) for _ in range(times)]
    return sorted(
        (check(surrogate, measure, outcomes) for outcomes in tried), key=lambda verdict: -verdict.regret
    )
