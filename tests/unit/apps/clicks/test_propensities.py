"""Propensities: by hand, by another likelihood, and on simulated logs."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import f

from directrank import make_ranking
from directrank.apps.clicks import (
    BASELINES,
    ClickLog,
    Propensities,
    agreement_with,
    baseline_propensities,
    click_chances,
    estimate_propensities,
    estimate_trust,
    held_out_likelihood,
    make_clicks,
)
from directrank.apps.clicks.propensities import components_of, ranges
from directrank.errors import DataError


def log_of(*rows, n=10) -> ClickLog:
    """Rows of query, document, rank, impressions and clicks."""
    return ClickLog.of_counts(*map(list, zip(*rows, strict=True)))


SIX = log_of(
    *((f"q{i}", "a", k, 10, c) for i in range(3) for k, c in ((1, 10), (2, 2))),
    *((f"r{i}", "b", k, 10, c) for i in range(3) for k, c in ((1, 2), (2, 4))),
)
TWO = log_of(("q", "a", 1, 10, 8), ("q", "a", 2, 10, 4), ("r", "b", 1, 10, 4), ("r", "b", 2, 10, 2))


def test_two_ranks_by_hand():
    # Both documents are clicked half as often at rank 2. The second derivative is 18 clicks times 1/3 · 2/3.
    found = estimate_propensities(TWO)
    assert found.propensity == pytest.approx([1.0, 0.5])
    assert found.model_errors[1] ** 2 == pytest.approx(1 / 4)
    assert found.identified
    assert found.n_clicks == 18
    assert found.n_queries == 2


def test_errors_by_clusters_by_hand():
    # Three queries have 2 clicks of 12 at rank 2, and three 4 of 6: θ solves 36 P + 18 P = 18, so P = 1/3
    # and p = 1/2.
    found = estimate_propensities(SIX)
    assert found.propensity[1] == pytest.approx(0.5)
    # Scores: −2 and +2. H is 12 · 2/9 and 6 · 2/9, T = 1/12: shares 2/9 and 1/9 of the information.
    corrected = np.array([-2 / (1 - 2 / 9), 2 / (1 - 1 / 9)])
    assert found.errors[1] ** 2 == pytest.approx(5 / 6 * 3 * (corrected**2).sum() / 144)
    # 1 / (3 · 4/81 + 3 · 1/81)
    assert found.effective_queries[1] == pytest.approx(81 / 15)


def poisson_maximum(log: ClickLog) -> np.ndarray:
    """Return p by the joint likelihood of independent Poisson clicks, over p and r."""
    k, d, n, c = log.rank - 1, log.item, log.impressions, log.clicks
    K = log.n_ranks

    def loss(x):
        mean = n * np.exp(np.append(0, x[: K - 1])[k] + x[K - 1 :][d])
        rest = mean - c
        gradient = np.concatenate((np.bincount(k, rest, K)[1:], np.bincount(d, rest, log.n_items)))
        return mean.sum() - c @ np.log(mean / n), gradient

    x = minimize(loss, np.zeros(K - 1 + log.n_items), jac=True, method="BFGS", options={"gtol": 1e-9}).x
    return np.exp(np.append(0, x[: K - 1]))


def test_the_maximum_is_that_of_poisson_clicks_with_a_relevance_for_each_item():
    rng = np.random.default_rng(1)
    rows = [
        (q, d, k, n, 1 + rng.binomial(n, 0.3))
        for q in range(2)
        for d in range(3)
        for k, n in ((1, 9), (2, 5), (3, 20))
    ]
    log = log_of(*rows)
    assert estimate_propensities(log).propensity == pytest.approx(poisson_maximum(log), rel=1e-5)


def test_rankers_and_contexts_are_added_up():
    rows = [("q", "a", 1, 5, 4), ("q", "a", 1, 5, 4), ("q", "a", 2, 10, 4)]
    log = ClickLog.of_counts(*zip(*rows, strict=True), ranker=["x", "y", "x"])
    assert len(log.item) == 3
    assert estimate_propensities(log).propensity == pytest.approx([1.0, 0.5])


def test_components_by_hand():
    # a was clicked at 1 and 2, b at 3 and 4; c was shown at 2 and 3 but clicked at 2 alone.
    rows = [("q", "a", 1, 5, 1), ("q", "a", 2, 5, 1), ("q", "b", 3, 5, 1), ("q", "b", 4, 5, 1)]
    one_way = [("q", "c", 2, 5, 1), ("q", "c", 3, 5, 0)]
    assert components_of(log_of(*rows, *one_way)) == ((1, 2), (3, 4))
    assert components_of(log_of(*rows, *one_way, ("q", "d", 3, 5, 1), ("q", "d", 1, 5, 0))) == ((1, 2, 3, 4),)
    found = estimate_propensities(log_of(*rows, *one_way))
    assert not found.identified
    assert "ranks 1-2 and 3-4 are never compared" in found.components_line()
    assert found.propensity == pytest.approx([1, 1, 1, 1])
    with pytest.raises(DataError, match="not identified: ranks 1-2 and 3-4"):
        found.require_identified()
    assert ranges([1, 2, 3, 7, 9, 10]) == "1-3, 7, 9-10"


def test_components_are_those_of_a_search_through_all_edges():
    rng = np.random.default_rng(3)
    for _ in range(30):
        rows = [
            ("q", d, k + 1, 3, int(rng.random() < 0.5))
            for d in range(3) for k in rng.choice(6, 3, replace=False)
        ]  # fmt: skip
        log = log_of(*rows)
        ranks = sorted({row[2] for row in rows})
        reach = {k: {k} for k in ranks}
        for _ in ranks:
            for _, d, k, _, c in rows:
                if c:
                    reach[k] |= set().union(*(reach[other] for _, e, other, _, _ in rows if e == d))
        parts = {tuple(other for other in ranks if other in reach[k] and k in reach[other]) for k in ranks}
        assert components_of(log) == tuple(sorted(parts))


def test_json_there_and_back():
    found = estimate_propensities(TWO)
    content = found.to_dict()
    assert content["propensities"][1]["position"] == 2
    assert content["propensities"][1]["propensity"] == pytest.approx(0.5)
    assert content["components"] == [[1, 2]]
    again = Propensities.of_dict(content)
    assert again.propensity == pytest.approx(found.propensity)
    assert again.covariance == pytest.approx(found.covariance)
    bare = Propensities.of_dict([{"position": 1, "propensity": 1.0}, {"position": 2, "propensity": 0.25}])
    assert bare.propensity.tolist() == [1.0, 0.25]
    for wrong in ({}, [], [{"position": 1, "propensity": 0}], 3):
        with pytest.raises(DataError):
            Propensities.of_dict(wrong)


P1, P2 = {"position": 1, "propensity": 1}, {"position": 2, "propensity": 0.5}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([P1, {**P2, "position": 0}], "expected positions, whole numbers from 1, each once, not 1, 0"),
        (
            [P1, {**P2, "propensity": float("nan")}],
            "position 2: propensity nan; expected a number from 1e-9 to 1e9",
        ),
        ([P1, {**P2, "offset": 0.1}], "position 1: offset None; expected a number of all ranks"),
        ({"propensities": [P1, P2], "covariance": [[1.0]]}, "expected a covariance of 2 rows"),
        ({"propensities": [P1, P2], "components": [[1], [2]]}, "not identified: ranks 1 and 2 are never"),
        ({"contexts": {"phone": {}}}, "context 'phone': expected positions"),
        ({"propensities": [P1, P2], "components": [[1, 2, 3]]}, "expected one list of all positions"),
        ({"propensities": [P1, P2], "one_curve": 2}, "one_curve 2; expected a probability"),
        ({"propensities": [P1, P2], "covariance": [[0, 0], [0, None]]}, "expected a covariance of 2 rows"),
    ],
)
def test_files_of_propensities_that_cannot_be_used_are_refused_in_one_line(content, message):
    with pytest.raises(DataError) as caught:
        Propensities.of_dict(content, "p.json")
    assert message in str(caught.value)
    assert str(caught.value).startswith(("p.json: ", "p.json, context "))
    assert "\n" not in str(caught.value)


def test_propensities_above_1_and_their_errors_follow_the_order_of_their_positions():
    rows = [{"position": k, "propensity": p} for k, p in ((4, 0.25), (1, 1.0), (2, 1.5))]
    covariance = [[0.09, 0.0, 0.02], [0.0, 0.0, 0.0], [0.02, 0.0, 0.01]]
    found = Propensities.of_dict({"propensities": rows, "covariance": covariance})
    assert (found.position.tolist(), found.propensity.tolist()) == ([1, 2, 4], [1.0, 1.5, 0.25])
    assert np.diag(found.covariance).tolist() == [0.0, 0.01, 0.09]
    assert found.covariance[1, 2] == 0.02


def expected_log(alpha, beta=None, n=10**6) -> ClickLog:
    """A log without noise: four documents of each of three queries, in all orders of two rankers."""
    R = np.array([[0.9, 0.5, 0.3, 0.1], [0.2, 0.7, 0.4, 0.6], [0.1, 0.15, 0.8, 0.3]])
    beta = np.zeros(4) if beta is None else beta
    rows = [
        (q, d, k + 1, n, round(n * (alpha[k] * R[q, d] + beta[k])))
        for q in range(3) for d in range(4) for k in ((d + q) % 4, (d + q + 1) % 4, (d + q + 2) % 4)
    ]  # fmt: skip
    return log_of(*rows)


ALPHA = np.array([0.8, 0.4, 0.3, 0.2])


@pytest.mark.parametrize("method", [name for name in BASELINES if name != "naive ratio of click rates"])
def test_baselines_find_what_is_there_without_noise(method):
    found = baseline_propensities(expected_log(ALPHA), method)
    assert found.propensity == pytest.approx(ALPHA / ALPHA[0], rel=0.02)


def test_naive_ratio_by_hand():
    assert baseline_propensities(TWO, "naive ratio of click rates").propensity == pytest.approx([1, 0.5])
    log = log_of(("q", "a", 1, 10, 8), ("q", "b", 2, 10, 2))
    assert baseline_propensities(log, "naive ratio of click rates").propensity == pytest.approx([1, 0.25])


@pytest.mark.parametrize("method", BASELINES)
def test_ranks_that_showed_nothing_change_no_other_estimator(method):
    log = expected_log(ALPHA)
    far = replace(log, rank=np.array([0, 1, 2, 7, 9000])[log.rank])
    found = baseline_propensities(far, method)
    assert found.position.tolist() == [1, 2, 7, 9000]
    assert found.propensity == pytest.approx(baseline_propensities(log, method).propensity)


def test_trust_bias_without_noise():
    beta = np.array([0.1, 0.05, 0.02, 0.01])
    found = estimate_trust(expected_log(ALPHA, beta))
    # β's origin is not identified: with β₁ = 0 it is β_k − α_k β₁ / α₁.
    assert found.propensity == pytest.approx(ALPHA / ALPHA[0], rel=1e-3)
    assert found.offset == pytest.approx(beta - ALPHA / ALPHA[0] * beta[0], abs=1e-3)
    with pytest.raises(DataError, match="not identified"):
        estimate_trust(log_of(("q", "a", 1, 10, 8), ("q", "a", 2, 10, 4)))


def test_trust_bias_is_not_identified_where_documents_of_two_ranks_are_alike():
    # By α R + β of one R, each slope α is as good as another one with another β.
    rows = [
        ("q", f"d{d}", k + 1, 10**6, round(10**6 * (ALPHA[k] * 0.5 + 0.01 * (4 - k))))
        for d in range(4) for k in range(4) if k != d
    ]  # fmt: skip
    with pytest.raises(DataError, match=r"trust bias is not identified: clicks at rank 2 .* too alike"):
        estimate_trust(log_of(*rows))
    # Documents of ranks 1 to 3 differ, and those that rank 4 shares with rank 3 do not.
    differ = np.linspace(0.1, 0.9, 9)
    rows = [
        (f"q{d}", "d", k + 1, 10**6, round(10**6 * (ALPHA[k] * r + 0.01 * (4 - k))))
        for d, r in enumerate(differ) for k in range(3)
    ]  # fmt: skip
    rows += [
        (f"p{d}", "d", k + 1, 10**6, round(10**6 * (ALPHA[k] * 0.5 + 0.01 * (4 - k))))
        for d in range(9) for k in (2, 3)
    ]  # fmt: skip
    with pytest.raises(DataError, match="trust bias is not identified: clicks at rank 4 "):
        estimate_trust(log_of(*rows))


def test_simulated_clicks_have_the_rates_of_the_model():
    groups = make_ranking(5, 12, uneven=0, random_state=0)
    log = make_clicks(
        groups, groups.X[:, 0], sessions=10**6, eta={"a": 1.0, "b": 2.0}, trust=0.3, random_state=0
    )
    assert log.contexts == ("a", "b")
    assert log.n_ranks == 10
    names = zip(groups.qid.astype(str), np.arange(1, 61).astype(str), strict=True)
    chance = dict(zip(names, click_chances(groups), strict=True))
    r = np.array([chance[log.qid[log.query[i]], log.docid[i]] for i in log.item])
    p = log.rank ** -np.where(log.context == 0, 1.0, 2.0) * (r + 0.3 / log.rank * (1 - r))
    spread = np.sqrt(np.maximum(log.impressions * p * (1 - p), 1e-9))
    z = (log.clicks - log.impressions * p) / spread
    assert np.abs(z).max() < 4
    assert log.impressions.sum() == 10 * 10**6


def test_shuffled_sessions_show_each_document_at_each_rank():
    groups = make_ranking(1, 5, uneven=0, random_state=0)
    log = make_clicks(groups, groups.X[:, 0], sessions=5000, shuffled=1.0, random_state=0)
    assert len(log.item) == 25
    assert np.abs(log.impressions - 1000).max() < 120
    assert estimate_propensities(log).identified


def test_one_curve_is_refused_where_curves_differ():
    groups = make_ranking(60, 10, uneven=0, random_state=0)
    rankers = {"a": groups.X[:, 0], "b": groups.X[:, 1]}
    same = estimate_propensities(make_clicks(groups, rankers, sessions=60_000, random_state=0))
    assert same.one_curve > 0.05
    columns = []
    for part, eta in ((np.arange(30), 0.5), (np.arange(30, 60), 1.5)):
        some = groups.select(part)
        rankers = {"a": some.X[:, 0], "b": some.X[:, 1]}
        columns.append(make_clicks(some, rankers, sessions=30_000, eta=eta, random_state=0).columns())
    names = ("qid", "docid", "position", "impressions", "clicked")
    mixed = ClickLog.of_counts(*(np.concatenate([part[name] for part in columns]) for name in names))
    found = estimate_propensities(mixed)
    assert found.one_curve < 1e-4
    assert found.ratio > 1.2


def test_one_rank_alone_is_not_identified():
    found = estimate_propensities(log_of(("q", "a", 2, 10, 3), ("q", "b", 2, 10, 1)))
    assert not found.identified
    assert found.components_line() == "rank 2 alone was shown: nothing is compared"


def test_a_log_contradicts_permuted_propensities():
    # Wald's statistic by hand: log p is −log 2 and not 0, its variance that of the test of clusters above.
    log, flat = SIX, Propensities("given", np.array([1, 2]), np.array([1.0, 1.0]), ((1, 2),))
    variance = 5 / 6 * 3 * ((18 / 7) ** 2 + (9 / 4) ** 2) / 144
    statistic = np.log(2) ** 2 / variance
    # One effective query less than 81/15.
    assert agreement_with(log, flat) == pytest.approx(f.sf(statistic, 1, 81 / 15 - 1))
    # The same log with an advert first: of errors of the given log p, that of rank 3 less rank 2 counts.
    below = replace(log, rank=log.rank + 1)
    covariance = np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.4], [0.0, 0.4, 0.7]])
    given = Propensities("given", np.arange(1, 4), np.array([1.0, 0.5, 0.5]), ((1, 2, 3),), covariance)
    statistic = np.log(2) ** 2 / (variance + 0.5 + 0.7 - 2 * 0.4)
    assert agreement_with(below, given) == pytest.approx(f.sf(statistic, 1, 81 / 15 - 1))
    groups = make_ranking(60, 8, uneven=0, random_state=0)
    long = make_clicks(groups, {"a": groups.X[:, 0], "b": groups.X[:, 1]}, sessions=20_000, random_state=0)
    true = Propensities("given", np.arange(1, 9), 1 / np.arange(1.0, 9), (tuple(range(1, 9)),))
    assert agreement_with(long, true) > 0.01
    wrong = Propensities("given", true.position, true.propensity[[0, 2, 1, 3, 5, 4, 7, 6]], true.components)
    assert agreement_with(long, wrong) < 1e-6
    gain, p = held_out_likelihood(long, true)
    assert abs(gain) < 0.002
    assert p > 0.01
    gain, p = held_out_likelihood(long, wrong)
    assert gain > 0.01
    assert p < 1e-4


def test_one_query_has_the_errors_of_the_model():
    groups = make_ranking(1, 8, uneven=0, random_state=0)
    inside = []
    for seed in range(40):
        log = make_clicks(groups, groups.X[:, 0], sessions=2000, shuffled=1.0, random_state=seed)
        found = estimate_propensities(log)
        assert found.by_model
        assert not found.rejected
        assert found.doubts() == [
            "1 query is too few for errors by clusters: errors of propensities are those of the model"
        ]
        low, high = found.interval()
        inside.append((low <= 1 / found.position) & (1 / found.position <= high))
        assert np.isnan(agreement_with(log, found)) or agreement_with(log, found) == pytest.approx(1.0)
    # 280 intervals of 95 %, those of a log not independent: .90 and .99 are five errors away.
    assert 0.90 < np.mean(np.array(inside)[:, 1:]) < 0.99
    held_out = held_out_likelihood(log, found)
    assert np.isnan(held_out).all()


def test_queries_without_weight_are_no_clusters():
    # Five queries, of which one has all clicks but four.
    rows = [("q", "a", k, 10**6, 10**5 // k) for k in (1, 2, 3)]
    rows += [(f"r{i}", "a", k, 2, int(k == 1)) for i in range(4) for k in (1, 2, 3)]
    found = estimate_propensities(log_of(*rows))
    assert found.by_model
    assert found.errors == pytest.approx(found.model_errors)


def test_a_rejected_curve_is_said_by_its_file_too():
    rejected = replace(estimate_propensities(SIX), one_curve=1e-7)
    again = Propensities.of_dict(rejected.to_dict())
    for curve in (
        rejected,
        again,
        Propensities.of_contexts({"a": again, "b": replace(again, one_curve=0.5)}),
    ):
        assert curve.rejected
        assert curve.doubts()[0].startswith("one curve of propensities does not fit all queries (goodness of")
        assert "p < 0.0001" in curve.doubts()[0]
    assert rejected.to_dict()["rejected"] is True
    assert not replace(rejected, one_curve=0.04).doubts()
    assert not replace(rejected, one_curve=float("nan")).doubts()
    few = Propensities.of_dict(estimate_propensities(TWO).to_dict())
    assert few.doubts() == [
        "2 queries are too few for errors by clusters: errors of propensities are those of the model"
    ]


def test_propensities_of_contexts_are_joined_and_written():
    curves = {"phone": estimate_propensities(SIX), "desktop": estimate_propensities(TWO)}
    joined = Propensities.of_contexts(curves)
    assert joined.propensity == pytest.approx([1.0, 0.5, 1.0, 0.5])
    assert joined.identified
    assert joined.covariance[:2, :2] == pytest.approx(curves["phone"].covariance)
    assert joined.covariance[2:, 2:] == pytest.approx(curves["desktop"].covariance)
    assert not joined.covariance[:2, 2:].any()
    again = Propensities.of_dict(joined.to_dict())
    assert again.propensity == pytest.approx(joined.propensity)
    log = ClickLog.of_counts(
        ["q"] * 3, ["a"] * 3, [1, 2, 2], [1] * 3, [0] * 3, context=["phone", "phone", "desktop"]
    )
    places = zip(log.context.tolist(), log.rank.tolist(), again.of_cells(log).tolist(), strict=True)
    assert sorted(places) == [(0, 2, 3), (1, 1, 0), (1, 2, 1)]
    with pytest.raises(
        DataError, match=r"propensities are of each context \(phone, desktop\); name the column"
    ):
        again.of_cells(log.cells())
    with pytest.raises(DataError, match="no propensities of context 'phone'; there are those of desktop"):
        Propensities.of_contexts({"desktop": curves["desktop"]}).of_cells(log)
    with pytest.raises(DataError, match="context 'x': propensities are not identified"):
        Propensities.of_contexts(
            {"x": estimate_propensities(log_of(("q", "a", 1, 2, 1), ("q", "b", 2, 2, 1)))}
        )


def test_errors_by_clusters_are_those_of_dense_arithmetic_for_queries_of_little_leverage():
    # 120 queries alike in size: the leverage of each in both directions is below .02, and not 0.
    rng = np.random.default_rng(4)
    rows = [
        (f"q{q}", d, k, 40, int(rng.binomial(40, 0.5 * (1.0, 0.6, 0.3)[k - 1])))
        for q in range(120) for d in "ab" for k in (1, 2, 3)
    ]  # fmt: skip
    log = log_of(*rows)
    found = estimate_propensities(log, test=False)
    p = found.propensity
    cells = {(q, d): np.zeros(3) for q, d, _, _, _ in rows}
    for q, d, k, _, c in rows:
        cells[q, d][k - 1] = c
    share = p / p.sum()  # impressions are equal
    H = {f"q{q}": np.zeros((2, 2)) for q in range(120)}
    g = {f"q{q}": np.zeros(2) for q in range(120)}
    for (q, _), c in cells.items():
        H[q] += c.sum() * (np.diag(share) - np.outer(share, share))[1:, 1:]
        g[q] += (c - c.sum() * share)[1:]
    T = np.linalg.inv(sum(H.values()))
    leverage = [np.trace(h @ T) for h in H.values()]
    assert 0.01 < min(leverage) < max(leverage) < 0.023
    corrected = np.array([np.linalg.solve(np.eye(2) - H[q] @ T, g[q]) for q in H])
    expected = 119 / 120 * T @ corrected.T @ corrected @ T
    plain = 119 / 120 * T @ np.array(list(g.values())).T @ np.array(list(g.values())) @ T
    # The correction is 1.7 % of the variance; a series of it is right to a ten thousandth of that.
    assert np.abs(expected / plain - 1).max() > 0.01
    assert found.covariance[1:, 1:] == pytest.approx(expected, rel=1e-5)
