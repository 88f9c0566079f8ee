"""Labels, training and evaluation from clicks: by hand, and on simulated logs."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import skew
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from threadpoolctl import threadpool_limits

from directrank import (
    ApproxRank,
    AutoRanker,
    CoordinateAscent,
    LambdaLoss,
    LambdaRank,
    ListMLE,
    ListNet,
    PLRank,
    QueryGroups,
    RankSVM,
    evaluate,
    make_ranking,
)
from directrank.apps.clicks import (
    ClickLog,
    Propensities,
    click_chances,
    click_credits,
    click_measure,
    estimate_propensities,
    estimate_trust,
    evaluate_clicks,
    label_clicks,
    make_clicks,
    never_shown,
    predict_labels,
)
from directrank.apps.clicks.counterfactual import _in_intervals, places_of
from directrank.data import RealLabels
from directrank.errors import DataError, MeasureNameError
from directrank.surrogates.objective import takes_real_labels


def known(*p: float) -> Propensities:
    return Propensities("given", np.arange(1, len(p) + 1), np.array(p), (tuple(range(1, len(p) + 1)),))


# Query q was answered 10 times: 6 times a, b and 4 times b, a.
ROWS = [("q", "a", 1, 6, 3), ("q", "a", 2, 4, 1), ("q", "b", 1, 4, 1), ("q", "b", 2, 6, 3)]
LOG = ClickLog.of_counts(*map(list, zip(*ROWS, strict=True)))


def test_labels_by_hand():
    p = known(1.0, 0.5)
    # a was examined 6 + 2 times and clicked 4 times, b 4 + 3 and 4.
    assert click_credits(LOG, p).label == pytest.approx([4 / 8, 4 / 7])
    # Each click over its propensity, a page: (3 + 1/.5) / 10 and (1 + 3/.5) / 10.
    assert click_credits(LOG, p, "ips").label == pytest.approx([0.5, 0.7])
    assert click_credits(LOG, None, "naive").label == pytest.approx([0.4, 0.4])
    clipped = click_credits(LOG, p, "ips", clip=0.8)
    assert clipped.label == pytest.approx([(3 + 1 / 0.8) / 10, (1 + 3 / 0.8) / 10])
    assert clipped.clipped == pytest.approx(4 / 8)
    trust = Propensities("trust", p.position, p.propensity, p.components, offset=np.array([0.0, 0.1]))
    assert click_credits(LOG, trust).label == pytest.approx([(4 - 0.4) / 8, (4 - 0.6) / 7])
    assert click_credits(LOG, trust, "ips").label == pytest.approx(
        [(3 + 0.6 / 0.5) / 10, (1 + 2.4 / 0.5) / 10]
    )


def assert_slopes_are_derivatives(*how):
    """The slopes of labels, beside differences by the logarithm of each propensity."""
    step = 1e-6
    for rank in (1, 2):
        ends = []
        for sign in (-1, 1):
            theta = np.log([1.0, 0.5])
            theta[rank - 1] += sign * step
            ends.append(click_credits(LOG, known(*np.exp(theta)), *how).label)
        found = click_credits(LOG, known(1.0, 0.5), *how)
        slopes = np.bincount(LOG.item, found.slope * (LOG.rank == rank), LOG.n_items)
        assert slopes == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=1e-5)


@pytest.mark.parametrize("how", ["policy", "ips"])
def test_slopes_of_labels_are_their_derivatives(how):
    assert_slopes_are_derivatives(how)


def test_a_difference_by_hand():
    # The run shows b first. Weights of ranks are 1 and 1/log2(3) =: h. The log gave a 0.6 + 0.4 h.
    h = 1 / np.log2(3)
    (row,) = evaluate_clicks(LOG, known(1.0, 0.5), {"run": (["q", "q"], ["b", "a"], [2.0, 1.0])})
    assert row.value == pytest.approx(4 / 7 + h * 4 / 8)
    change_a, change_b = h - (0.6 + 0.4 * h), 1 - (0.4 + 0.6 * h)
    assert row.difference == pytest.approx(change_a * 4 / 8 + change_b * 4 / 7)
    assert row.naive == pytest.approx(0.4 * (change_a + change_b), abs=1e-12)
    error = np.sqrt(4 * (change_a / 8) ** 2 + 4 * (change_b / 7) ** 2)
    assert row.by_sessions[1] - row.difference == pytest.approx(1.959964 * error, rel=1e-5)
    # Clicks weigh |change| / examined.
    x = np.repeat(np.abs([change_a / 8, change_b / 7]), 4)
    assert row.effective == pytest.approx(x.sum() ** 2 / (x**2).sum())
    assert row.largest == pytest.approx(x.max() / x.sum())
    assert row.unseen == 0
    assert any("effective clicks" in flag for flag in row.flags())


def test_the_skewness_is_that_of_what_queries_add():
    clicks = (2, 5, 3, 9, 4)  # of a, shown first; b has 1 click a query
    rows = [(f"q{q}", d, k, 10, c) for q, a in enumerate(clicks) for d, k, c in (("a", 1, a), ("b", 2, 1))]
    log = ClickLog.of_counts(*map(list, zip(*rows, strict=True)))
    turned = {f"q{q}": {"a": 0.0, "b": 1.0} for q in range(5)}
    (row,) = evaluate_clicks(log, known(1.0, 1.0), {"turned": turned})
    assert row.skewness == pytest.approx(skew([1 - a for a in clicks]))
    assert row.difference < 0
    # Errors of propensities are no skewness: they add to the variance alone.
    uncertain = replace(known(1.0, 1.0), covariance=np.diag([0.0, 4.0]))
    (other,) = evaluate_clicks(log, uncertain, {"turned": turned})
    assert other.skewness == pytest.approx(row.skewness * (row.error / other.error) ** 3)
    assert other.error > 1.1 * row.error


def test_errors_of_propensities_are_carried():
    p = known(1.0, 0.5)
    covariance = np.diag([0.0, 0.04])
    with_errors = Propensities("given", p.position, p.propensity, p.components, covariance)
    run = {"run": (["q", "q"], ["b", "a"], [2.0, 1.0])}
    (row,), (sure,) = evaluate_clicks(LOG, with_errors, run), evaluate_clicks(LOG, p, run)
    step = 1e-6
    ends = [evaluate_clicks(LOG, known(1.0, 0.5 * np.exp(e)), run)[0].difference for e in (-step, step)]
    slope = (ends[1] - ends[0]) / (2 * step)
    widths = [(each.by_sessions[1] - each.difference) / 1.959964 for each in (row, sure)]
    assert widths[0] ** 2 - widths[1] ** 2 == pytest.approx(slope**2 * 0.04, rel=1e-4)


def test_ties_unseen_documents_and_baselines():
    h = 1 / np.log2(3)
    rankings = {
        "tied": (["q", "q"], ["a", "b"], [1.0, 1.0]),
        "new": (["q", "q", "q"], ["z", "a", "b"], [3.0, 2.0, 1.0]),
    }
    tied, new = evaluate_clicks(LOG, known(1.0, 0.5), rankings, baseline="tied")
    assert tied.value == pytest.approx((1 + h) / 2 * (4 / 8 + 4 / 7))
    assert tied.difference == 0
    assert new.unseen == pytest.approx(1 / (1 + h))  # pages show two documents
    assert any("never showed" in flag for flag in new.flags())
    for wrong, match in (
        ({"x": (["r"], ["a"], [1.0])}, "none of its queries"),
        ({"x": (["q"], ["z"], [1.0])}, "none of its documents"),
        ({"x": (["q", "q"], ["a", "a"], [1.0, 2.0])}, "x: document 'a' is twice in the ranking of query 'q'"),
        ({"x": (["q"] * 3, ["z", "a", "z"], [3.0, 2.0, 1.0])}, "document 'z' is twice"),  # not in the log
    ):
        with pytest.raises(DataError, match=match):
            evaluate_clicks(LOG, known(1.0, 0.5), wrong)
    with pytest.raises(DataError, match="no ranking is called 'y'"):
        evaluate_clicks(LOG, known(1.0, 0.5), rankings, baseline="y")
    deep = ClickLog.of_counts(["q", "q"], ["a", "b"], [1, 3], [5, 5], [2, 1])
    with pytest.raises(DataError, match="has rank 3, but propensities are of ranks 1-2;"):
        evaluate_clicks(deep, known(1.0, 0.5), rankings)
    with pytest.raises(DataError, match="rank 1 alone was shown"):
        evaluate_clicks(LOG, known(1.0), rankings)


def test_measures_that_are_not_affine_are_refused_by_name():
    assert [click_measure(name).name for name in ("DCG@10", "P@5", "RBP(p=0.5)@3", "WTA", "ClickDCG")] == [
        "ClickDCG@10", "ClickP@5", "ClickRBP(p=0.5)@3", "ClickP@1", "ClickDCG",
    ]  # fmt: skip
    for name in ("AP", "nDCG@10", "ERR@20", "RR", "R@10"):
        with pytest.raises(MeasureNameError, match=f"{name} cannot be estimated from clicks.*affine"):
            click_measure(name)


def test_measures_of_real_labels_by_hand():
    X = np.zeros((3, 1))
    groups = QueryGroups(X, RealLabels([0.5, -0.25, 2.0]), ["q"] * 3)
    scores = np.array([3.0, 2.0, 1.0])
    values = evaluate(groups, scores, measures=["ClickDCG@2", "ClickDCG", "ClickP@2", "ClickRBP(p=0.5)"])
    h = 1 / np.log2(3)
    assert list(dict(values).values()) == pytest.approx(
        [0.5 - 0.25 * h, 0.5 - 0.25 * h + 1.0, 0.125, 0.5 * (0.5 - 0.25 / 2 + 2 / 4)]
    )
    tied = evaluate(groups, np.zeros(3), measures="ClickDCG@1")["ClickDCG@1"]
    assert tied == pytest.approx(2.25 / 3)
    for name in ("nDCG@10", "AP", "DCG@10", "P@1"):
        with pytest.raises(DataError, match="takes no real labels"):
            evaluate(groups, scores, measures=name)
    for wrong in ([0.5, np.nan, 1.0], [1.0, 2.0]):
        with pytest.raises(DataError, match="label"):
            QueryGroups(X, RealLabels(wrong), ["q"] * 3)


GROUPS = make_ranking(60, 10, uneven=0, random_state=1)


@pytest.mark.share(3)
@pytest.mark.parametrize(
    "ranker",
    [
        CoordinateAscent("ClickDCG@10"), LambdaLoss("ClickDCG@10"), LambdaRank("ClickDCG@10"),
        ApproxRank("ClickDCG@10"), PLRank("ClickDCG@10"), RankSVM(weight="difference"),
    ],
    ids=lambda ranker: type(ranker).__name__,
)  # fmt: skip
def test_rankers_train_on_labels_below_0_and_a_constant_changes_nothing(ranker):
    labels = GROUPS.relevance / 4 - 0.4
    lower = QueryGroups(GROUPS.X, RealLabels(labels), GROUPS.qid)
    scores = ranker.fit(lower).predict(GROUPS)
    assert evaluate(GROUPS, scores, measures="nDCG@10")["nDCG@10"] > 0.85
    higher = QueryGroups(GROUPS.X, RealLabels(labels + 0.4), GROUPS.qid)
    # PLRank's steps follow the estimated value, and so the constant.
    assert np.corrcoef(ranker.fit(higher).predict(GROUPS), scores)[0, 1] > 0.99


@pytest.mark.parametrize("ranker", [ListNet(), ListMLE(), CoordinateAscent("AP")], ids=str)
def test_rankers_that_cannot_take_real_labels_refuse_by_name(ranker):
    groups = QueryGroups(GROUPS.X, RealLabels(GROUPS.relevance - 1), GROUPS.qid)
    with pytest.raises(DataError, match="takes no real labels of logs"):
        ranker.fit(groups)


def test_auto_names_its_members_that_read_grades_and_members_that_take_clicks():
    groups = QueryGroups(GROUPS.X, RealLabels(GROUPS.relevance - 1), GROUPS.qid)
    with pytest.raises(
        DataError, match=r"auto: members that read grades .*: listnet\. .*'members="
    ) as caught:
        AutoRanker("ClickDCG@10", members="ranksvm,listnet").fit(groups)
    (members,) = re.findall("'members=(.*?)'", str(caught.value))
    assert AutoRanker("ClickDCG@10", members=members).checked()
    for method in AutoRanker("ClickDCG@10", members=members).candidates():
        assert takes_real_labels(method[0].build().components()[0])


def covered(seed: int, groups: QueryGroups, new: np.ndarray) -> tuple[bool, bool, np.ndarray]:
    """Whether intervals of a difference, with and without the errors of p, and those of p cover the truth."""
    log = make_clicks(groups, {"a": groups.X[:, 0], "b": groups.X[:, 1]}, sessions=20_000, random_state=seed)
    p = estimate_propensities(log, test=False)
    truth = known(*(1 / p.position))
    sure = Propensities("", p.position, p.propensity, p.components)
    rows = [evaluate_clicks(log, each, {"new": (groups, new)})[0] for each in (p, sure)]
    names = zip(groups.qid.astype(str), np.arange(1, groups.n_docs + 1).astype(str), strict=True)
    chance = dict(zip(names, click_chances(groups), strict=True))
    qid, docid, shown = log.qid[log.query[log.item]], log.docid[log.item], log.impressions * 10**6
    rates = [chance[str(q), str(d)] / k for q, d, k in zip(qid, docid, log.rank, strict=True)]
    exact = ClickLog.of_counts(qid, docid, log.rank, shown, np.round(shown * rates).astype(np.int64))
    value = evaluate_clicks(exact, truth, {"new": (groups, new)})[0].difference
    low, high = p.interval()
    inside = (low <= truth.propensity) & (truth.propensity <= high)
    return *(row.by_sessions[0] <= value <= row.by_sessions[1] for row in rows), inside[1:]


@pytest.mark.heavy
def test_intervals_cover():
    # With 150 seeds the share of a true 95 % is at least .90 with probability .99.
    groups = make_ranking(60, 8, uneven=0, random_state=2)
    new = CoordinateAscent("nDCG@10").fit(groups).predict(groups)
    with_errors, without, curves = zip(*(covered(seed, groups, new) for seed in range(150)), strict=True)
    assert np.mean(with_errors) >= 0.90
    assert np.mean(curves) >= 0.92
    assert np.mean(without) < np.mean(with_errors)


def test_under_trust_bias_differences_are_right_up_to_a_factor():
    R = np.array([[0.9, 0.5, 0.3, 0.1], [0.2, 0.7, 0.4, 0.6], [0.1, 0.15, 0.8, 0.3]])
    alpha, beta, n = np.array([0.8, 0.4, 0.3, 0.2]), np.array([0.15, 0.05, 0.01, 0.0]), 10**6
    rows = [
        (f"q{q}", f"d{d}", k + 1, n, round(n * (alpha[k] * R[q, d] + beta[k])))
        for q in range(3) for d in range(4) for k in range(4) if k != (d + q + 3) % 4
    ]  # fmt: skip
    log = ClickLog.of_counts(*map(list, zip(*rows, strict=True)))
    qid, docid = np.repeat(["q0", "q1", "q2"], 4), np.tile(["d0", "d1", "d2", "d3"], 3)
    rng = np.random.default_rng(0)
    scores = {f"r{i}": rng.permuted(np.tile(np.arange(4.0), (3, 1)), axis=1) for i in range(9)}
    weights = 1 / np.log2(5 - np.arange(4.0))  # of the scores 0, 1, 2, 3
    truth = np.array([(weights[s.astype(int)] * R).sum() / 3 for s in scores.values()])
    rankings = {name: (qid, docid, s.ravel()) for name, s in scores.items()}
    rows = evaluate_clicks(log, estimate_trust(log), rankings, baseline="r0")
    found = np.array([row.difference for row in rows])
    factor = found @ (truth - truth[0]) / ((truth - truth[0]) ** 2).sum()
    assert factor > 0
    assert found == pytest.approx(factor * (truth - truth[0]), abs=5e-4)
    assert np.isfinite([row.by_sessions for row in rows]).all()
    plain = evaluate_clicks(log, estimate_propensities(log, test=False), rankings, baseline="r0")
    wrong = np.array([row.difference for row in plain])
    scale = wrong @ (truth - truth[0]) / ((truth - truth[0]) ** 2).sum()
    assert np.abs(wrong - scale * (truth - truth[0])).max() > 0.002


def test_doubly_robust_labels_by_hand():
    p, predicted = known(1.0, 0.5), np.array([0.2, 0.9])
    # a was examined 8 times and b 7 times on 10 pages: with a limit of .75 b has .7/.75 of its own label.
    found = click_credits(LOG, p, "dr", 0.75, predicted)
    assert found.label == pytest.approx([4 / 8, (0.7 / 0.75) * 4 / 7 + (0.05 / 0.75) * 0.9])
    # The definition: the prediction, corrected by clicks less predicted clicks over the examination a page.
    assert found.label[1] == pytest.approx(0.9 + (4 - 7 * 0.9) / (10 * 0.75))
    assert found.clipped == pytest.approx(4 / 8)
    assert click_credits(LOG, p, "dr", 0.0, predicted).label == pytest.approx(click_credits(LOG, p).label)
    assert_slopes_are_derivatives("dr", 0.75, predicted)
    with pytest.raises(ValueError, match="predict_labels"):
        click_credits(LOG, p, "dr")


def test_documents_that_were_never_shown_count_what_other_queries_predict():
    log = make_clicks(
        GROUPS, {"a": GROUPS.X[:, 0], "b": GROUPS.X[:, 1]}, n_ranks=6, sessions=100_000,
        random_state=0,
    )  # fmt: skip
    p = estimate_propensities(log, test=False)
    rounded = QueryGroups(GROUPS.X.round(1), GROUPS.relevance, GROUPS.qid)
    values = predict_labels(rounded, log, p)
    # Predictions of a query do not read its clicks: without it they are the same.
    first = log.qid[0]
    mine, part = GROUPS.qid.astype(str) == first, log.of_queries(log.qid != first)
    assert np.isin(log.qid, part.qid).sum() == 59
    labelled, _ = label_clicks(rounded, log, p, how="dr", scale=False)
    shown = {(q, d) for q, d in zip(log.qid[log.query].tolist(), log.docid.tolist(), strict=True)}
    names = list(zip(GROUPS.qid.astype(str).tolist(), np.arange(1, 601).astype(str).tolist(), strict=True))
    new = np.array([name not in shown for name in names])
    assert 50 < new.sum() < 300
    assert labelled.relevance[new] == pytest.approx(values[new])
    plain, _ = label_clicks(rounded, log, p, scale=False)
    assert labelled.relevance[~new] == pytest.approx(plain.relevance[~new])
    assert np.corrcoef(values, click_chances(GROUPS))[0, 1] > 0.5
    clicks = log.clicks.copy()
    clicks[log.query[log.item] == 0] = 0
    silent = replace(log, clicks=clicks)
    assert predict_labels(rounded, silent, p)[mine] == pytest.approx(values[mine])
    # A ranking of the documents by their chances, of which pages show 6: plain counts the new ones 0.
    best = {"best": (GROUPS, click_chances(GROUPS))}
    (without,), (robust,) = (
        evaluate_clicks(log, p, best),
        evaluate_clicks(log, p, best, how="dr", documents=GROUPS),
    )
    inner = evaluate(
        QueryGroups(GROUPS.X, RealLabels(click_chances(GROUPS)), GROUPS.qid), best["best"][1],
        measures="ClickDCG@6",
    )["ClickDCG@6"]  # fmt: skip
    assert without.unseen == robust.unseen > 0
    assert abs(robust.value - inner) < 0.5 * abs(without.value - inner)
    with pytest.raises(ValueError, match="need the documents"):
        evaluate_clicks(log, p, best, how="dr")


def test_a_page_may_leave_out_ranks():
    """With an advert at rank 2 labels and figures are those of the same clicks on ranks without a gap."""
    log = make_clicks(GROUPS, {"a": GROUPS.X[:, 0], "b": GROUPS.X[:, 1]}, n_ranks=6, random_state=0)
    gap = replace(log, rank=np.where(log.rank > 1, log.rank + 1, log.rank))
    p = estimate_propensities(log, test=False)
    of_gap = Propensities.of_dict(estimate_propensities(gap, test=False).to_dict())
    assert of_gap.position.tolist() == [1, 3, 4, 5, 6, 7]
    for how in ("policy", "ips", "dr"):
        labels, _ = label_clicks(GROUPS, log, p, how=how)
        assert label_clicks(GROUPS, gap, of_gap, how=how)[0].relevance == pytest.approx(labels.relevance)
    for name, ranking in {"new": (GROUPS, GROUPS.X[:, 2]), "shown": None}.items():
        (of_log,), (found,) = (
            evaluate_clicks(log, p, {name: ranking}),
            evaluate_clicks(gap, of_gap, {name: ranking}),
        )
        assert (found.value, found.difference) == pytest.approx((of_log.value, of_log.difference))
    with pytest.raises(DataError, match="has rank 7, but propensities are of ranks 1-6"):
        predict_labels(GROUPS, gap, p)


def intervals_by_definition(column: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Count the bounds below each value: the least values up to which t / 255 of the weight are."""
    present = ~np.isnan(column)
    values, weights = column[present], weight[present]
    distinct = np.unique(values)
    out = column.copy()
    if len(distinct) > 255:
        upto = np.array([weights[values <= value].sum() for value in distinct])
        bounds = [distinct[np.argmax(upto >= t / 255 * upto[-1] * (1 - 1e-12))] for t in range(1, 255)]
        out[present] = [np.sum(bounds < value) for value in values]
    return out


