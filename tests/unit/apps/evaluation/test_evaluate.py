"""What `evaluate` accepts, returns and refuses."""

import warnings

import numpy as np
import pytest

from directrank import evaluate, evaluate_runs
from directrank.data.grouping import group_rows
from directrank.data.groups import QueryGroups
from directrank.errors import DataError
from directrank.measures import AP, NDCG, WPD, P, mean_value, mean_values

# Query a: relevant at 1 and 3 of 3. Query b: nothing relevant. Query c: relevant at 2 of 2.
RELEVANCE = [1, 0, 2, 0, 0, 0, 1]
SCORES = [3.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0]
QID = ["a", "a", "a", "b", "b", "c", "c"]
AP_A, AP_C = (1 + 2 / 3) / 2, 1 / 2


def ours(**options):
    return evaluate(RELEVANCE, SCORES, QID, **options)


def test_means_by_name():
    result = ours(measures=["AP", "P@2", "RR"])
    assert result["AP"] == pytest.approx((AP_A + 0 + AP_C) / 3, rel=1e-15)
    assert result["P@2"] == pytest.approx((1 / 2 + 0 + 1 / 2) / 3, rel=1e-15)
    assert result["RR"] == pytest.approx((1 + 0 + 1 / 2) / 3, rel=1e-15)
    assert list(result) == ["AP", "P@2", "RR"]
    assert len(result) == 3
    assert (result.n_queries, result.n_empty, result.convention) == (3, 1, "standard")
    assert (result.ties, result.empty) == ("expected", "zero")
    assert result.qid.tolist() == ["a", "b", "c"]
    assert result.per_query is None


def test_discounted_gains_by_hand():
    """Gains are 2^y − 1, and the first rank has the discount 1 / log2(2) = 1."""
    result = evaluate([1, 0, 2], [3.0, 2.0, 1.0], ["a"] * 3, measures=["DCG", "DCG@1", "nDCG", "nDCG@1"])
    assert result["DCG"] == pytest.approx(1 + 3 / 2, rel=1e-15)
    assert result["DCG@1"] == 1.0
    assert result["nDCG"] == pytest.approx((1 + 3 / 2) / (3 + 1 / np.log2(3)), rel=1e-15)
    assert result["nDCG@1"] == pytest.approx(1 / 3, rel=1e-15)  # the ideal has the cutoff, too


def test_the_least_relevant_grade_by_hand():
    result = evaluate(
        [1, 0, 2], [3.0, 2.0, 1.0], ["a"] * 3, measures=["AP(rel=2)", "P(rel=2)@1", "RR(rel=2)"]
    )
    assert list(result.values()) == [1 / 3, 0.0, 1 / 3]


@pytest.mark.parametrize(
    ("empty", "mean"),
    [("zero", (AP_A + AP_C) / 3), ("one", (AP_A + 1 + AP_C) / 3), ("skip", (AP_A + AP_C) / 2)],
)
def test_empty_queries(empty, mean):
    assert ours(measures="AP", empty=empty)["AP"] == pytest.approx(mean, rel=1e-15)


def test_values_of_queries():
    result = ours(measures="AP", per_query=True)
    assert result.per_query["AP"].tolist() == pytest.approx([AP_A, 0, AP_C], rel=1e-15)
    skipped = ours(measures="AP", per_query=True, empty="skip").per_query["AP"]
    assert np.isnan(skipped).tolist() == [False, True, False]


# Three queries: one right and two wrong pairs; no relevant document; one grade. Eq. (12) over no pairs is 0.
PAIRS = ([0, 2, 1, 0, 0, 1, 1], [3.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0], list("aaabbcc"))


@pytest.mark.parametrize("convention", ["standard", "letor3", "lightgbm", "xgboost"])
def test_errors_over_no_pairs_are_0_in_every_convention(convention):
    result = evaluate(*PAIRS, measures=["WPD", "ZeroOne"], convention=convention)
    assert result["WPD"] == pytest.approx(2 / 9)
    assert result["ZeroOne"] == pytest.approx(1 / 3)


def test_complements_of_errors_over_no_pairs_follow_empty():
    names = ["WPD(complement=1)", "ZeroOne(complement=1)"]
    for empty, value in (("zero", 0.0), ("one", 1.0)):
        result = evaluate(*PAIRS, measures=names, empty=empty, per_query=True)
        assert result.per_query[names[0]].tolist() == pytest.approx([1 / 3, value, value])
        assert result.per_query[names[1]].tolist() == [0, value, value]


def test_errors_are_printed_as_errors():
    # Query a has the pairs (2, 1), (2, 0), (1, 0): two wrong, one right. Query c: its pair is wrong.
    result = ours(measures=["WPD", "WPD(complement=1)", "ZeroOne"], per_query=True, empty="skip")
    assert result.per_query["WPD"][[0, 2]].tolist() == pytest.approx([2 / 3, 1])
    assert result.per_query["WPD(complement=1)"][[0, 2]].tolist() == pytest.approx([1 / 3, 0])
    assert result["ZeroOne"] == 1
    # What trains and selects is the agreement, larger is better.
    queries, order = group_rows(np.array(RELEVANCE, float), np.array(QID))
    assert mean_value(WPD(), queries, np.array(SCORES)[order]) == pytest.approx((1 / 3 + 0 + 0) / 3)
    assert result["WPD"] == pytest.approx(1 - result["WPD(complement=1)"], rel=1e-15)


