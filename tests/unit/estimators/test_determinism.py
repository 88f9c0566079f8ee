"""Bit-identical results for any number of threads; the same measures for any order of rows and queries."""

import numpy as np
import pytest

from directrank import evaluate
from directrank.data.groups import QueryGroups
from directrank.estimators import AdaRank, ApproxRank, Regression, TreeRanker
from directrank.estimators.training import useful_threads
from directrank.surrogates import Pairwise
from groups import first_group

MAKERS = {
    "Regression": lambda **options: Regression(**options),
    "AdaRank": lambda **options: AdaRank("nDCG@5", rounds=3, **options),
    "ApproxRank": lambda **options: ApproxRank("nDCG@10", max_iterations=3, **options),
    "ApproxRank AP": lambda **options: ApproxRank("AP", max_iterations=2, n_restarts=1, **options),
}


@pytest.fixture(scope="module")
def large():
    """64 shards: 66 MB of features."""
    rng = np.random.default_rng(0)
    n_docs, n_features = 262_400, 64
    X = rng.random((n_docs, n_features), dtype=np.float32)
    truth = X[:, 0] + 0.5 * X[:, 1] - X[:, 2] + 0.3 * rng.random(n_docs)
    y = np.digitize(truth, [0.5, 0.9, 1.3]).astype(float)
    # Uneven lists, 1 to 63 documents.
    sizes = rng.integers(1, 64, n_docs)
    sizes = sizes[: np.searchsorted(np.cumsum(sizes), n_docs)]
    sizes = np.append(sizes, n_docs - sizes.sum())
    groups = QueryGroups(X, y, np.repeat(np.arange(len(sizes)), sizes))
    assert len(groups.shards) == 64
    return groups


@pytest.fixture(scope="module")
def vali(large):
    return large.select(np.arange(300))


@pytest.mark.parametrize("name", first_group(MAKERS, lambda name: name == "ApproxRank"))
def test_threads_change_no_bit_of_a_model_of_64_shards(name, large, vali):
    fits = [MAKERS[name](n_jobs=n_jobs).fit(large, eval_set=vali) for n_jobs in (1, 2, 4)]
    assert len({fit.scorer_.coefficients.tobytes() for fit in fits}) == 1
    assert fits[0].history_ == fits[1].history_ == fits[2].history_
    assert fits[0].certificate_ == fits[1].certificate_ == fits[2].certificate_
    assert np.any(fits[0].scorer_.coefficients)


def test_threads_have_two_shards_or_a_millisecond_of_pairs_each():
    """A shard is a MiB of features; a step of a loss takes 4 ns."""

    def threads(n_docs, n_features, n_threads=8, length=2):
        groups = QueryGroups(
            np.zeros((n_docs, n_features)), np.arange(n_docs) % 2, np.arange(n_docs) // length
        )
        return useful_threads(Pairwise(margin="logistic").work(groups.queries), len(groups.shards), n_threads)

    assert threads(64, 4096) == 1  # one shard
    assert threads(64, 4096 * 6) == 3
    assert threads(64, 4096 * 6, 2) == 2
    assert threads(2048, 1, length=2048) == 4  # 2²⁰ pairs


def test_drawn_shares_of_trees_follow_the_seed():
    X, y, qid = small()
    others = small(2)
    # With a validation set the seed draws shares alone, and no held-out queries.
    validation = {"eval_set": others[:2], "eval_qid": others[2]}
    first, again, other = (
        TreeRanker("xendcg", rounds=10, random_state=seed).fit(X, y, qid=qid, **validation).predict(X)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3 * np.ptp(first)


def small(seed=1):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(600, 5)), 2)
    y = np.digitize(X[:, 0] - X[:, 1] + rng.normal(size=600), [0.5, 1.5]).astype(float)
    return X, y, np.sort(rng.integers(0, 30, 600))


@pytest.mark.parametrize("name", MAKERS)
def test_the_order_of_rows_and_queries_does_not_matter(name):
    X, y, qid = small()
    rng = np.random.default_rng(2)
    inside = np.concatenate([rng.permutation(np.flatnonzero(qid == q)) for q in np.unique(qid)])
    queries = np.concatenate([np.flatnonzero(qid == q) for q in rng.permutation(np.unique(qid))])
    fitted = MAKERS[name]().fit(X, y, qid=qid)
    scores = fitted.predict(X)
    for order in (inside, queries, rng.permutation(600)):
        other = MAKERS[name]().fit(X[order], y[order], qid=qid[order])
        np.testing.assert_allclose(other.predict(X), scores, rtol=0, atol=1e-5 * np.abs(scores).max())
        # Scores are bitwise those of their rows, so measures of the same model are bitwise the same.
        np.testing.assert_array_equal(fitted.predict(X[order]), scores[order])
        names = ["AP", "nDCG@10", "RR", "P@5"]
        before = evaluate(y, scores, qid, measures=names)
        after = evaluate(y[order], scores[order], qid[order], measures=names)
        assert dict(before) == dict(after)
        assert fitted.score(X, y, qid=qid) == fitted.score(X[order], y[order], qid=qid[order])