@pytest.mark.parametrize(
    "kind", ["plain", "no weights", "missing", "all missing", "constant", "255", "256", "ties"]
)
def test_intervals_have_equal_weight(kind):
    rng = np.random.default_rng(5)
    column, weight = rng.normal(size=900).astype(np.float32), rng.integers(0, 9, 900).astype(float)
    if kind == "no weights":
        weight[:] = 0.0
    elif kind in ("missing", "all missing"):
        column[:: 5 if kind == "missing" else 1] = np.nan
    elif kind == "constant":
        column[:] = 3.0
    elif kind in ("255", "256"):
        column = rng.permutation(np.arange(900) % int(kind)).astype(np.float32)
    elif kind == "ties":
        column[:400] = 0.0
    found = _in_intervals(column[:, None], weight)[:, 0]
    np.testing.assert_array_equal(found, intervals_by_definition(column, weight))
    assert np.array_equal(found, column, equal_nan=True) == (kind in ("all missing", "constant", "255"))


def test_predicted_labels_follow_the_order_of_values_alone(monkeypatch):
    log = make_clicks(GROUPS, {"a": GROUPS.X[:, 0], "b": GROUPS.X[:, 1]}, n_ranks=6, random_state=0)
    p, read = estimate_propensities(log, test=False), []
    fit = HistGradientBoostingRegressor.fit
    monkeypatch.setattr(
        HistGradientBoostingRegressor, "fit",
        lambda model, X, *labels: (read.append(X), fit(model, X, *labels))[1],
    )  # fmt: skip
    values = predict_labels(GROUPS, log, p)
    # Of more values, scikit-learn takes weighted percentiles one by one, which takes minutes.
    assert GROUPS.n_docs > 255
    assert len(read) == 5
    assert max(len(np.unique(column)) for X in read for column in X.T) <= 255
    curved = QueryGroups(np.exp(GROUPS.X), GROUPS.relevance, GROUPS.qid)
    assert np.array_equal(predict_labels(curved, log, p), values)
    X = GROUPS.X.copy()
    X[::7, 0] = np.nan
    with_missing = QueryGroups(X, GROUPS.relevance, GROUPS.qid)
    assert not np.array_equal(predict_labels(with_missing, log, p), values)
    assert np.isnan(read[-1][:, 0]).sum() == np.isnan(read[-1]).sum() > 0
    # Documents that the log does not have weigh nothing.
    shown = places_of(log, GROUPS.qid, np.arange(1, 601)) >= 0
    X = np.where(shown[:, None], GROUPS.X, 3.0 * GROUPS.X)
    others = predict_labels(QueryGroups(X, GROUPS.relevance, GROUPS.qid), log, p)
    assert np.array_equal(others[shown], values[shown])
    assert not np.array_equal(others, values)


