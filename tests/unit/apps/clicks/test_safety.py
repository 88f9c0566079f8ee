"""Rankers from clicks that the gate lets through, and the bound by hand."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from directrank import PLRank, QueryGroups, Regression, evaluate, load, make_ranking
from directrank.apps.clicks import (
    ClickLog,
    Propensities,
    compare_clicks,
    estimate_propensities,
    evaluate_clicks,
    label_clicks,
    make_clicks,
    safe_ranker,
)
from directrank.apps.clicks.safety import _largest_error, _trains
from directrank.errors import DataError
from directrank.models import save
from directrank.surrogates import expected_exposure

GROUPS = make_ranking(60, 10, uneven=0, random_state=1)


@cache
def good() -> Regression:
    return Regression().fit(GROUPS)


@cache
def poor() -> Regression:
    """Learned from grades that one poor feature gives."""
    return Regression().fit(QueryGroups(GROUPS.X, GROUPS.X[:, 3] > 0, GROUPS.qid))


def log_of(sessions: int) -> ClickLog:
    rankers = {"a": poor(), "b": GROUPS.X[:, 1]}
    return make_clicks(GROUPS, rankers, sessions=sessions, random_state=0)


def test_a_better_ranker_passes_the_gate_and_is_saved_as_one_model(tmp_path):
    log = log_of(20_000)
    p = estimate_propensities(log, test=False)
    safe = safe_ranker(Regression(), poor(), GROUPS, log, p)
    assert safe.share > 0
    assert safe.difference.by_queries[0] > 0
    assert "over the logging ranker it gains" in safe.line()
    new, old = (
        evaluate(GROUPS, each.predict(GROUPS), measures="nDCG@10")["nDCG@10"]
        for each in (safe.ranker, poor())
    )
    assert new > old + 0.1
    save(safe.ranker, tmp_path / "safe.dr")
    assert load(tmp_path / "safe.dr").predict(GROUPS) == pytest.approx(safe.ranker.predict(GROUPS))


def test_the_logging_ranker_stays_where_nothing_is_better_or_little_was_clicked():
    log = log_of(20_000)
    safe = safe_ranker(Regression(), good(), GROUPS, log, estimate_propensities(log, test=False))
    assert safe.ranker is good()
    assert "the logging ranker stays" in safe.line()
    few = log_of(150)
    p = Propensities("given", np.arange(1, 11), 1 / np.arange(1.0, 11), (tuple(range(1, 11)),))
    assert safe_ranker(Regression(), good(), GROUPS, few, p).ranker is good()
    with pytest.raises(DataError, match="3 queries; a safe ranker needs 10 or more"):
        safe_ranker(Regression(), good(), GROUPS, log.of_queries(np.arange(60) < 3), p)


@pytest.mark.heavy
def test_plrank_is_trained_near_the_logging_order():
    log = log_of(3000)
    p = estimate_propensities(log, test=False)
    labelled, pages = label_clicks(GROUPS, log, p)
    ranker = PLRank("ClickDCG@10", rounds=40)
    plain = clone(ranker).fit(labelled, sample_weight=pages)
    near = _trains(ranker, poor(), labelled).fit(labelled, sample_weight=pages)
    order = poor().predict(GROUPS)

    def share_beyond(ranker):
        weight = expected_exposure(ranker.predict(GROUPS), GROUPS.qid)
        return (weight > 1.6 * expected_exposure(1e9 * order, GROUPS.qid, samples=2)).mean()

    assert 0 < share_beyond(near) < 0.5 * share_beyond(plain)
    safe = safe_ranker(clone(ranker).set_params(rounds=10), poor(), GROUPS, log, p)
    assert isinstance(safe.ranker, PLRank)


def test_the_bound_by_hand():
    # 10 pages of q show a, b at 1, 2: a is examined 10 times, b 5 times. c was never shown: .5. A third
    # document is on no page.
    log = ClickLog.of_counts(["q", "q"], ["a", "b"], [1, 2], [10, 10], [3, 1])
    p = Propensities("given", np.array([1, 2]), np.array([1.0, 0.5]), ((1, 2),))
    h = 1 / np.log2(3)
    found = _largest_error(
        log, p, "DCG@10", (np.array(["q"] * 2), np.array(["b", "a"]), np.array([2.0, 1.0]))
    )
    assert found**2 == pytest.approx(1 / 5 + h**2 / 10)
    qid, docid = np.array(["q"] * 3), np.array(["c", "a", "b"])
    found = _largest_error(log, p, "DCG@10", (qid, docid, np.array([3.0, 2.0, 1.0])))
    assert found**2 == pytest.approx(1 / 0.5 + h**2 / 10)


def test_a_comparison_has_a_safe_row_of_each_method():
    log = log_of(5000)
    result = compare_clicks(GROUPS, log, "regression", folds=2, safe=good())
    assert "regression, safe" in [row.name for row in result.content.rows]


@pytest.mark.parametrize("delta", [0.05, 0.5, 0.8])
def test_bounds_are_those_of_chebyshev_s_inequality_for_one_side(delta):
    """With probability 1 − δ a mean is above its estimate less sqrt((1 − δ) / δ) standard deviations."""
    log = log_of(20_000)
    p = estimate_propensities(log, test=False)
    safe = safe_ranker(Regression(), poor(), GROUPS, log, p, delta=delta)
    # Of the logging ranker by hand: DCG of its order, and 1 / examination of its documents.
    qid, names = GROUPS.qid.astype(str), np.arange(1, GROUPS.n_docs + 1).astype(str)
    ranking = qid, names, poor().predict(GROUPS)
    (row,) = evaluate_clicks(log, p, {"old": ranking}, documents=GROUPS)
    place = {name: k for k, name in enumerate(zip(qid.tolist(), names.tolist(), strict=True))}
    examined, pages = np.zeros(GROUPS.n_docs), np.zeros(GROUPS.n_docs)
    for i, k, n in zip(log.item, log.rank, log.impressions, strict=True):
        at = place[str(log.qid[log.query[i]]), str(log.docid[i])]
        examined[at] += n * p.propensity[k - 1]
    total = log.impressions[log.rank == 1].sum()
    for q in np.unique(qid):
        here = qid == q
        pages[here] = log.impressions[(log.qid[log.query[log.item]] == q) & (log.rank == 1)].sum()
        scores = ranking[2][here]
        rank = np.argsort(np.argsort(-scores)) + 1
        pages[here] *= 1 / np.log2(1 + rank)
    error = np.sqrt(((pages / total) ** 2 / np.maximum(examined, p.propensity.min())).sum())
    assert error > 0
    assert safe.bounds[0.0] == pytest.approx(row.value - np.sqrt((1 - delta) / delta) * error)
    # Chebyshev's inequality itself, where it is sharp: a variable that is its mean less s in δ of the cases.
    s = np.sqrt((1 - delta) / delta)
    values, chances = np.array([s, -1 / s]), np.array([delta, 1 - delta])
    assert values @ chances == pytest.approx(0.0)
    assert values**2 @ chances == pytest.approx(1.0)


def test_the_line_of_a_safe_ranker_says_what_is_doubtful():
    log = log_of(5000)
    p = replace(estimate_propensities(log, test=False), one_curve=1e-6)
    line = safe_ranker(Regression(), good(), GROUPS, log, p).line()
    assert "WARNING: one curve of propensities does not fit all queries (goodness of fit p < 0.0001)" in line