def test_err_takes_the_largest_grade_of_the_data_and_says_so():
    result = ours(measures=["ERR@20"])
    assert result.computed["ERR@20"].name == "ERR(max=2)@20"
    assert "ERR(max=2)@20" in repr(result)
    # Query a: stop with 1/4 at 1, with 3/4 at 3. Query c: with 1/4 at 2.
    assert result["ERR@20"] == pytest.approx((1 / 4 + 3 / 4 * 3 / 4 / 3 + 1 / 4 / 2) / 3, rel=1e-15)
    told = ours(measures=["ERR@20"], max_grade=4)
    assert told.computed["ERR@20"].name == "ERR(max=4)@20"
    assert told["ERR@20"] == pytest.approx((1 / 16 + 15 / 16 * 3 / 16 / 3 + 1 / 16 / 2) / 3, rel=1e-15)
    assert ours(measures=["ERR(max=3)"], max_grade=4).computed["ERR(max=3)"].name == "ERR(max=3)"


def test_accepts_query_groups_with_scores_in_row_order():
    shuffled = np.random.default_rng(0).permutation(len(QID))
    groups = QueryGroups(np.zeros((len(QID), 1)), np.array(RELEVANCE)[shuffled], np.array(QID)[shuffled])
    result = evaluate(groups, np.array(SCORES)[shuffled], measures=["AP", "RR"])
    assert dict(result) == dict(ours(measures=["AP", "RR"]))
    with pytest.raises(DataError, match="give no others"):
        evaluate(groups, SCORES, QID)


def test_measures_to_which_every_document_is_relevant_are_named():
    grades, scores, qid = [1, 4, 2, 1], [1.0, 2.0, 3.0, 4.0], list("aabb")
    message = r"^AP, RR@10, P@5: every document has a grade of 1 or more, .* such as AP\(rel=4\), or judge"
    with pytest.warns(UserWarning, match=message):
        found = evaluate(grades, scores, qid, measures=["AP", "RR@10", "P@5", "nDCG@5", "SetP", "AP(rel=2)"])
    assert found["AP"] == evaluate(grades, scores[::-1], qid, measures="AP")["AP"] == 1
    with pytest.warns(UserWarning, match="^AP: every document .* same value; judge documents that are not"):
        evaluate([1, 1], [1.0, 2.0], ["a", "a"], measures="AP")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluate([1, 1, 0], [1.0, 2.0, 3.0], list("aab"), measures="AP")
        evaluate([1, 1], [1.0, 2.0], list("ab"), measures="AP")
    assert not caught


def test_the_text_says_that_all_scores_are_equal():
    tied = evaluate([1, 0, 0, 1], [0.0, 0, 0, 0], [1, 1, 2, 2], measures="AP")
    assert tied.all_tied
    assert "; the scores of every query are all equal (ties expected)" in repr(tied)
    for scores, retrieved, all_tied in (
        ([5.0, 5, 2, 2], None, True), ([5.0, 5, 2, 1], None, False), ([5.0, 1, 2, 1], [1, 0, 1, 0], False),
        ([5.0, 5, 2, 1], [1, 1, 1, 0], True),
    ):  # fmt: skip
        which = None if retrieved is None else np.array(retrieved, bool)
        found = evaluate([1, 0, 0, 1], scores, [1, 1, 2, 2], measures="AP", retrieved=which)
        assert found.all_tied == all_tied
    assert not evaluate([1, 0], [0.0, 0.0], [1, 2], measures="AP").all_tied
    grades, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 0.5, "b": 0.5}}
    # By names of documents, as trec_eval, no value is a mean over orders.
    line = "^r: the scores of every query are all equal, so that values of the convention standard are means"
    for convention in ("standard", "trec_eval"):
        with pytest.warns(UserWarning, match=line):
            evaluate_runs(grades, {"r": run}, measures="AP", convention=convention)
    assert repr(evaluate([1, 0], [1.0, 0.0], [1, 1], measures="AP")).startswith("1 query, 0 of them without")


def test_a_value_has_every_name_of_its_measure():
    grades, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 0.5, "b": 0.7}}
    result = evaluate_runs(grades, {"r": run}, measures="map")
    assert [result.mean("r", name, "standard") for name in ("map", "AP", "MAP")] == [0.5] * 3
    with pytest.raises(ValueError, match="no measure is called 'mep'"):
        result.mean("r", "mep", "standard")


def test_mean_value_is_the_standard_convention():
    queries, order = group_rows(np.array(RELEVANCE, float), np.array(QID))
    inner = np.array(SCORES)[order]
    for measure in (AP(), NDCG(2), P(2)):
        assert mean_value(measure, queries, inner) == ours(measures=measure)[measure.name]
    weights = np.array([1.0, 2.0, 5.0])
    assert mean_value(AP(), queries, inner, weights) == ours(measures="AP", query_weight=weights)["AP"]
    assert mean_values([AP(), P(2)], queries, inner) == list(ours(measures=["AP", "P@2"]).values())