def test_propensities_of_another_log_carry_their_errors_by_the_names_of_queries():
    log = make_clicks(GROUPS, {"a": GROUPS.X[:, 0], "b": GROUPS.X[:, 1]}, random_state=0)
    p, run = estimate_propensities(log, test=False), {"new": (GROUPS, GROUPS.relevance)}
    some = log.of_queries(np.arange(60) % 2 == 0)
    (row,) = evaluate_clicks(some, p, run)
    # By hand: terms of queries of the log with their influence, and the influence of the others.
    step, labels = 1e-5, []
    for k in range(p.propensity.size):
        ends = []
        for sign in (-1, 1):
            moved = p.propensity.copy()
            moved[k] *= np.exp(sign * step)
            ends.append(evaluate_clicks(some, replace(p, propensity=moved), run)[0].difference)
        labels.append((ends[1] - ends[0]) / (2 * step))
    sure = replace(p, covariance=None, influence=None)
    (bare,) = evaluate_clicks(some, sure, run)
    carried = np.array(labels) @ p.covariance @ np.array(labels)
    widths = [(each.by_sessions[1] - each.difference) / 1.959964 for each in (row, bare)]
    assert widths[0] ** 2 - widths[1] ** 2 == pytest.approx(carried, rel=1e-3)
    # Propensities of more ranks than the log has.
    (short,) = evaluate_clicks(log.first_ranks(4), p, run)
    assert np.isfinite(short.by_queries).all()
    assert np.isfinite([each for each in vars(short).values() if isinstance(each, float)]).all()


