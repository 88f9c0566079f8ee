"""Every method with a linear scorer takes a scaling; those with trees do not."""

import numpy as np
import pytest
from sklearn.base import clone

from directrank import Ranker, load, make_ranking, save
from directrank.data.groups import QueryGroups
from directrank.errors import DataError
from directrank.estimators import ApproxRank, Regression
from directrank.estimators.presets.boosted import BoostedRanker
from directrank.estimators.presets.pairs import RankSVM
from directrank.estimators.presets.trees import TreeRanker
from directrank.estimators.starts import initial_coefficients
from directrank.estimators.training import Request
from directrank.scorers import Additive, Linear, LogLinear, QueryLinear
from directrank.scorers.scaling import Scaling, fit_scaling
from directrank.solvers import LBFGS, ClosedForm, DocumentBoosting
from directrank.surrogates import Fidelity, SoftmaxCrossEntropy, SquaredError
from estimator_examples import CLASSES, in_families, quick
from groups import in_turn

WITH_SCALING = [cls for cls in CLASSES if not issubclass(cls, (BoostedRanker, TreeRanker))]
methods = in_turn("cls", in_families(WITH_SCALING), ids=lambda cls: cls.__name__)


def collection(seed=0, n_queries=12):
    """Features of unlike sizes; one is heavy-tailed, one constant."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(12 * n_queries, 5))
    y = np.digitize(latent @ [1.0, 0.8, 0.6, 0.4, 0.0] + 0.5 * rng.normal(size=len(latent)), [0.5, 1.5])
    X = latent.copy()
    X[:, 0] = np.exp(3 * latent[:, 0])
    X[:, 1] *= 1e8
    X[:, 2] = 100 + 1e-3 * latent[:, 2]
    X[:, 4] = 7.0
    return QueryGroups(X, y.astype(float), np.repeat(np.arange(n_queries), 12))


@pytest.mark.share(2)
@pytest.mark.filterwarnings("ignore:.* stopped early")  # as raw features of these sizes make them
@methods
def test_every_scaling_is_saved_loaded_and_cloned(cls, tmp_path):
    groups, other = collection(), collection(1)
    for kind in Scaling.choices:
        ranker = clone(quick(cls, scaling=kind))
        assert ranker.get_params()["scaling"] == kind
        ranker.fit(groups)
        assert ranker.scaling_ == ("log" if kind == "auto" else kind)
        assert bool(ranker.scaling_reason_) == (kind == "auto")
        assert ranker.coef_.shape == (5,)
        assert kind in ("none", "query") or ranker.coef_[4] == 0
        save(ranker, tmp_path / "model.dr")
        back = load(tmp_path / "model.dr")
        assert back.predict(other).tobytes() == ranker.predict(other).tobytes()
        assert (back.scaling_, back.scaling_reason_) == (ranker.scaling_, ranker.scaling_reason_)
        assert back.get_params() == ranker.get_params()
        assert back.coef_.tobytes() == ranker.coef_.tobytes()


@methods
@pytest.mark.parametrize("kind", ["standard", "log", "query"])
def test_the_model_is_that_of_the_scaled_features(cls, kind):
    """Scores of raw features are those of the pipeline that scales first, up to one constant."""
    groups, other = collection(), collection(1)
    scaling = fit_scaling(kind, groups)
    pipeline = quick(cls, scaling="none").fit(scaling.of(groups)).predict(scaling.of(other))
    scores = quick(cls, scaling=kind).fit(groups).predict(other)
    difference = (scores - scores.mean()) - (pipeline - pipeline.mean())
    assert np.abs(difference).max() <= 1e-6 * np.ptp(pipeline)


@methods
def test_a_scaling_inside_queries_needs_them(cls):
    groups, other = collection(), collection(1)
    ranker = quick(cls, scaling="query").fit(groups)
    assert isinstance(ranker.scorer_, QueryLinear)
    order = np.random.default_rng(0).permutation(other.n_docs)
    scores = ranker.predict(other)
    np.testing.assert_array_equal(ranker.predict(other.X[order], qid=other.qid[order]), scores[order])
    with pytest.raises(DataError, match=r"^qid is missing: .* pass qid=… with the query of each row$"):
        ranker.predict(other.X)
    assert ranker.score(other) == ranker.score(other.X, other.relevance, qid=other.qid)


def test_composed_rankers_scale_where_their_scorer_is_linear():
    groups = collection()
    ranker = Ranker(SoftmaxCrossEntropy(), LBFGS(penalty=0.01)).fit(groups)
    assert isinstance(ranker.scorer_, LogLinear)
    assert Ranker(SquaredError(), ClosedForm(), scaling="standard").fit(groups).scaling_ == "standard"
    grown = Ranker(Fidelity(), DocumentBoosting(rounds=2)).fit(groups)
    assert isinstance(grown.scorer_, Additive)
    with pytest.raises(ValueError, match="scaling='log' needs a linear scorer"):
        Ranker(Fidelity(), DocumentBoosting(rounds=2), scaling="log").fit(groups)


class Composed(Ranker):
    """A ranker of a user, whose parts are not parameters."""

    def components(self):
        return SquaredError(), ClosedForm(), Linear()


@pytest.mark.parametrize("ranker", [Ranker(SquaredError(), ClosedForm()), Composed()])
def test_an_unknown_scaling_is_refused_before_features_are_left_as_they_are(ranker):
    for scaling in ("Standard", "minmax", 3):
        with pytest.raises(ValueError, match=f"^scaling must be one of .*, not {scaling!r}$"):
            clone(ranker).set_params(scaling=scaling).fit(collection())
    assert clone(ranker).set_params(scaling=None).fit(collection()).scaling_ == "none"


def test_only_training_features_decide():
    """A validation set of other sizes changes no scaling."""
    groups, other = collection(), collection(1)
    far = QueryGroups(1e6 + 1e3 * other.X, other.relevance, other.qid)
    for kind in ("auto", "standard", "log"):
        alone = Regression(scaling=kind).fit(groups)
        assert Regression(scaling=kind).fit(groups, eval_set=far).coef_.tobytes() == alone.coef_.tobytes()


@pytest.mark.parametrize("kind", Scaling.choices)
def test_training_starts_from_a_ranker_of_the_same_scaling(kind):
    groups = collection()
    start = RankSVM(scaling=kind).fit(groups)
    scaling = fit_scaling(kind, groups)
    scaled = scaling.of(groups)
    scores = Linear(initial_coefficients(Request(scaled, start=start), scaling)).scores(scaled.features)
    expected = groups.to_inner(start.predict(groups))
    difference = (scores - scores.mean()) - (expected - expected.mean())
    assert np.abs(difference).max() <= 1e-6 * np.ptp(expected)
    assert ApproxRank(start=start, scaling=kind, max_iterations=2).fit(groups).scaling_ == start.scaling_


@pytest.mark.parametrize("kind", ["standard", "log"])
def test_arrays_are_scaled_in_the_copy_that_training_makes_of_them(kind):
    groups = collection()
    X, before = groups.X, groups.X
    of_arrays = RankSVM(scaling=kind).fit(X, groups.relevance, qid=groups.qid)
    assert np.array_equal(X, before)
    of_groups = RankSVM(scaling=kind).fit(groups)
    assert np.array_equal(groups.X, before)
    assert of_arrays.coef_.tobytes() == of_groups.coef_.tobytes()
    # Rows that come in the inner order are not copied, so they must not be written to.
    sorted_rows = groups.features.copy()
    inner = [groups.to_inner(each) for each in (groups.relevance, groups.qid)]
    RankSVM(scaling=kind).fit(sorted_rows, inner[0], qid=inner[1])
    assert np.array_equal(sorted_rows, groups.features)


def test_scaling_in_place_has_the_same_bits():
    groups = make_ranking(600, 40, 50, random_state=0)
    scaling = fit_scaling("standard", groups)
    apart = scaling.of(groups, 2).features.tobytes()
    copy = QueryGroups(groups.X[::-1], groups.relevance[::-1], groups.qid[::-1])
    assert copy.is_copy
    assert (
        QueryGroups(groups.features, groups.to_inner(groups.relevance), groups.to_inner(groups.qid)).is_copy
        is False
    )
    own = QueryGroups.from_inner(groups.features.copy(), groups.queries)
    assert scaling.of(own, 2, in_place=True).features is own.features
    assert own.features.tobytes() == apart
