"""Training that starts from a fitted ranker: coefficients, and trees to which others are added."""

import numpy as np
import pytest
from sklearn.base import clone

from directrank import (
    ConsistentRank,
    ListNet,
    TreeRanker,
    load,
    make_ranking,
    save,
)

GROUPS, OTHERS = make_ranking(30, 8, 4, random_state=0), make_ranking(20, 8, 4, random_state=1)


def trees(rounds, **options):
    return TreeRanker("lambdarank", rounds=rounds, leaves=4, n_jobs=1, **options)


@pytest.mark.parametrize("ranker", [ListNet(), ConsistentRank()], ids=lambda ranker: type(ranker).__name__)
def test_a_convex_fit_from_its_own_end_takes_no_step(ranker):
    cold = clone(ranker).fit(GROUPS)
    warm = clone(ranker).fit(GROUPS, init_model=cold)
    named = clone(ranker).set_params(start=cold).fit(GROUPS)
    assert len(cold.history_) > 2 > len(warm.history_)
    assert warm.coef_ == pytest.approx(cold.coef_, rel=1e-4)
    assert np.array_equal(named.coef_, warm.coef_)
    assert warm.status_ == "converged"
    # What `fit` was given is not kept.
    assert np.array_equal(warm.fit(GROUPS).coef_, cold.coef_)


def test_trees_added_to_trees_are_those_of_one_fit():
    options = {"keep": "last"}
    whole = trees(6, **options).fit(GROUPS)
    half = trees(2, **options).fit(GROUPS)
    both = trees(4, **options).fit(GROUPS, init_model=half)
    assert both.predict(OTHERS) == pytest.approx(whole.predict(OTHERS), abs=1e-6)
    assert both.scorer_.n_trees == whole.scorer_.n_trees
    assert both.rounds_ == 4
    # The rows are of the new trees, and their values of all: those of the last rounds of one fit.
    assert [row["round"] for row in both.history_] == [1, 2, 3, 4]
    for name in ("objective", "monitor"):
        last = [row[name] for row in whole.history_[2:]]
        assert [row[name] for row in both.history_] == pytest.approx(last, abs=1e-5)
    assert both.message_ == f"Trained 4 trees, after {half.scorer_.n_trees} of the start"


def test_the_start_alone_is_kept_where_no_tree_helps():
    half = trees(40, keep="last").fit(GROUPS)
    wrong = make_ranking(20, 8, 4, random_state=0)
    turned = type(wrong)(wrong.X, wrong.relevance.max() - wrong.relevance, wrong.qid)
    ranker = trees(3, start=half).fit(turned, eval_set=GROUPS)
    assert ranker.rounds_ == 0
    assert np.array_equal(ranker.predict(OTHERS), half.predict(OTHERS))


def test_a_file_of_lightgbm_is_continued(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    X = GROUPS.X.astype(np.float64)
    theirs = lightgbm.LGBMRanker(n_estimators=3, num_leaves=4, min_child_samples=2, verbose=-1)
    order = np.argsort(GROUPS.qid, kind="stable")
    sizes = np.unique(GROUPS.qid, return_counts=True)[1]
    theirs.fit(X[order], GROUPS.relevance[order], group=sizes)
    theirs.booster_.save_model(tmp_path / "model.txt")
    start = load(tmp_path / "model.txt")
    ranker = trees(5, keep="last", init_model=start).fit(GROUPS)
    values = [tree.value.tolist() for tree in ranker.scorer_.each()]
    assert len(values) == 8
    assert values[:3] == [tree.value.tolist() for tree in start.scorer_.each()]
    losses = [row["objective"] for row in ranker.history_]
    assert losses == sorted(losses, reverse=True)
    save(ranker, tmp_path / "ours.dr")
    assert np.array_equal(load(tmp_path / "ours.dr").predict(OTHERS), ranker.predict(OTHERS))


def test_a_clone_keeps_the_fitted_ranker_that_it_starts_from():
    first = ListNet().fit(GROUPS)
    copied = clone(ListNet(start=first, penalty=0.1))
    assert copied.start is first
    assert copied.penalty == 0.1
    assert not hasattr(copied, "scorer_")
    assert not hasattr(clone(first), "scorer_")


def shop(seed, brands):
    """A table of a shop: the brand tells as much as the price."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    brand, price = rng.integers(len(brands), size=800), rng.normal(size=800).round(2)
    y = np.digitize(2.0 * (brand % 3 == 0) + price + 0.3 * rng.normal(size=800), [0.5, 1.5])
    frame = pd.DataFrame({"brand": pd.Categorical([brands[b] for b in brand]), "price": price})
    return frame, y, np.arange(800) // 20


@pytest.mark.parametrize("first", ["sets", "single"])
@pytest.mark.parametrize("second", ["sets", "single"])
def test_trees_over_categories_are_continued(first, second, tmp_path):
    X, y, qid = shop(0, ["Acme", "Bolt", "Coil", "Disk"])
    half = trees(4, categories=first, keep="last").fit(X, y, qid=qid)
    other, grades, queries = shop(1, ["Bolt", "Acme", "Eyot", "Coil"])
    both = trees(3, categories=second, keep="last").fit(other, grades, qid=queries, init_model=half)
    assert both.encoding_ == half.encoding_
    assert both.scorer_.n_trees == half.scorer_.n_trees + 3
    # What no tree has been added to is the start: its trees come first, and score as they did.
    alone = trees(3, categories=second, keep="best").fit(
        other, grades.max() - grades, qid=queries, eval_set=(X, y, qid), init_model=half
    )
    if alone.rounds_ == 0:
        np.testing.assert_array_equal(alone.predict(other), half.predict(other))
    save(both, tmp_path / "both.dr")
    np.testing.assert_array_equal(load(tmp_path / "both.dr").predict(other), both.predict(other))
    assert both.score(other, grades, qid=queries) > half.score(other, grades, qid=queries) - 0.01