def test_the_interval_for_new_queries_is_that_of_a_jackknife_which_estimates_propensities_again():
    log = make_clicks(GROUPS, {"a": GROUPS.X[:, 0], "b": GROUPS.X[:, 1]}, sessions=2000, random_state=0)
    run, values = {"new": (GROUPS, GROUPS.relevance)}, []
    (row,) = evaluate_clicks(log, estimate_propensities(log, test=False), run)
    for query in range(60):
        part = log.of_queries(np.arange(60) != query)
        values.append(evaluate_clicks(part, estimate_propensities(part, test=False), run)[0].difference)
    error = np.sqrt(59 / 60 * ((np.array(values) - np.mean(values)) ** 2).sum())
    # The quantile of t of 59. Without the errors of propensities it would be .82 of this.
    assert row.by_queries[1] - row.difference == pytest.approx(2.000995 * error, rel=0.03)


def test_queries_without_a_ranking_are_said():
    rows = [*ROWS, ("r", "a", 1, 30, 3), ("r", "b", 2, 30, 3)]
    log = ClickLog.of_counts(*map(list, zip(*rows, strict=True)))
    (row,) = evaluate_clicks(log, known(1.0, 0.5), {"run": (["q", "q"], ["b", "a"], [2.0, 1.0])})
    assert row.absent == pytest.approx(0.75)
    assert "75.0% of answers are to queries without a ranking, counted 0" in row.flags()
    (mapped,) = evaluate_clicks(log, known(1.0, 0.5), {"run": {"q": {"a": 1.0, "b": 2.0}}})
    assert (mapped.value, mapped.by_sessions) == (row.value, row.by_sessions)
    with pytest.raises(DataError, match="none of its queries"):
        evaluate_clicks(log, known(1.0, 0.5), {"run": {}})


