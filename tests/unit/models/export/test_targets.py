"""Each target's file, run by the engine itself or by a transcript of its rule, scores as the ranker does."""

import numpy as np
import pytest

import directrank
from directrank.errors import ExportError
from directrank.models.export import TARGETS
from directrank.models.export.function import function_of
from directrank.scorers import Committee, Linear, LogLinear
from directrank.scorers.linear import QueryLinear
from unit.models.export.battery import FILL, NAMES, WEIGHTS, ranker, rankers, rows, stumps

pytestmark = pytest.mark.filterwarnings("ignore")
MODELS = (
    "linear", "linear, nothing missing", "log", "stumps", "stumps and features", "trees with gaps",
    "2,000 trees", "auto", "LightGBM", "LightGBM, zeros missing", "XGBoost",
)  # fmt: skip
#: Engines that take seconds to start.
SLOW = ("java",)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    made = rankers(tmp_path_factory.mktemp("models"))
    assert tuple(made) == MODELS
    return made


def names_of(model):
    return tuple(getattr(model, "feature_names_in_", [f"f{i + 1}" for i in range(model.n_features_in_)]))


def magnitude(function, X):
    """Return the sum of the sizes of the terms of each row, to which rounding is in proportion."""
    values = np.nan_to_num(np.abs(X[:, [term.feature for term in function.terms]]).astype(float), nan=10.0)
    logarithm = np.array([term.logarithm for term in function.terms], bool)
    weights = np.array([term.weight for term in function.terms])
    terms = np.where(logarithm, np.log1p(values) + 1, values) @ np.abs(weights)
    trees = np.abs(function.trees.value).max(initial=0.0) * function.trees.n_trees
    return terms + 2 * trees + abs(function.intercept)


def assert_same(target, model):
    try:
        written = directrank.export(model, target.name)
        function = function_of(model.scorer_, names_of(model))
        X = rows(model.scorer_, missing=function.kind not in target.zero_for_missing)
        X[np.abs(X) <= target.zero] = 0
        scores = target.scores(written.content, function.names, X)
    except (ImportError, FileNotFoundError) as error:
        pytest.skip(f"{target.by} is not installed ({error})")
    ours = model.scorer_.scores(X)
    # A constant that is added to all scores changes no ranking.
    shift = np.nanmedian(scores - ours)
    error = np.abs(scores - shift - ours)
    rounding = 2.0**-22 if target.float32 else 2.0**-50
    assert np.array_equal(np.isnan(scores), np.isnan(ours))
    assert not (error > rounding * (magnitude(function, X) + abs(shift) + 1e-30)).any(), error.max()


CASES = [
    pytest.param(target, name, id=f"{target.name}-{name}",
                 marks=[pytest.mark.heavy] if name == "2,000 trees" or target.name in SLOW else [])
    for target in TARGETS for name in MODELS
]  # fmt: skip


@pytest.mark.parametrize(("target", "name"), CASES)
def test_scores_are_those_of_the_ranker(target, name, models):
    model = models[name]
    kind = function_of(model.scorer_, names_of(model)).kind
    try:
        directrank.export(model, target.name)
    except ExportError as error:
        assert kind not in target.kinds or "missing" in name, error
        assert "\n" not in str(error)
        assert any(word in str(error) for word in ("export to", "train", "rename", "add", "scale")), error
        return
    except ImportError as error:
        pytest.skip(f"{target.by} is not installed ({error})")
    assert kind in target.kinds
    assert_same(target, model)


@pytest.mark.parametrize("scorer", [Linear(WEIGHTS, FILL), LogLinear(WEIGHTS, WEIGHTS > 0, FILL), stumps()])
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_names_from_outside_are_escaped_or_refused(target, scorer):
    model = ranker(scorer, NAMES)
    kind = function_of(scorer, NAMES).kind
    if kind not in target.kinds:
        return
    try:
        directrank.export(model, target.name)
    except ExportError as error:
        assert "name" in str(error)
    except ImportError as error:
        pytest.skip(str(error))
    else:
        assert_same(target, model)


def test_scorers_that_read_queries_and_untrained_ones_are_refused():
    for scorer in (
        QueryLinear(np.ones(4)),
        Committee([stumps()]),
        Linear(),
    ):
        with pytest.raises(ExportError, match="other documents|not trained"):
            directrank.export(ranker(scorer), "python")


def test_check_says_how_scores_agree():
    groups = directrank.make_ranking(n_queries=8, random_state=0)
    model = directrank.RankSVM().fit(groups)
    check = directrank.export(model, "python", check=groups).check
    assert check is not None
    assert check.difference < 1e-12
    assert (check.inversions, check.documents) == (0, groups.n_docs)
    assert check.target == check.ranker
    assert "0 inverted pairs" in str(check)


def test_unknown_targets_and_versions_are_refused():
    model = ranker(stumps())
    with pytest.raises(ValueError, match="'python'"):
        directrank.export(model, "pyton")
    with pytest.raises(ValueError, match="same for all versions"):
        directrank.export(model, "python", target_version="3")
