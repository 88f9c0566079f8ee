"""What `auto` makes of few queries: shares of kinds, the prior, folds, and the last fit on all queries."""

import warnings

import numpy as np
import pytest

from directrank import (
    AutoRanker,
    Ensemble,
    FRank,
    ObservedRankings,
    QueryGroups,
    RankSVM,
    evaluate,
    load,
    make_ranking,
    save,
)
from directrank.apps.auto.shrinkage import prior_scorer, share_of_prior, shares_of
from directrank.errors import DataError
from directrank.measures import parse_measure
from directrank.scorers.ensemble import mean_deviation
from held_out import held_out_deviation

AP = parse_measure("AP")
#: Twenty queries of two documents, the first relevant: AP is 1 or ½.
PAIRS = QueryGroups(np.zeros((40, 1)), [1, 0] * 20, np.arange(40) // 2).queries
RIGHT, WRONG = np.tile([1.0, -1.0], 20), np.tile([-1.0, 1.0], 20)


def test_a_kind_that_ranks_all_wrong_has_no_share():
    """With `wrong` scores cancel to a tie, AP ¾: 20 queries give {both} 50 exp(−36 · 5 / √20) < .01."""
    np.testing.assert_array_equal(shares_of([RIGHT, WRONG], [1, 1], AP, PAIRS), [1.0, 0.0])


def test_equal_kinds_share_alike():
    """{first}, {second} and both are equally good: a third of 1, 0 and ½ each."""
    np.testing.assert_allclose(shares_of([RIGHT, RIGHT], [1, 1], AP, PAIRS), [0.5, 0.5], rtol=1e-12)


def test_kinds_that_complete_each_other_share_by_their_members():
    """Each is right by 3 on ten queries and wrong by 1 on the others: only the sum is right on all."""
    half = np.repeat(np.arange(20) < 10, 2)
    one, other = np.where(half, 3.0, -1.0) * RIGHT, np.where(half, -1.0, 3.0) * RIGHT
    np.testing.assert_allclose(shares_of([one, other], [1, 3], AP, PAIRS), [0.25, 0.75], atol=1e-8)


def test_the_subset_of_all_kinds_weighs_fifty_times():
    """{first} and both are right; {other} is wrong on one query of four and weighs e = exp(−9) of them."""
    queries = QueryGroups(np.zeros((8, 1)), [1, 0] * 4, np.arange(8) // 2).queries
    one_wrong = np.where(np.arange(8) < 2, -1.0, 1.0) * RIGHT[:8]
    e = np.exp(-9.0)
    by_hand = np.array([1.0 + 50 * 2 / 3, e + 50 / 3]) / (51.0 + e)
    np.testing.assert_allclose(
        shares_of([3 * RIGHT[:8], one_wrong], [2, 1], AP, queries), by_hand, rtol=1e-12
    )


def test_the_order_of_queries_decides_nothing():
    rng = np.random.default_rng(0)
    grades, scores = rng.integers(0, 2, (12, 6)), rng.normal(size=(3, 12, 6))
    shares = []
    for order in (np.arange(12), rng.permutation(12)):
        turned = QueryGroups(np.zeros((72, 1)), grades[order].ravel(), np.arange(72) // 6)
        inner = [turned.to_inner(each[order].ravel()) for each in scores]
        shares.append(shares_of(inner, [1, 1, 1], AP, turned.queries).tolist())
    assert shares[0] == shares[1]
    assert len(set(shares[0])) == 3


def test_the_prior_of_no_use_keeps_what_few_queries_cannot_deny():
    """.1 (1 − s) − s is below 0 for all steps but 0, and the prior alone lacks ½ on each query."""
    assert share_of_prior(0.1 * RIGHT, WRONG, AP, PAIRS) == pytest.approx(0.5 * 100 / 500 * np.exp(-10.0))
    two = QueryGroups(np.zeros((4, 1)), [1, 0] * 2, np.arange(4) // 2).queries
    expected = 20 / 22 * 100 / 104 * np.exp(-0.1)
    assert share_of_prior(0.1 * RIGHT[:4], WRONG[:4], AP, two) == pytest.approx(expected, rel=1e-5)


def test_the_prior_that_is_right_where_nothing_else_is_has_its_largest_weight():
    """−.7 (1 − s) + s is above 0 for s = ½, the last step of five, and not for s = ⅜."""
    share = share_of_prior(0.7 * WRONG, RIGHT, AP, PAIRS)
    assert share == pytest.approx(0.5 * (400 * 1.0 + 100) / 500)


def test_the_prior_weighs_correlation_over_deviation():
    """Two queries by hand: the first feature correlates 1 and 1, the second −1 and 0 (constant there)."""
    X = [[0.0, 5.0], [2.0, 1.0], [0.0, 3.0], [4.0, 3.0]]
    groups = QueryGroups(X, [0, 1, 0, 1], [1, 1, 2, 2])
    scorer = prior_scorer("auto", groups, None, 1)
    # Deviations inside the queries: 1 and 2, mean 1.5; 2 and 0, mean 1.
    expected = np.array([1.0 / 1.5, -0.5 / 1.0])
    found = np.asarray(scorer.coefficients)
    np.testing.assert_allclose(found / found[0], expected / expected[0], rtol=1e-6)
    # A query that weighs nothing says nothing.
    alone = np.asarray(prior_scorer("auto", groups, np.array([0.0, 1.0]), 1).coefficients)
    assert alone[0] > 0.0 == alone[1]


def test_the_prior_may_be_features_by_name():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3)) * [1.0, 10.0, 1.0]
    groups = QueryGroups(X, rng.integers(0, 2, 20), np.arange(20) // 10, feature_names=["bm25", "price", "x"])
    found = np.asarray(prior_scorer("bm25, -price", groups, None, 1).coefficients)
    deviation = [np.mean([X[:10, k].std(), X[10:, k].std()]) for k in (0, 1)]
    assert found[2] == 0.0
    np.testing.assert_allclose(found[1] / found[0], -deviation[0] / deviation[1], rtol=1e-5)
    shown = AutoRanker("AP", members="ranksvm", prior=1).fit(groups.X, groups.relevance, groups.qid)
    assert shown.shares_["prior"] > 0.0
    with pytest.raises(DataError, match="no feature 'bm52'; there are bm25, price, x"):
        AutoRanker(members="ranksvm", prior="bm52").fit(groups)


TRAIN, VALI = (make_ranking(12, 10, 4, random_state=seed) for seed in (3, 4))


def test_the_ensemble_and_the_prior_are_one_linear_function(tmp_path):
    ranker = AutoRanker("AP", members="ranksvm,listnet").fit(TRAIN, eval_set=VALI)
    assert ranker.coef_.shape == (4,)
    shares = ranker.shares_
    assert sum(shares.values()) == pytest.approx(1.0)
    assert 0.0 < shares["prior"] <= 20 / (24 + 20)
    save(ranker, tmp_path / "model.dr")
    assert load(tmp_path / "model.dr").predict(VALI).tobytes() == ranker.predict(VALI).tobytes()


def test_the_prior_is_added_to_scores_in_units_of_held_out_queries():
    """Stumps spread documents that they have learned from more than others."""
    ranker = AutoRanker("AP", members="frank", prior=1).fit(TRAIN)
    rounds, share = ranker.members_[0]["rounds"], ranker.shares_["prior"]
    unit = held_out_deviation(FRank(rounds=rounds, keep="last"), TRAIN)
    (stumps,) = ranker.rankers_
    first = TRAIN.X[:, 0].astype(np.float64)
    parts = [TRAIN.to_inner(scores) for scores in (stumps.predict(TRAIN), first)]
    of_stumps, of_first = (mean_deviation(part, TRAIN.queries.indptr) for part in parts)
    by_hand = (1 - share) * stumps.predict(TRAIN) / (of_stumps * unit) + share * first / of_first
    less = ranker.predict(TRAIN) - by_hand
    np.testing.assert_allclose(less - less[0], 0.0, atol=1e-6)
    assert unit < 0.99


BOTH = QueryGroups(
    np.concatenate([TRAIN.X, VALI.X]),
    np.concatenate([TRAIN.relevance, VALI.relevance]),
    np.concatenate([TRAIN.qid, VALI.qid + 100]),
)


def test_an_ensemble_is_refitted_with_the_rounds_of_its_members():
    rounds = FRank(rounds=20).fit(TRAIN, eval_set=VALI).rounds_
    members = RankSVM(penalty=0.1).fit(BOTH), FRank(rounds=rounds, keep="last").fit(BOTH)
    by_hand = np.zeros(VALI.n_docs)
    for each in members:
        scores = BOTH.to_inner(each.predict(BOTH))
        by_hand += each.predict(VALI) / mean_deviation(scores, BOTH.queries.indptr)
    ranker = Ensemble([RankSVM(penalty=0.1), FRank(rounds=20)]).fit(TRAIN, eval_set=VALI, refit=True)
    np.testing.assert_allclose(ranker.predict(VALI), by_hand, rtol=1e-5)
    assert ranker.message_.endswith("trained at the end on all 24 queries (12 training, 12 validation)")


def test_joined_queries_keep_names_and_confidence_and_refuse_unlike_labels():
    parts = [
        QueryGroups([[1.0], [2.0]], [0, 1], ["a", "a"], docid=["x", "y"]),
        QueryGroups([[3.0], [4.0]], [1, 0], ["a", "a"], docid=["u", "v"]),
    ]
    together = QueryGroups.concatenate(parts)
    assert (together.n_queries, together.X.ravel().tolist()) == (2, [1.0, 2.0, 3.0, 4.0])
    assert (together.relevance.tolist(), together.docid.tolist()) == ([0, 1, 1, 0], ["x", "y", "u", "v"])
    ranked = QueryGroups([[3.0], [4.0]], ObservedRankings([1, 2]), ["b", "b"])
    with pytest.raises(DataError, match="unlike labels"):
        QueryGroups.concatenate([parts[0], ranked])


def test_refit_trains_members_on_both_sets_and_the_message_says_so():
    ranker = AutoRanker("AP", members="ranksvm(penalty=0.1)", prior=None).fit(TRAIN, eval_set=VALI)
    alone = RankSVM(penalty=0.1).fit(BOTH)
    scores = BOTH.to_inner(alone.predict(BOTH))
    by_hand = alone.coef_ / mean_deviation(scores, BOTH.queries.indptr)
    np.testing.assert_allclose(ranker.coef_, by_hand, rtol=1e-6)
    assert ranker.message_.endswith("trained at the end on all 24 queries (12 training, 12 validation)")
    kept = AutoRanker("AP", members="ranksvm(penalty=0.1)", prior=None, refit=False)
    kept.fit(TRAIN, eval_set=VALI)
    assert "at the end" not in kept.message_
    np.testing.assert_allclose(kept.rankers_[0].coef_, RankSVM(penalty=0.1).fit(TRAIN).coef_, rtol=1e-6)


def test_one_query_chooses_no_grid():
    """A validation set of one query and two of training: all three judge, each out of fold."""
    ranker = AutoRanker("AP", members="ranksvm").fit(TRAIN.select([1, 2]), eval_set=VALI.select([0]))
    assert "nan" not in ranker.message_
    assert "3 queries out of fold" in ranker.message_
    (member,) = ranker.members_
    train, vali, figures = TRAIN.select([1, 2]), VALI.select([0]), {}
    for penalty in (1.0, 0.1, 0.01, 0.001):
        folds = [(train, vali), *((train.select([1 - k]), train.select([k])) for k in (0, 1))]
        fits = [(RankSVM(penalty=penalty, select_by="AP").fit(some), judged) for some, judged in folds]
        figures[penalty] = np.mean([evaluate(judged, fit.predict(judged))["AP"] for fit, judged in fits])
    assert member["validation"] == pytest.approx(max(figures.values()))


def test_warnings_of_points_that_were_not_chosen_are_not_printed():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        AutoRanker("AP", members="trees-xendcg", refit=False).fit(TRAIN, eval_set=VALI)
    texts = [str(each.message) for each in caught]
    assert len(texts) == len(set(texts))