#: Without noise: documents of two contexts, whose curves differ, by orders that differ.
CONTEXTS = ClickLog.of_counts(
    ["q"] * 8, list("abba") * 2, [1, 2, 1, 2] * 2, [600, 600, 200, 200, 100, 100, 300, 300],
    [300, 90, 60, 50, 50, 3, 90, 15], context=["phone"] * 4 + ["desktop"] * 4,
)  # fmt: skip


def test_labels_of_contexts_by_hand():
    # a has the chance .5 and b .3; rank 2 is examined with .5 on phones, and .1 on desktops.
    p = Propensities.of_contexts({"phone": known(1.0, 0.5), "desktop": known(1.0, 0.1)})
    cells = CONTEXTS.cells(by_context=True)
    for how in ("policy", "ips"):
        of_shown = click_credits(cells, p, how).label
        assert of_shown == pytest.approx([0.5, 0.3])
    groups = QueryGroups([[1.0], [0.0]], None, ["q", "q"], docid=["a", "b"])
    labelled, pages = label_clicks(groups, CONTEXTS, p, scale=False)
    assert labelled.relevance == pytest.approx([0.5, 0.3])
    assert pages.tolist() == [1200]
    # One curve for both is wrong.
    one = estimate_propensities(CONTEXTS)
    assert np.abs(click_credits(CONTEXTS.cells(), one).label - [0.5, 0.3]).max() > 0.01
    (row,) = evaluate_clicks(CONTEXTS, p, {"run": (["q", "q"], ["b", "a"], [2.0, 1.0])})
    assert row.value == pytest.approx(0.3 + 0.5 / np.log2(3))


