"""Weights of runs that are learned for a measure, and when they are taken in place of RRF."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrank.apps.fusion.rules import MNZ, NORMALISATIONS, RANK, weighted
from directrank.contracts import Measure, Monitor
from directrank.data import Queries
from directrank.errors import DataError
from directrank.features import make_shards
from directrank.files import Union
from directrank.measures import mean_values, ranked_last, values_of

#: Cross-validation chooses the share of learned weights, n / (n + these), n being the judged queries.
AMOUNTS = (10, 40, 160)
#: Nothing is learned from fewer judged queries.
FEWEST = 5
#: With so many judged queries a gain of no standard error is required, with half as many one of one, and with
#: more never fewer than these.
ENOUGH, LEAST_ERRORS = 40, 0.0
INNER_FOLDS, HALF_WIDTH, RUNS = 5, 0.3, 2


@dataclass(frozen=True, eq=False)
class Rule:
    """A normalisation and weights, ≥ 0 with the sum 1; `share` of them is learned, the rest equal."""

    normalisation: str
    weights: np.ndarray
    share: float = 0.0

    @classmethod
    def equal(cls, normalisation: str, n_runs: int) -> "Rule":
        """Return equal weights, which are RRF, CombSUM or CombMNZ by the normalisation."""
        return cls(normalisation, np.full(n_runs, 1.0 / n_runs))

    @classmethod
    def single(cls, run: int, n_runs: int) -> "Rule":
        """Return the rule that ranks as one run does."""
        return cls(RANK, np.eye(n_runs)[run])

    def towards_equal(self, share: float) -> "Rule":
        """Return weights of which `share` is learned and the rest equal."""
        equal = np.full(len(self.weights), 1.0 / len(self.weights))
        return Rule(self.normalisation, share * self.weights + (1.0 - share) * equal, share)

    def scores(self, union: Union) -> np.ndarray:
        """Return the fused scores, (n_docs,), NaN of documents in no run; one run alone ranks its own."""
        scores = weighted(NORMALISATIONS[self.normalisation](union), self.weights)
        alone = np.count_nonzero(self.weights) == 1
        return np.where(union.held[:, self.weights.argmax()] if alone else union.retrieved, scores, np.nan)

    def query_values(self, measure: Measure, union: Union) -> np.ndarray:
        """Return the measure of each query."""
        return query_values(measure, union, self.scores(union))


def query_values(measure: Measure, union: Union, scores: np.ndarray) -> np.ndarray:
    """Return a measure of each query; documents without a score or in no run add nothing, as in trec_eval."""
    retrieved = union.retrieved & ~np.isnan(scores)
    ordered = ranked_last(union.queries, scores, retrieved)
    return values_of([measure], union.queries, ordered, retrieved=retrieved)[0]


def random_folds(queries: Queries, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return the number of each query's fold, which depends on its name and not on its place in files."""
    folds = np.empty(queries.n_queries, np.int64)
    folds[np.argsort(queries.qid.astype(str))] = rng.permutation(queries.n_queries) % k
    return folds


@dataclass(frozen=True, eq=False)
class MeanMonitor(Monitor):
    """The mean of a measure over queries, by which coordinate ascent keeps its best step."""

    measure: Measure
    queries: Queries
    features: np.ndarray
    weights: np.ndarray | None = None

    def __call__(self, scores: np.ndarray) -> float:
        """Return the mean for scores in the inner order."""
        return mean_values([self.measure], self.queries, scores, self.weights, n_threads=1)[0]


def ascended_weights(
    measure: Measure,
    queries: Queries,
    features: np.ndarray,
    rng: np.random.Generator,
    *,
    start: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    monitor: Monitor | None = None,
    **options: Any,
) -> np.ndarray | None:
    """Return weights of features by coordinate ascent, ≥ 0 with the sum 1; None if nothing can be learned.

    `weights` are those of queries. The monitor chooses the step of each run that is kept, by default by the
    measure. `options` are those of `CoordinateAscent`, and `half_width`.
    """
    # Rules without learned weights need none of them.
    from directrank.scorers import Linear
    from directrank.solvers import CoordinateAscent
    from directrank.surrogates import MeasureItself, Objective

    surrogate = MeasureItself(measure, half_width=options.pop("half_width", HALF_WIDTH))
    shards = make_shards(queries.indptr, features.shape[1])
    try:
        objective: Any = Objective(surrogate, queries, shards, weights=weights)
    except DataError:
        return None
    solver = CoordinateAscent(non_negative=True, **{"runs": RUNS, **options})
    monitor = monitor or MeanMonitor(measure, queries, features, weights)
    found = solver.solve(objective, Linear(start), features, monitor, rng).scorer.coefficients
    total = found.sum()
    return found / total if total > 0 else None


def ascended(measure: Measure, union: Union, normalisation: str, rng: np.random.Generator) -> Rule:
    """Return weights by coordinate ascent; equal ones if nothing can be learned."""
    features = NORMALISATIONS[normalisation](union).astype(np.float32)
    weights = ascended_weights(measure, union.queries, features, rng)
    return Rule.equal(normalisation, features.shape[1]) if weights is None else Rule(normalisation, weights)


def learned_rule(measure: Measure, union: Union, normalisations: Sequence[str], seed: int) -> Rule:
    """Return the rule that judged queries show to be best; RRF, unless its gain is convincing.

    First a target is chosen: RRF, or the normalisation whose equal weights are best if their gain over RRF is
    convincing. Then weights are learned under each normalisation and shrunk towards its equal weights; the
    normalisation and the share that cross-validation finds best are taken if their gain over the target is
    convincing. Weights of reciprocal ranks, and of min-max scores times the number of runs, are learned only
    where nothing else may be: they were never the best on the collections that the rule was made on.
    """
    n, n_runs = union.queries.n_queries, union.scores.shape[1]
    target = Rule.equal(RANK, n_runs)
    if n < FEWEST:
        return target
    values = target.query_values(measure, union)
    equal = [Rule.equal(name, n_runs) for name in normalisations]
    of_equal = [rule.query_values(measure, union) for rule in equal]
    best = max(range(len(equal)), key=lambda place: of_equal[place].mean())
    if convincing(of_equal[best] - values):
        target, values = equal[best], of_equal[best]
    rng = np.random.default_rng(seed)
    folds = random_folds(union.queries, min(INNER_FOLDS, n), rng)
    names = [name for name in normalisations if name not in (RANK, MNZ)] or normalisations
    held_out = {(name, n / (n + amount)): np.zeros(n) for name in names for amount in AMOUNTS}
    for fold in range(folds.max() + 1):
        rest, part = union.chosen(folds != fold), union.chosen(folds == fold)
        rules = {name: ascended(measure, rest, name, rng) for name in names}
        for (name, share), of_share in held_out.items():
            of_share[folds == fold] = rules[name].towards_equal(share).query_values(measure, part)
    (name, share), of_share = max(held_out.items(), key=lambda item: item[1].mean())
    if convincing(of_share - values):
        return ascended(measure, union, name, rng).towards_equal(share)
    return target


def convincing(gain: np.ndarray) -> bool:
    """Return whether a gain, one value per query, is worth to leave the simpler rule for."""
    n = len(gain)
    return bool(gain.mean() > max(np.log2(ENOUGH / n), LEAST_ERRORS) * gain.std(ddof=1) / np.sqrt(n))
