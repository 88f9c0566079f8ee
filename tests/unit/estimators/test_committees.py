"""Ensembles and the automatic committee: what is averaged, what is chosen and on what evidence."""

import numpy as np
import pytest

from directrank import (
    AutoRanker,
    Ensemble,
    ListNet,
    QueryGroups,
    RankSVM,
    Regression,
    evaluate,
    load,
    make_ranking,
    save,
)
from directrank.errors import DataError
from directrank.estimators.committees import Trained, kept_members
from directrank.estimators.method import Configured, Method
from directrank.measures import parse_measure
from directrank.measures.evaluation.batches import values_of
from directrank.scorers.committee import standardised_scores

QUICK = "regression,ranksvm,listnet"
GROUPS = make_ranking(n_queries=30, docs_per_query=10, n_features=4, random_state=5)
OTHERS = make_ranking(n_queries=12, docs_per_query=10, n_features=4, random_state=6)


def standardised(ranker, groups):
    scores = groups.to_inner(ranker.predict(groups))
    return groups.to_caller(standardised_scores(scores, groups.queries.indptr))


def test_an_ensemble_averages_standardised_scores_of_its_members():
    ensemble = Ensemble([RankSVM(penalty=0.1), ListNet(), Regression()]).fit(GROUPS)
    by_hand = np.mean([standardised(each, OTHERS) for each in ensemble.rankers_], axis=0)
    np.testing.assert_allclose(ensemble.predict(OTHERS), by_hand, rtol=1e-12, atol=1e-12)
    alone = RankSVM(penalty=0.1).fit(GROUPS)
    assert alone.scorer_.coefficients.tobytes() == ensemble.rankers_[0].scorer_.coefficients.tobytes()


def test_rows_with_their_qid_score_as_the_queries():
    ensemble = Ensemble([RankSVM(), Regression()]).fit(GROUPS)
    turned = np.random.default_rng(0).permutation(OTHERS.n_docs)
    scores = ensemble.predict(OTHERS.X[turned], qid=OTHERS.qid[turned])
    assert scores.tobytes() == ensemble.predict(OTHERS)[turned].tobytes()
    with pytest.raises(DataError, match="qid is missing"):
        ensemble.predict(OTHERS.X)


def test_an_ensemble_of_nothing_is_refused():
    with pytest.raises(ValueError, match="Ensemble needs rankers"):
        Ensemble().fit(GROUPS)


@pytest.mark.parametrize("ranker", [AutoRanker("AP", members=QUICK), Ensemble([RankSVM(), Regression()])])
def test_a_saved_committee_predicts_bit_for_bit(ranker, tmp_path):
    ranker.fit(GROUPS, eval_set=OTHERS)
    save(ranker, tmp_path / "model.dr")
    assert load(tmp_path / "model.dr").predict(OTHERS).tobytes() == ranker.predict(OTHERS).tobytes()


def test_the_validation_set_chooses_the_parameters_of_every_member():
    ranker = AutoRanker("AP", members="ranksvm").fit(GROUPS, eval_set=OTHERS)
    figures = {
        penalty: evaluate(OTHERS, RankSVM(penalty=penalty, select_by="AP").fit(GROUPS).predict(OTHERS))["AP"]
        for penalty in (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4)
    }
    (member,) = ranker.members_
    assert member["validation"] == pytest.approx(max(figures.values()), rel=1e-12)
    assert figures[member["parameters"]["penalty"]] == max(figures.values())


def test_without_a_validation_set_members_are_trained_again_on_all_queries():
    ranker = AutoRanker("AP", members="regression,listnet").fit(GROUPS)
    regression = Regression().fit(GROUPS)
    np.testing.assert_array_equal(ranker.scorer_.members[0].coefficients, regression.coef_)
    assert "(standard error" in ranker.message_
    assert "6 queries" in ranker.message_
    with pytest.raises(DataError, match="too few to hold out"):
        AutoRanker("AP", members="regression,listnet").fit(GROUPS.select(np.arange(4)))