def test_errors_of_propensities_of_contexts_are_carried():
    curves = {"phone": known(1.0, 0.5), "desktop": known(1.0, 0.1)}
    run = {"run": (["q", "q"], ["b", "a"], [2.0, 1.0])}
    sure = evaluate_clicks(CONTEXTS, Propensities.of_contexts(curves), run)[0]
    variance, added = {"phone": 0.04, "desktop": 0.09}, 0.0
    for name, curve in curves.items():
        ends = []
        for step in (-1e-6, 1e-6):
            moved = replace(curve, propensity=curve.propensity * np.exp([0.0, step]))
            joined = Propensities.of_contexts({**curves, name: moved})
            ends.append(evaluate_clicks(CONTEXTS, joined, run)[0].difference)
        added += ((ends[1] - ends[0]) / 2e-6) ** 2 * variance[name]
    with_errors = Propensities.of_contexts(
        {name: replace(curve, covariance=np.diag([0.0, variance[name]])) for name, curve in curves.items()}
    )
    unsure = evaluate_clicks(CONTEXTS, with_errors, run)[0]
    widths = [(row.by_sessions[1] - row.difference) / 1.959964 for row in (unsure, sure)]
    assert widths[0] ** 2 - widths[1] ** 2 == pytest.approx(added, rel=1e-4)


