"""Measures that tell documents without a judgment from irrelevant ones, against enumeration of tie orders.

A label is a grade; -1 for a document that was pooled and not judged, None for one that was not pooled.
"""

import math
from itertools import pairwise

import numpy as np
import pytest

import oracles
from directrank import evaluate_runs
from directrank.data.queries import Queries
from directrank.measures import parse_measure, values_of


def is_relevant(label, rel):
    return label is not None and label >= rel


def bpref(ranked, judged, rel=1):
    """Sum over relevant documents ranked of 1 - min(irrelevant above, R) / min(N, R), by R."""
    relevant = sum(label >= rel for label in judged)
    irrelevant = sum(0 <= label < rel for label in judged)
    total = 0.0
    for place, label in enumerate(ranked):
        if is_relevant(label, rel):
            above = sum(other is not None and 0 <= other < rel for other in ranked[:place])
            total += 1 - (min(above, relevant) / min(irrelevant, relevant) if above else 0)
    return total / relevant if relevant else 0.0


def inferred_ap(ranked, judged, rel=1):
    relevant, total, small = sum(label >= rel for label in judged), 0.0, 1e-5
    for place, label in enumerate(ranked):
        if is_relevant(label, rel):
            above = [other for other in ranked[:place] if other is not None]
            hits, misses = sum(other >= rel for other in above), sum(0 <= other < rel for other in above)
            precision = (hits + small) / (hits + misses + 2 * small)
            total += (1 + len(above) * precision) / (place + 1)
    return total / relevant if relevant else 0.0


def judged_share(ranked, judged, k=None):
    return np.mean([label is not None for label in ranked[:k]]) if ranked else 0.0


def residual(ranked, judged, k=None, p=0.8):
    known = [label is not None and label >= 0 for label in ranked[:k]]
    return 1 - (1 - p) * math.fsum(p**place for place, each in enumerate(known) if each)


DEFINITIONS = {
    "Bpref": bpref,
    "Bpref(rel=2)": lambda ranked, judged: bpref(ranked, judged, 2),
    "infAP": inferred_ap,
    "infAP(rel=2)": lambda ranked, judged: inferred_ap(ranked, judged, 2),
    "Judged": judged_share,
    "Judged@2": lambda ranked, judged: judged_share(ranked, judged, 2),
    "Judged@9": lambda ranked, judged: judged_share(ranked, judged, 9),
    "RBPResidual": residual,
    "RBPResidual(p=0.5)@3": lambda ranked, judged: residual(ranked, judged, 3, 0.5),
    # Where all that is not judged counts as irrelevant.
    "RBP": lambda ranked, judged: 0.2 * math.fsum(0.8**i for i, y in enumerate(ranked) if is_relevant(y, 1)),
}


def random_lists(n_queries=400):
    """Labels of a run of up to six documents with their scores, and labels that the run does not hold."""
    rng = np.random.default_rng(8)
    choices = np.array([None, -1, 0, 1, 2], dtype=object)
    for _ in range(n_queries):
        labels = rng.choice(choices, rng.integers(1, 7)).tolist()
        yield labels, rng.integers(0, rng.integers(1, 5), len(labels)), rng.choice(choices[1:], 2).tolist()


@pytest.fixture(scope="module")
def lists():
    return list(random_lists())


@pytest.fixture(scope="module")
def as_mappings(lists):
    qrels, run = {}, {}
    for q, (labels, scores, missing) in enumerate(lists):
        named = {f"d{i}": label for i, label in enumerate(labels)} | {
            f"m{i}": label for i, label in enumerate(missing)
        }
        qrels[f"q{q}"] = {name: label for name, label in named.items() if label is not None}
        run[f"q{q}"] = {f"d{i}": float(score) for i, score in enumerate(scores)}
    return qrels, run


def expected(name, labels, scores, missing):
    judged = [label for label in (*labels, *missing) if label is not None]
    orders = list(oracles.tie_orders(scores))
    return np.mean([DEFINITIONS[name]([labels[i] for i in order], judged) for order in orders])


@pytest.mark.parametrize("name", DEFINITIONS)
def test_equals_enumeration(name, lists, as_mappings):
    result = evaluate_runs(*as_mappings, measures=[name], diagnostics=False)
    cell = result.cells[0]
    assert cell["qid"] == list(as_mappings[0])
    by_definition = [expected(name, *each) for each in lists]
    np.testing.assert_allclose(cell["per_query"]["standard"][name], by_definition, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_parts_and_chosen_queries_have_the_same_values(name, as_mappings):
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 9, 50)
    pooled = rng.integers(0, sizes + 1)
    judged = rng.integers(0, pooled + 1)
    relevance = np.concatenate(
        [
            np.sort(rng.integers(0, 3, n) * (np.arange(n) < j))[::-1].astype(float)
            for n, j in zip(sizes, judged, strict=True)
        ]
    )
    indptr = np.append(0, np.cumsum(sizes))
    queries = Queries(
        relevance, indptr, np.arange(indptr[-1]), np.arange(50), judged=judged, pooled=pooled
    )  # fmt: skip
    scores, measure = rng.integers(0, 3, indptr[-1]).astype(float), parse_measure(name)
    (whole,) = values_of([measure], queries, scores)
    parts = [queries.part(a, b) for a, b in pairwise((0, 20, 50))]
    halves = [scores[: indptr[20]], scores[indptr[20] :]]
    found = np.concatenate([values_of([measure], *each)[0] for each in zip(parts, halves, strict=True)])
    np.testing.assert_array_equal(found, whole)
    some, rows = queries.chosen(np.arange(50) % 3 == 0)
    np.testing.assert_array_equal(values_of([measure], some, scores[rows])[0], whole[::3])


def test_a_large_tied_block_costs_no_cancellation():
    """One relevant document tied with many judged irrelevant ones: at each rank equally often."""
    n = 2000
    queries = Queries(
        np.append(1.0, np.zeros(n - 1)), np.array([0, n]), np.arange(n), np.array(["q"]),
        judged=np.array([n]), pooled=np.array([n]),
    )  # fmt: skip
    found = values_of([parse_measure("infAP"), parse_measure("Bpref")], queries, np.zeros(n))
    small = 1e-5
    terms = [(1 + t * small / (t + 2 * small)) / (t + 1) for t in range(n)]
    assert found[0][0] == pytest.approx(np.mean(terms), rel=1e-11)
    assert found[1][0] == pytest.approx(1 / n, rel=1e-12)
