"""The compiled pass computes what the oracles compute, whatever the queries look like."""

import os
import subprocess
import sys

import numpy as np
import pytest

from directrank import make_ranking
from directrank.measures import AP, DCG, NDCG
from directrank.scorers import Linear
from directrank.solvers import passes
from directrank.surrogates import Objective, Pairwise, SmoothedPositions

MEASURES = [NDCG(), NDCG(3), DCG(gain="linear", discount="letor"), AP(), AP(3)]


@pytest.fixture(scope="module")
def groups():
    """Several shards, of queries of 1 to some hundred documents; some cannot teach."""
    found = make_ranking(1500, 60, 60, uneven=True, grades=5, random_state=3)
    assert len(found.shards) > 10
    assert found.queries.sizes.max() > 150
    assert found.queries.sizes.min() < 10
    return found


def objective_of(measure, groups, steepness=10.0, weights=None, n_threads=1):
    surrogate = SmoothedPositions(measure, steepness=steepness)
    return Objective(surrogate, groups.queries, groups.shards, weights=weights, n_threads=n_threads)


def by_oracles(monkeypatch, objective, theta, features):
    with monkeypatch.context() as patch:
        patch.setattr(passes, "can_stream", lambda *_: False)
        return passes.value_and_gradient(objective, Linear(), theta, features)


@pytest.mark.parametrize("measure", MEASURES, ids=lambda each: each.name)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_pass_equals_the_oracles(monkeypatch, groups, measure, weighted):
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 3, groups.n_queries).astype(float) if weighted else None
    objective = objective_of(measure, groups, weights=weights)
    theta = rng.normal(size=groups.n_features) / 10
    assert passes.can_stream(objective, Linear())
    value, slope = passes.value_and_gradient(objective, Linear(), theta, groups.features)
    expected = by_oracles(monkeypatch, objective, theta, groups.features)
    assert value == pytest.approx(expected[0], rel=1e-6)
    np.testing.assert_allclose(slope, expected[1], atol=1e-5 * np.abs(expected[1]).max())


@pytest.mark.parametrize("measure", MEASURES[:1] + MEASURES[3:4], ids=lambda each: each.name)
@pytest.mark.parametrize("steepness", [60.0, 1e3, 1e6])
def test_wide_queries_do_not_go_through_the_oracles(monkeypatch, groups, measure, steepness):
    # Some queries fit the quotients of float32 and others do not; then none does.
    objective = objective_of(measure, groups, steepness)
    theta = np.random.default_rng(1).normal(size=groups.n_features) / 30
    expected = by_oracles(monkeypatch, objective, theta, groups.features)
    monkeypatch.delattr(type(objective.shards[0][0].oracles), "value_and_gradient")
    value, slope = passes.value_and_gradient(objective, Linear(), theta, groups.features)
    assert value == pytest.approx(expected[0], rel=1e-6)
    np.testing.assert_allclose(slope, expected[1], atol=1e-5 * np.abs(expected[1]).max())


@pytest.mark.parametrize("wrong", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("place", [0, 1, -1])
def test_scores_that_are_not_finite_go_through_the_oracles(monkeypatch, groups, wrong, place):
    features = groups.features.copy()
    query = int(np.flatnonzero(groups.queries.sizes > 100)[0])
    features[groups.queries.indptr[query : query + 2][place] + min(place, 0), 0] = wrong
    objective = objective_of(NDCG(), groups, steepness=100.0)
    theta = np.full(groups.n_features, 0.03)
    with np.errstate(all="ignore"):
        found = passes.value_and_gradient(objective, Linear(), theta, features)
        expected = by_oracles(monkeypatch, objective, theta, features)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-6)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-4)


def test_a_wide_query_leaves_nothing_of_its_block_behind(monkeypatch, groups):
    # One query in the middle of a shard, all of whose neighbours were summed before it was met. Quotients of
    # logistic functions overflow, and its block goes through the oracles.
    features = groups.features.copy()
    last = groups.shards[2].blocks[-1].last_query - 1
    features[groups.queries.indptr[last]] *= 1e4
    objective = Objective(Pairwise(margin="logistic"), groups.queries, groups.shards)
    theta = np.random.default_rng(2).normal(size=groups.n_features) / 10
    expected = by_oracles(monkeypatch, objective, theta, features)
    called, oracles = [], type(objective.shards[2][-1].oracles)
    original = oracles.value_and_gradient
    monkeypatch.setattr(oracles, "value_and_gradient", lambda *each: called.append(1) or original(*each))
    value, slope = passes.value_and_gradient(objective, Linear(), theta, features)
    assert called == [1]
    assert value == pytest.approx(expected[0], rel=1e-6)
    np.testing.assert_allclose(slope, expected[1], atol=1e-5 * np.abs(expected[1]).max())


OWN = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from ownform import plugin_on
from directrank import make_ranking
from directrank.scorers import Linear
from directrank.solvers import passes
from directrank.surrogates import Objective, Pairwise, SmoothedPositions
from directrank.measures import NDCG
groups = make_ranking(30, 10, 2000, random_state=0)
objective = Objective(SmoothedPositions(NDCG()), groups.queries, groups.shards)
objective._plugin = plugin_on(groups.queries)
print(sum(value for value, _ in passes.stream(objective, Linear(), np.zeros(2000), groups.features)))
"""
FORM = """
from typing import NamedTuple
import numpy as np
from directrank.kernels.plugins import query_gradient, register_kernel
from directrank.kernels.compile import kernel

class Form(NamedTuple):
    indptr: np.ndarray
    longest: int

@register_kernel(query_gradient, Form)
@kernel
def own(form, q, scores, room, gradient):
    for i in range(len(scores)):
        gradient[i] = scores[i]
    return {value}

def plugin_on(queries):
    return Form(queries.indptr, int(queries.sizes.max()))
"""


@pytest.mark.heavy
def test_forms_from_elsewhere_leave_nothing_behind(tmp_path):
    """A changed kernel is taken up, and a process that does not know the form is not disturbed by it."""
    cache = str(tmp_path / "cache")

    def printed(code):
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        done = subprocess.run(
            [sys.executable, "-c", code, tmp_path],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    (tmp_path / "ownform.py").write_text(FORM.format(value="1.0"))
    assert printed(OWN) == "30.0"
    (tmp_path / "ownform.py").write_text(FORM.format(value="2.0 "))
    assert printed(OWN) == "60.0"
    (tmp_path / "ownform.py").unlink()
    fit = "ApproxRank('nDCG', max_iterations=2).fit(make_ranking(30, 10, 2000, random_state=0))"
    assert printed(
        "from directrank import make_ranking\nfrom directrank.estimators import ApproxRank\n"
        f"print(type({fit}).__name__)"
    ) == "ApproxRank"  # fmt: skip