def test_under_trust_bias_what_was_never_shown_has_no_label():
    trust = replace(known(1.0, 0.5), offset=np.array([0.0, 0.1]))
    groups = QueryGroups(np.eye(3), None, ["q"] * 3, docid=["a", "b", "z"])
    for how in ("policy", "ips", "shown"):
        labelled, _ = label_clicks(groups, LOG, trust, how=how)
        assert labelled.docid.tolist() == ["a", "b"]
    assert label_clicks(groups, LOG, known(1.0, 0.5), how="shown")[0].n_docs == 2
    assert label_clicks(groups, LOG, known(1.0, 0.5), how="policy")[0].relevance[2] == 0
    # Adding b to all β changes no difference of rankings of shown documents, and refuses all others.
    shown, new = ["b", "a"], ["z", "a"]
    moved = replace(trust, offset=trust.offset + 0.2 * trust.propensity)
    rows = [evaluate_clicks(LOG, p, {"x": (["q"] * 2, shown, [2.0, 1.0])})[0] for p in (trust, moved)]
    assert rows[0].difference == pytest.approx(rows[1].difference)
    assert rows[0].value != pytest.approx(rows[1].value)
    for ranking in (new, ["a"]):
        scores = [2.0, 1.0][: len(ranking)]
        with pytest.raises(DataError, match="x: under trust bias a difference is that of rankings of"):
            evaluate_clicks(LOG, trust, {"x": (["q"] * len(ranking), ranking, scores)})


