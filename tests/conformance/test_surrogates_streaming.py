"""Every registered surrogate with a kernel for the compiled pass: it computes what the oracles compute."""

import copy

import numpy as np
import pytest

from directrank.contracts import GradientKernel, Reweighable
from directrank.data.grouping import group_rows
from directrank.features.shards import make_shards
from directrank.measures import AP, DCG, NDCG
from directrank.scorers import Linear
from directrank.solvers import passes
from directrank.surrogates import Objective, SwapWeighted
from directrank.surrogates.objective import ShardObjective
from directrank.testing.checks import idle_queries, random_scores, some_queries
from surrogate_examples import SURROGATES, examples_of

STREAMED = [each for cls in SURROGATES for each in examples_of(cls) if GradientKernel in each.offers]
KINDS = ("random", "tied", "equal", "far")
#: Examples with kinds of scores: in the first group every example has one kind, but those with distances.
CASES = [
    pytest.param(
        each,
        kind,
        id=f"{each.name}-{kind}",
        marks=[pytest.mark.heavy] * ((i - j) % len(KINDS) > 0 or "distance" in each.name),
    )
    for i, each in enumerate(STREAMED)
    for j, kind in enumerate(KINDS)
]


def several_queries():
    """Queries that cannot teach, and lists of several vectors and of numbers of winners that are no fours."""
    idle, long = idle_queries(), some_queries(46, sizes=(21, 70), grades=4)
    relevance = np.concatenate((idle.relevance, long.relevance))
    qid = np.repeat(np.arange(idle.n_queries + 2), np.concatenate((idle.sizes, long.sizes)))
    return group_rows(relevance, qid)[0]


def scores_of(kind, queries):
    """Scores that are random, tied, all equal, or far apart in some queries and in none."""
    scores = random_scores(queries, 41)
    if kind == "tied":
        return np.round(scores)
    if kind == "equal":
        return np.zeros(queries.n_docs)
    far = np.repeat(np.arange(queries.n_queries) % 2 == 0, queries.sizes)
    return np.where(far, 300.0 * scores, scores) if kind == "far" else scores


@pytest.mark.share(8)
@pytest.mark.parametrize(("surrogate", "kind"), CASES)
def test_the_compiled_pass_equals_the_oracles(surrogate, kind, monkeypatch):
    compare_with_oracles(surrogate, kind, several_queries(), monkeypatch)


class GainOfPlace(DCG):
    """A gain of each document, documents of one grade included."""

    def gains(self, queries):
        return 1.0 + queries.sizes[queries.query] - queries.place


@pytest.mark.share(3)
@pytest.mark.parametrize("measure", [NDCG(3), NDCG(20), GainOfPlace()], ids=["3", "20", "place"])
def test_pairs_by_rank_are_of_different_grades_within_reach(measure, monkeypatch):
    # Of a list, one or two pairs are at the end of the reach and alone in a vector.
    sizes = np.random.default_rng(47).integers(17, 60, 40)
    compare_with_oracles(
        SwapWeighted(measure), "random", some_queries(48, sizes=sizes, grades=4), monkeypatch
    )


def compare_with_oracles(surrogate, kind, queries, monkeypatch):
    rng = np.random.default_rng(42)
    weights = rng.integers(0, 3, queries.n_queries).astype(float)
    weights[: queries.n_queries : 5] = 1.0
    # The first feature is the score; products with the others show the derivative of each document.
    features = rng.normal(size=(queries.n_docs, 8)).astype(np.float32)
    features[:, 0] = scores_of(kind, queries)
    theta = np.append(1.0, np.zeros(7))
    objective = Objective(surrogate, queries, make_shards(queries.indptr, 8), weights=weights)
    objective.dtype = np.float32
    if Reweighable in objective.offers:
        objective.gradient_plugin()  # The arrays that it reads must follow the ranking.
        objective.reweigh(features[:, 0])
    found = passes.value_and_gradient(objective, Linear(), theta, features)
    monkeypatch.setattr(passes, "can_stream", lambda *_: False)
    expected = passes.value_and_gradient(objective, Linear(), theta, features)
    assert found[0] == pytest.approx(expected[0], rel=1e-6, abs=1e-7)
    np.testing.assert_allclose(found[1], expected[1], atol=2e-6 * max(np.abs(expected[1]).max(), 1e-3))


@pytest.mark.parametrize("surrogate", [SwapWeighted(NDCG()), SwapWeighted(AP(), weights="swap")])
def test_weights_of_a_shard_in_another_process_follow_the_ranking(surrogate):
    queries = some_queries(44)
    blocks, weights = make_shards(queries.indptr, 4)[0].blocks, np.ones(queries.n_queries)
    shard = ShardObjective(queries, blocks, surrogate, np.float32, queries.longest, weights)
    before = copy.deepcopy(shard.gradient_plugin())
    shard.reweigh(random_scores(queries, 45))
    after = shard.gradient_plugin()
    assert any(np.any(old != new) for old, new in zip(arrays_of(before), arrays_of(after), strict=True))


def arrays_of(plugin):
    """Return the arrays and numbers of a plug-in, those of the plug-ins among its fields included."""
    fields = (arrays_of(field) if isinstance(field, tuple) else [field] for field in plugin)
    return [array for inner in fields for array in inner]