def test_without_a_validation_set_no_member_is_judged_on_queries_that_it_was_trained_on():
    """With a feature for each document, least squares ranks right what it was trained on, and ties others."""
    known = QueryGroups(np.eye(160, dtype=np.float32), [2, 1, 0, 0, 0, 0, 0, 1] * 20, np.arange(160) // 8)
    assert evaluate(known, Regression().fit(known).predict(known), measures="AP")["AP"] == 1.0
    ranker = AutoRanker("AP", members="regression,regression").fit(known)
    tied = evaluate(known, np.zeros(known.n_docs), measures="AP")["AP"]
    assert [each["validation"] for each in ranker.members_] == pytest.approx([tied, tied])


def trained(name, scores, groups, measure):
    inner = standardised_scores(scores, groups.queries.indptr)
    (values,) = values_of([measure], groups.queries, inner)
    method = Configured(name, Method(name, Regression), None, "AP")
    return Trained(method, {}, Regression(), values, inner)


def test_a_member_leaves_only_if_the_committee_is_significantly_better_without_it():
    measure, rng = parse_measure("nDCG@10"), np.random.default_rng(2)
    groups = make_ranking(n_queries=60, docs_per_query=12, random_state=7)
    truth = groups.queries.relevance

    def noisy(amount):
        return truth + amount * rng.normal(size=len(truth))

    good = [trained(f"good {each}", noisy(1.0), groups, measure) for each in range(3)]
    reverse = trained("reverse", -2.0 * truth, groups, measure)
    weaker = trained("weaker", noisy(1.2), groups, measure)
    assert kept_members([*good, reverse], measure, groups) == good
    assert kept_members([*good, weaker], measure, groups) == [*good, weaker]
    # Two members cannot be told apart by leaving one out.
    assert kept_members([good[0], reverse], measure, groups) == [good[0], reverse]


@pytest.mark.parametrize(("wrong", "leaves"), [(4, False), (6, True)])
def test_the_level_is_corrected_for_the_number_of_members(wrong, leaves):
    """Of 20 queries with two documents, AP rises from ½ to 1 in `wrong` if one of three members leaves.

    The one-sided p-values of Student's test are .021 and .0051: three times .021 is above .05.
    """
    groups = QueryGroups(np.zeros((40, 1)), [1, 0] * 20, np.arange(40) // 2)
    measure = parse_measure("AP")
    reverse = np.zeros((20, 2))
    reverse[:wrong, 0] = -3.0
    right, method = np.tile([1.0, 0.0], 20), Configured("some", Method("some", Regression), None, "AP")
    found = [
        Trained(method, {}, Regression(), np.zeros(20), scores) for scores in (right, right, reverse.ravel())
    ]
    kept = kept_members(found, measure, groups)
    assert [each is kept_one for each, kept_one in zip(found, kept, strict=False)] == [True] * len(kept)
    assert len(kept) == (2 if leaves else 3)


def test_what_was_done_is_told_and_the_same_for_any_number_of_threads():
    one = AutoRanker("nDCG@10", members=QUICK, n_jobs=1).fit(GROUPS, eval_set=OTHERS)
    two = AutoRanker("nDCG@10", members=QUICK, n_jobs=2).fit(GROUPS, eval_set=OTHERS)
    assert one.predict(OTHERS).tobytes() == two.predict(OTHERS).tobytes()
    assert [each["name"] for each in one.members_] == QUICK.split(",")
    assert "committee of 3: validation nDCG@10" in one.message_
    assert [row["member"] for row in one.history_] == QUICK.split(",")


def test_weights_of_queries_reach_every_member():
    weights = np.arange(1.0, GROUPS.n_queries + 1)
    ranker = AutoRanker("AP", members=QUICK).fit(GROUPS, sample_weight=weights, eval_set=OTHERS)
    alone = Regression().fit(GROUPS, sample_weight=weights)
    np.testing.assert_array_equal(ranker.scorer_.members[0].coefficients, alone.coef_)


def test_unknown_members_are_refused_by_name():
    with pytest.raises(ValueError, match="did you mean ranksvm"):
        AutoRanker(members="ranksvn").fit(GROUPS)
    with pytest.raises(ValueError, match="no method is called 'auto'"):
        AutoRanker(members="auto").fit(GROUPS)
    with pytest.raises(ValueError, match="members is empty"):
        AutoRanker(members=" ").fit(GROUPS)