def test_what_is_doubtful_about_propensities_is_a_flag_of_every_row():
    p = replace(known(1.0, 0.5), one_curve=1e-5)
    (row,) = evaluate_clicks(LOG, p, {"run": (["q", "q"], ["b", "a"], [2.0, 1.0])})
    assert row.flags()[0].startswith("one curve of propensities does not fit all queries")
    assert row.flags()[1] == "queries are too few for an interval for new ones"
    assert np.isnan(row.by_queries).all()
    assert not row.is_better
    assert row.to_dict()["by_queries"] is None


@pytest.mark.heavy
def test_doubly_robust_is_the_default_where_documents_have_features():
    # Documents that were never shown are the best, and features say so.
    rankers = {"a": -GROUPS.relevance + GROUPS.X[:, 1] / 9, "b": GROUPS.X[:, 1] - GROUPS.relevance / 2}
    log = make_clicks(GROUPS, rankers, n_ranks=5, sessions=40_000, random_state=0)
    p = estimate_propensities(log, test=False)
    unseen = places_of(log, GROUPS.qid, np.arange(1, GROUPS.n_docs + 1)) < 0
    assert never_shown(GROUPS, log) == pytest.approx(unseen.mean())
    assert 0.2 < unseen.mean() < 0.7
    by_default = label_clicks(GROUPS, log, p)[0].relevance
    assert by_default == pytest.approx(label_clicks(GROUPS, log, p, how="dr")[0].relevance)
    assert by_default[unseen].min() >= 0 < by_default[unseen].max()
    ndcg = {
        how: evaluate(
            GROUPS,
            LambdaLoss("ClickDCG@10").fit(label_clicks(GROUPS, log, p, how=how)[0]).predict(GROUPS),
            measures="nDCG@10",
        )["nDCG@10"]
        for how in (None, "policy")
    }
    assert ndcg[None] > ndcg["policy"] + 0.02
    (row,) = evaluate_clicks(log, p, {"best": (GROUPS, GROUPS.relevance)}, documents=GROUPS)
    (dr,) = evaluate_clicks(log, p, {"best": (GROUPS, GROUPS.relevance)}, documents=GROUPS, how="dr")
    assert row == dr
    # One query has no others that predict.
    one = log.of_queries(np.arange(60) == 0)
    first = GROUPS.select(np.arange(60) == 0)
    assert label_clicks(first, one, p)[0].n_docs == 10


def test_predicted_labels_are_learned_by_one_thread(monkeypatch):
    """Threads of OpenMP spin at each small step, and take minutes where other work runs."""
    log, threads = make_clicks(GROUPS, {"a": GROUPS.X[:, 0], "b": GROUPS.X[:, 1]}, random_state=0), []
    for name in ("fit", "predict"):
        computed = getattr(HistGradientBoostingRegressor, name)

        def recorded(self, *rows, computed=computed):
            threads.append(_openmp_effective_n_threads())
            return computed(self, *rows)

        monkeypatch.setattr(HistGradientBoostingRegressor, name, recorded)
    with threadpool_limits(2, user_api="openmp"):
        predict_labels(GROUPS, log, estimate_propensities(log, test=False))
    assert threads == [1] * 10
