"""Measures, surrogates and scorers in memory that is full of other evaluations' results.

    python tests/system/unwritten.py [--count 1575] [--seed 0]

`np.empty`, in Python and inside compiled kernels, returns ranks, counts of ties, values and scores of other
lists (tests/dirty_memory.py). Each case computes all that an object offers for a list and a short one after
it, twice, in different memory. The bits must be the same, and the values those of the naive twin.

Twins that need a table of all pairs are computed up to 2,050 documents, and that of Gaussian noise up to 33.
GainCrossEntropy, SwapWeighted, NoisyNeighbours, TypeTwoBound, WorkingSetBound and infAP have no twin for one
list: of these the bits alone are compared. All documents are judged and ranked here. A surrogate whose `work`
on a list exceeds `MOST_WORK` gets the longest list that does not.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import platformdirs

sys.path.append(str(Path(__file__).parents[1]))

from dirty_memory import fill_memory


def results_of_others() -> tuple[np.ndarray, np.ndarray]:
    """Return values and scores, and positions, of the documents of twenty lists."""
    scores = np.random.default_rng(0).integers(0, 12, (20, 20))
    above = (scores[:, None, :] > scores[:, :, None]).sum(axis=2).ravel()
    tied = (scores[:, None, :] == scores[:, :, None]).sum(axis=2).ravel()
    return np.concatenate([1.0 / (1.0 + above), scores.ravel()]), np.concatenate([above, tied])


# This comes before any module with kernels is imported.
CACHE = os.environ.get("NUMBA_CACHE_DIR") or platformdirs.user_cache_dir("directrank")
fill_memory(*results_of_others(), cache=Path(CACHE) / "memory-results")

from conformance.test_scorers import EXAMPLES as SCORER_EXAMPLES
from directrank.contracts import ORACLES, DocumentWeights, Value, ValueAndGradient
from directrank.data.grouping import group_rows
from directrank.data.queries import Queries
from directrank.measures import DCG, MEASURES
from directrank.measures.dcg import discounts_of
from directrank.measures.positions import positions_of
from directrank.scorers import SCORERS, Additive, Linear, LogLinear, QueryLinear, single_feature, stump
from naive import (
    add_trees_naive,
    agreement_naive,
    ap_naive,
    cosine_naive,
    cross_entropy_naive,
    expectation_naive,
    fidelity_naive,
    first_naive,
    gain_sum_naive,
    likelihood_naive,
    mean_ndcg_naive,
    pairs_naive,
    positions_naive,
    potentials_naive,
    right_order_naive,
    scaled_inside_queries_naive,
    soft_positions_naive,
    stops_naive,
    trees_naive,
)
from surrogate_examples import SURROGATES, examples_of, measures
from tally import HungError, Tally, complain, limited

SIZES = (1, 31, 32, 33, 2047, 2048, 2049, 2050, 5000)
RELEVANT = (0, 1, 32, 33, 5000)
#: Of the list that comes after the one of the case, and how many of it are relevant.
SHORT, SHORT_RELEVANT = 33, 5
LONGEST_TABLE, LONGEST_CONVOLUTION = 2050, 33
MOST_WORK = 2e8
#: Relative to the value, and to 1.
ROUNDING = 1e-9
N_FEATURES = 5
#: Seconds for a case: naive twins of 5,000 relevant documents are loops in Python.
PATIENCE = 600


@dataclass(frozen=True)
class Case:
    """A list and a short one after it, with scores, a direction and features."""

    queries: Queries
    scores: np.ndarray
    direction: np.ndarray
    features: np.ndarray

    def lists(self) -> Iterator[tuple[Queries, np.ndarray]]:
        """Yield each list as queries of its own, and its scores."""
        for q, (first, last) in enumerate(pairwise(self.queries.indptr)):
            yield self.queries.part(q, q + 1), self.scores[first:last]


def case_of(rng: np.random.Generator, size: int, relevant: int) -> Case:
    """Draw a case, in half of which a third of the documents have scores of their own."""
    sizes, counts = (size, SHORT), (min(size, relevant), SHORT_RELEVANT)
    grades = [rng.permutation(np.repeat([1, 0], [k, n - k])) for n, k in zip(sizes, counts, strict=True)]
    y = np.concatenate(grades) * rng.integers(1, 5, sum(sizes))
    queries, _ = group_rows(y.astype(float), np.repeat([0, 1], sizes))
    n = queries.n_docs
    scores = rng.normal(size=n) if rng.random() < 0.5 else rng.integers(0, 1 + n // 3, n) * (3.0 / n)
    return Case(queries, scores, rng.normal(size=n), rng.normal(size=(n, N_FEATURES)).astype(np.float32))


def measure_twin(measure, one: Queries, scores: np.ndarray) -> float | None:
    """Return the value of a measure on one list by definition, or None if there is no twin."""
    kind, y, n = measure.bare_name, one.relevance, one.n_docs
    positions, last = positions_naive(one, scores), measure.cutoff or n
    above, tied, relevant = positions.above, positions.tied, int((y >= 1).sum())
    first = {"WTA": 1, "Rprec": relevant}.get(kind, last)
    blocks = zip(above[:relevant], tied[:relevant], strict=True)
    hits = sum(np.mean(np.arange(a, a + m) < first) for a, m in blocks)
    if kind in ("nDCG", "DCG"):
        value = gain_sum_naive(2.0**y - 1, above, tied, discounts_of(n, "log2"), last)
        best = (2.0**y - 1) @ (discounts_of(n, "log2") * (np.arange(n) < last)) if kind == "nDCG" else 1.0
        return value / best if best else 0.0
    if kind in ("ERR", "nERR"):
        stopping = (2.0**y - 1) / 2.0**4
        value = stops_naive(stopping, above, tied, last)
        best = stops_naive(stopping, np.arange(n), np.ones(n, int), last) if kind == "nERR" else 1.0
        return value / best if best else 0.0
    if kind == "MeanNDCG":
        return mean_ndcg_naive(2.0**y - 1, above, tied, discounts_of(n, "log2")) if relevant else 0.0
    if measure.reads_subtopics:  # of one subtopic
        alpha, k = getattr(measure, "alpha", 1.0), measure.cutoff
        divisor = measure.divisors(max(n, k))
        value = stops_naive(alpha * (y >= 1), above, tied, k, divisor)
        n_best = {"alpha_nDCG": min(relevant, k), "ERR_IA": k}.get(kind, 1)
        best = (alpha * (1 - alpha) ** np.arange(n_best) / divisor[:n_best]).sum()
        return value / best if relevant else 0.0
    persistence = getattr(measure, "p", 0.0) ** np.arange(n)
    before = [int(((above < a) & (y < 1)).sum()) for a in above[:relevant]]
    inside = [int(((above == a) & (y < 1)).sum()) for a in above[:relevant]]
    twins: dict[str, Callable[[], float]] = {
        "R": lambda: hits / max(relevant, 1),
        "Rprec": lambda: hits / max(relevant, 1),
        "Success": lambda: first_naive(above[:relevant], tied[:relevant], np.ones(last)),
        "RBP": lambda: (1 - measure.p) * gain_sum_naive((y >= 1) * 1.0, above, tied, persistence, last),
        "ClickDCG": lambda: gain_sum_naive(y, above, tied, discounts_of(n, "log2"), last),
        "ClickP": lambda: gain_sum_naive(y, above, tied, np.ones(n), last) / last,
        "ClickRBP": lambda: (1 - measure.p) * gain_sum_naive(y, above, tied, persistence, last),
        "RBPResidual": lambda: 1 - measure.p**last,  # the residual is an error
        "Bpref": lambda: bpref_naive(before, inside, n - relevant),
        "Judged": lambda: 1.0,
        "SetP": lambda: relevant / n,
        "SetR": lambda: float(relevant > 0),
        "SetF": lambda: 2 * relevant / (relevant + n),
        "SetAP": lambda: relevant / n,
        "NumRel": lambda: relevant,
        "NumRet": lambda: n,
        "AP": lambda: ap_naive(above[:relevant], tied[:relevant], max(relevant, 1), last),
        "P": lambda: hits / last,
        "WTA": lambda: hits,
        "RR": lambda: first_naive(above[:relevant], tied[:relevant], np.arange(1.0, last + 1)),
        "WPD": lambda: agreement_naive(y, above),
        "ZeroOne": lambda: right_order_naive(y, above),
    }
    return twins[kind]() if kind != "infAP" else None


def bpref_naive(before: list[int], inside: list[int], irrelevant: int) -> float:
    """Return Bpref, from the irrelevant documents before and inside the block of each relevant one."""
    n, most = len(before), min(irrelevant, len(before))
    wrong = [
        np.minimum(b + np.arange(c + 1), n).mean() / most if most else 0.0
        for b, c in zip(before, inside, strict=True)
    ]
    return float(np.mean(1.0 - np.array(wrong))) if n else 0.0


def pair_table(surrogate, one: Queries) -> np.ndarray:
    """Return the weights of all pairs of documents of a list."""
    y, n = one.relevance, one.n_docs
    better = y[:, None] > y[None, :]
    if type(surrogate).__name__ == "OrderPreserving":
        share = surrogate.measure.supervision(one)[:, None] / (n * (n - 1) if surrogate.normalise else 1)
        return np.where(np.eye(n) == 1, 0.0, share)
    weight = surrogate.weight(y[:, None], y[None, :]) if surrogate.weight else 1.0
    return better * weight / (better.sum() if surrogate.normalise else 1)


def surrogate_twin(surrogate, one: Queries, s: np.ndarray) -> float | None:
    """Return the value of a surrogate on one list by definition, or None if there is no twin."""
    kind, y, n, measure = type(surrogate).__name__, one.relevance, one.n_docs, surrogate.measure
    if kind in ("Pairwise", "PairwiseHinge", "OrderPreserving"):
        return pairs_naive(s, pair_table(surrogate, one), surrogate.margin)[0] if n <= LONGEST_TABLE else None
    if kind in ("ExponentialPairs", "Fidelity"):
        naive = potentials_naive if kind == "ExponentialPairs" else fidelity_naive
        pairs = (y[:, None] > y[None, :]).sum() if surrogate.normalise else 1
        return naive(s, y)[0] / pairs if n <= LONGEST_TABLE else None
    if kind == "GaussianNoise":
        gain, curve = measure.linear_in_positions(one)
        return 1.0 - expectation_naive(s, gain, curve, surrogate.noise) if n <= LONGEST_CONVOLUTION else None
    if kind == "SmoothedPositions":
        p = np.ones(n)
        p[: measure.n_read(one)[0]] = soft_positions_naive(s, surrogate.steepness)[: measure.n_read(one)[0]]
        return 1.0 - measure.position_gradient(one, p, surrogate.truncation)[0][0]
    truth = 2.0**y - 1 if getattr(surrogate, "supervision", "") == "gain" else y
    twins: dict[str, Callable[[], float]] = {
        "SquaredError": lambda: ((s - y) ** 2).sum(),
        "MeasureItself": lambda: 1.0 - measure_twin(measure, one, s),
        "TypeOneBound": lambda: float(surrogate.margin.value(np.array(measure_twin(measure, one, s)))),
        "SoftmaxCrossEntropy": lambda: cross_entropy_naive(s, np.exp(truth) / np.exp(truth).sum())[0],
        "PlackettLuce": lambda: likelihood_naive(s, y)[0],
        "CosineDistance": lambda: cosine_naive(s, truth)[0],
        "ExpectedMeasure": lambda: measure.position_slopes(one) @ (soft_positions_naive(s, 1.0) - 1.0),
    }
    return twins[kind]() if kind in twins else None


#: What is computed of each oracle.
CALLS = {
    "Value": lambda oracles, case: oracles.value(case.scores),
    "ValueAndGradient": lambda oracles, case: oracles.value_and_gradient(case.scores),
    "Curvature": lambda oracles, case: oracles.curvature(case.scores),
    "HessianVector": lambda oracles, case: oracles.hessian_vector(case.scores, case.direction),
    "Targets": lambda oracles, case: oracles.targets(),
    "QueryValues": lambda oracles, case: oracles.query_values(case.scores),
    "QueryWeights": lambda oracles, case: oracles.query_weights(case.scores),
    "DocumentWeights": lambda oracles, case: oracles.document_weights(case.scores),
    "StepAlong": lambda oracles, case: oracles.along(case.scores, (case.direction > 0).astype(float)),
    "WindowStep": lambda oracles, case: oracles.line_sums(case.scores, case.direction),
    "MostViolated": lambda oracles, case: oracles.most_violated(case.scores),
    "ViolatedPairs": lambda oracles, case: oracles.violated_pairs(case.scores),
    "ApproximationErrors": lambda oracles, case: oracles.approximation_errors(case.scores),
}


def flat(found) -> list[np.ndarray]:
    """Return all arrays and numbers of a result."""
    return (
        [part for each in found for part in flat(each)] if isinstance(found, tuple) else [np.asarray(found)]
    )


def same_twice(compute: Callable[[], object]) -> list[np.ndarray]:
    """Return a result whose bits are the same in different memory."""
    first, again = flat(compute()), flat(compute())
    assert all(a.tobytes() == b.tobytes() for a, b in zip(first, again, strict=True)), "memory changes bits"
    return first


def near(found: float, expected: float) -> None:
    assert abs(found - expected) <= ROUNDING * (1.0 + abs(expected)), (found, expected)


def try_measure(rng: np.random.Generator, cls: type, case: Case) -> None:
    """Compare a measure, with a cutoff or without one."""
    variants = [each for each in (*measures(), DCG(), DCG(3)) if type(each) is cls] or [
        cls(3) if cls.cutoff_is() == "required" else cls()
    ]
    measure, queries = variants[rng.integers(len(variants))], case.queries
    n_read = measure.n_read(queries)

    def values() -> np.ndarray:
        return measure.query_values(queries, positions_of(queries, case.scores, n_read=n_read))

    for found, (one, scores) in zip(same_twice(values)[0], case.lists(), strict=True):
        expected = measure_twin(measure, one, scores)
        near(found, found if expected is None else expected)


def try_surrogate(rng: np.random.Generator, cls: type, case: Case) -> None:
    """Compare an example of a surrogate, on lists from which something can be learned."""
    examples = examples_of(cls)
    surrogate, queries = examples[rng.integers(len(examples))], case.queries
    longest = queries.sizes.max()
    while surrogate.work(queries).max() > MOST_WORK:
        longest = max(n for n in SIZES if n < longest)
        case = case_of(rng, longest, int((queries.part(0, 1).relevance > 0).sum()))
        queries = case.queries
    weights = np.where(surrogate.uninformative(queries), 0.0, 0.5)
    if not weights.any():
        return
    surrogate, found = surrogate.estimated(queries, weights), {}
    for oracle in ORACLES:
        if oracle in surrogate.offers and oracle.__name__ in CALLS:
            call = CALLS[oracle.__name__]
            found[oracle] = same_twice(lambda call=call: call(surrogate.on(queries, weights), case))
    total = next(
        (found[each][0] for each in (ValueAndGradient, Value, DocumentWeights) if each in found), None
    )
    lists = zip(weights, case.lists(), strict=True)
    twins = [surrogate_twin(surrogate, *each) if weight else 0.0 for weight, each in lists]
    if total is not None and None not in twins:
        near(float(total), float(weights @ np.array(twins)))


def try_scorer(rng: np.random.Generator, cls: type, case: Case) -> None:
    """Compare a scorer."""
    X, w, indptr = case.features, rng.normal(size=N_FEATURES), case.queries.indptr
    if cls is LogLinear:
        logarithm = np.arange(N_FEATURES) % 2 == 0
        found = same_twice(lambda: LogLinear(w, logarithm).scores(X))[0]
        expected = np.where(logarithm, np.sign(X) * np.log1p(np.abs(X.astype(float))), X) @ w
    elif cls is QueryLinear:
        found = same_twice(lambda: QueryLinear(w).scores(X, indptr))[0]
        expected = scaled_inside_queries_naive(X, indptr).astype(float) @ w
    elif cls is Additive:
        weak = [stump(0, 0.1), stump(2, -0.3, above=False), single_feature(1, slope=-0.7, offset=0.3)]
        found = same_twice(lambda: Additive.of(w[:3], weak).scores(X))[0]
        expected = [add_trees_naive(row, w[:3], weak) for row in X]
    else:
        scorer = SCORER_EXAMPLES[cls.__name__](N_FEATURES, rng)
        found = same_twice(lambda: scorer.scores(X))[0]
        if isinstance(scorer, Linear):
            expected = X.astype(float) @ scorer.coefficients
        else:
            expected = [trees_naive(row, scorer) for row in X]
    np.testing.assert_allclose(found, expected, rtol=1e-6 if cls is QueryLinear else ROUNDING, atol=1e-6)


def cases(seed: int) -> list[tuple[Callable, type, int, int]]:
    """Return every object with every list, in a random order: what tries it, the class, and the list."""
    objects = [(try_measure, each) for each in MEASURES] + [(try_surrogate, each) for each in SURROGATES]
    objects += [(try_scorer, each) for each in (*SCORERS, LogLinear, QueryLinear)]
    every = [(*each, size, relevant) for each in objects for size in SIZES for relevant in RELEVANT]
    return [every[k] for k in np.random.default_rng(seed).permutation(len(every))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=len(cases(0)))
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    tally = Tally()
    for number, (attempt, cls, size, relevant) in enumerate(cases(given.seed)[: given.count]):
        rng = np.random.default_rng([given.seed, number])
        outcome = "survived"
        try:
            with limited(PATIENCE):
                attempt(rng, cls, case_of(rng, size, relevant))
        except HungError:
            outcome = "hangs"
            complain((cls.__name__, size, relevant, number, "hung"))
        except AssertionError as error:
            outcome = "wrong"
            complain((cls.__name__, size, relevant, number, error))
        except Exception as error:
            outcome = "crashes"
            complain((cls.__name__, size, relevant, number, error))
        tally.add(outcome)
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
