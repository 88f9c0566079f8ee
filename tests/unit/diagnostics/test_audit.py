"""The audit: every bound above the loss on every query, in the table, in JSON and in the picture."""

import json
import math
from copy import copy
from xml.etree import ElementTree

import numpy as np
import pytest

from directrank.apps.report import audit_chart
from directrank.data.groups import QueryGroups
from directrank.diagnostics import audit
from directrank.estimators import AdaRank, PermuRank, StructuralSVM
from directrank.surrogates.rankings.type_two import FACTORS, best_corner, most_on_edge


def collection(n_queries=12, n_docs=9, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * n_docs, n_features))
    X[::7] = X[1]  # some tied scores
    truth = X @ np.linspace(1.0, -0.5, n_features) + rng.normal(size=len(X))
    relevance = np.digitize(truth, [0.5, 1.5]).astype(float)
    relevance[:n_docs] = 0.0  # a query that cannot teach
    return QueryGroups(X, relevance, np.repeat([f"q{i}" for i in range(n_queries)], n_docs))


@pytest.fixture(scope="module")
def fitted():
    groups = collection()
    return groups, StructuralSVM("AP", C=30.0).fit(groups)


@pytest.mark.share(4)
@pytest.mark.parametrize("measure", ["AP", "nDCG", "nDCG@3", "RR", "P@3", "WPD", "ERR(max=2)", "AP@3"])
@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_bounds_hold_on_every_query(fitted, measure, scale):
    groups, ranker = fitted
    scaled = copy(ranker)
    scaled.scorer_ = ranker.scorer_.at(scale * ranker.scorer_.coefficients)
    found = audit(scaled, groups, measure)
    assert found.qid == [f"q{i}" for i in range(1, 12)]
    assert found.left_out == ["q0"]
    bounds = [row for row in found.rows if row.is_bound]
    assert len(bounds) >= 3
    for row in bounds:
        assert (row.values >= found.loss - 1e-9).all(), row.name
    for row in found.rows:
        if row.kind == "approximation":
            known = ~np.isnan(row.error)
            assert (np.abs(row.values - found.loss)[known] <= row.error[known] + 1e-9).all(), row.name
    assert all(each.holds in (True, None) for each in found.summaries())


def test_the_loss_is_one_minus_the_measure(fitted):
    groups, ranker = fitted
    found = audit(ranker, groups)
    assert found.measure == "AP"
    # The query that cannot teach has the value 0 in the score.
    assert found.loss.mean() == pytest.approx(1 - ranker.set_params(select_by="AP").score(groups) * 12 / 11)
    exponential = next(row for row in found.rows if (row.name, row.kind) == ("exponential", "type one"))
    np.testing.assert_allclose(exponential.values, [math.exp(loss - 1) for loss in found.loss])


def test_the_measure_is_the_model_s_own():
    groups = collection()
    assert audit(AdaRank("RR", rounds=3).fit(groups), groups).measure == "RR"
    assert audit(PermuRank("nDCG@3", rounds=2).fit(groups), groups).measure == "nDCG@3"


def test_table_json_and_picture_say_the_same(fitted):
    groups, ranker = fitted
    found = audit(ranker, groups)
    head, lines = found.table()
    assert {len(line) for line in lines} == {len(head)}
    assert lines[0][1] == f"{found.loss.mean():.4f}"
    plain = json.loads(json.dumps(found.to_json()))
    assert [row["name"] for row in plain["rows"]] == [line[0].strip() for line in lines[1:] if line[1]]
    assert plain["rows"][0]["per_query"] == found.rows[0].values.tolist()
    picture = ElementTree.fromstring(audit_chart(found))
    lines_drawn = picture.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines_drawn) == len(found.rows) + 1
    assert "Eq. (9)" in "".join(picture.itertext())


def test_the_search_brackets_the_maximum_over_all_points():
    rng = np.random.default_rng(0)
    for _ in range(200):
        points = np.column_stack((rng.random(12), rng.normal(size=12)))
        points[0] = (0.0, 0.0)
        points[1] = (0.3, -abs(points[1, 1]))

        def search(rho, points=points):
            return tuple(points[np.argmax(rho * points[:, 0] - points[:, 1])].tolist())

        for name, factor in FACTORS.items():
            best, edge = best_corner(search, factor)
            low = best[0] * float(factor.value(np.array(best[1])))
            high = max(low, most_on_edge(*edge, factor))
            exact = float((points[:, 0] * factor.value(points[:, 1])).max())
            assert low <= exact + 1e-12, name
            assert exact <= high + 1e-9, name
            lowest_margin = points[np.argmin(points[:, 1])]
            assert low >= lowest_margin[0] * (lowest_margin[1] <= 0) - 1e-12


def test_the_top_of_an_edge_is_met_exactly():
    """Between two rankings the bound is that of the edge, by calculus."""
    corners = np.array([[0.2, 0.0], [1.0, 2.0]])

    def search(rho):
        return tuple(corners[np.argmax(rho * corners[:, 0] - corners[:, 1])].tolist())

    t = np.linspace(0, 1, 200001)
    loss, x = 0.2 + 0.8 * t, 2.0 * t
    for name, factor in FACTORS.items():
        above = most_on_edge(*best_corner(search, factor)[1], factor)
        assert above == pytest.approx(float((loss * factor.value(x)).max()), abs=1e-9), name
    # (0.2 + 0.8 t) e^{−2t} is steepest upwards at t = 1/2 − 1/4.
    edge = best_corner(search, FACTORS["exponential"])[1]
    above = most_on_edge(*edge, FACTORS["exponential"])
    assert above == pytest.approx(0.4 * math.exp(-0.5), abs=1e-12)
