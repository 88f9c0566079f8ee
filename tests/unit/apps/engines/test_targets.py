"""Each target's file, run by the engine itself or by a transcript of its rule, scores as the ranker does."""

import json
import re
import sys

import numpy as np
import pytest

import directrank
from directrank.apps.cli import main
from directrank.apps.engines import TARGETS, refusals
from directrank.apps.engines.function import function_of
from directrank.apps.engines.search_plugin import OPENSEARCH
from directrank.data.groups import QueryGroups
from directrank.errors import ChangedOrderError, ExportError
from directrank.estimators.documents import names_of_columns
from directrank.scorers import Additive, Linear, LogLinear, Trees, stump
from directrank.scorers.set_trees import SetTrees
from unit.apps.engines.rankers_of_every_kind import (
    FILL,
    N_FEATURES,
    NAMES,
    SLOW,
    WEIGHTS,
    forest,
    of_targets,
    ranker,
    rankers,
    rows,
    scores_by,
    stumps,
)

pytestmark = pytest.mark.filterwarnings("ignore")
MODELS = (
    "linear", "linear, nothing missing", "log", "stumps", "stumps and features", "trees with gaps",
    "2,000 trees", "auto", "LightGBM", "LightGBM, zeros missing", "XGBoost",
)  # fmt: skip


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    made = rankers(tmp_path_factory.mktemp("models"))
    assert tuple(made) == MODELS
    return made


def magnitude(function, X):
    """Return the sum of the sizes of the terms of each row, to which rounding is in proportion."""
    values = np.nan_to_num(np.abs(X[:, [term.feature for term in function.terms]]).astype(float), nan=10.0)
    logarithm = np.array([term.logarithm for term in function.terms], bool)
    weights = np.array([term.weight for term in function.terms])
    terms = np.where(logarithm, np.log1p(values) + 1, values) @ np.abs(weights)
    trees = np.abs(function.trees.value).max(initial=0.0) * function.trees.n_trees
    return terms + 2 * trees + abs(function.intercept)


def written(target, model):
    """Return the export and None, or None and why it is refused; skip where a library is missing."""
    try:
        return directrank.export(model, target.name), None
    except ExportError as error:
        if "needs the library" in str(error):
            pytest.skip(str(error))
        return None, str(error)


def assert_same(target, model, content):
    """Assert that a file's scores are those of the ranker, but for a constant and for rounding."""
    function = function_of(model.scorer_, names_of_columns(model))
    X = rows(model.scorer_, missing=function.kind not in target.zero_for_missing)
    X[np.abs(X) <= target.zero] = 0
    try:
        scores = scores_by(target, content, function, X)
    except (ImportError, FileNotFoundError) as error:
        pytest.skip(f"{target.by} is not installed ({error})")
    ours = model.scorer_.scores(X)
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
    kind = function_of(model.scorer_, names_of_columns(model)).kind
    made, refusal = written(target, model)
    # Some targets also refuse zeros that count as missing values.
    assert (made is not None) == (kind in target.kinds) or name == "LightGBM, zeros missing", refusal
    if made is not None:
        assert_same(target, model, made.content)
    else:
        assert "\n" not in refusal
        assert any(remedy in refusal for remedy in ("export to", "train "))


def tried(model):
    """Return, for each target, why the model is not written, by writing it."""
    reasons = {}
    for target in TARGETS:
        try:
            reasons[target.name] = "" if directrank.export(model, target) else "nothing"
        except ExportError as error:
            reasons[target.name] = str(error).partition("\n")[0]
    return reasons


@pytest.mark.parametrize("name", [name for name in MODELS if name != "2,000 trees"])
def test_what_targets_declare_is_what_their_writers_do(name, models):
    assert refusals(models[name]) == tried(models[name])


@pytest.mark.parametrize(
    ("names", "refusing"),
    [
        (("a", "b", "c", "d"), set()),
        (("a", "A", "c", "d"), {"sql"}),
        (("", "b", "c", "d"), {"sql", "vespa"}),
        (("bm25(title)", "attribute(price)", "c", "d"), set()),
        (("if", "b", "c", "d"), {"vespa"}),
        (("x y", "b", "c", "d"), {"vespa"}),
        (("a", "b", "c", "\0"), {target.name for target in TARGETS}),
    ],
)
def test_names_that_an_engine_refuses_are_known_without_its_file(names, refusing):
    trees = {"lightgbm", "xgboost", "treelite", "elasticsearch"}
    model = ranker(Linear(np.arange(1.0, 5.0)), names)
    assert {target for target, reason in refusals(model).items() if reason} == refusing | trees
    assert refusals(model) == tried(model)
    model = ranker(Linear(np.array([0.0, 1.0, 0.0, 0.0])), names)
    assert refusals(model) == tried(model)


def test_trees_that_divide_no_set_of_categories_are_written():
    plain = forest(3, depth=1)
    model = ranker(SetTrees.joined([plain], N_FEATURES), ("a", "b", "c", "d"))
    assert refusals(model) == refusals(ranker(plain, ("a", "b", "c", "d")))
    assert refusals(model) == tried(model)


def test_a_library_that_is_not_installed_is_known_without_its_file(monkeypatch):
    for library in ("onnx", "treelite", "treelite.model_builder"):
        monkeypatch.setitem(sys.modules, library, None)
    for weights in (np.arange(1.0, 5.0), np.zeros(4)):
        model = ranker(Linear(weights), ("a", "b", "c", "d"))
        assert "'directrank[onnx]'" in refusals(model)["onnx-double"]
        assert refusals(model) == tried(model)


SCORERS = {
    "linear": Linear(WEIGHTS, FILL),
    "log": LogLinear(WEIGHTS, WEIGHTS > 0, FILL),
    "stumps": stumps(),
}


@pytest.mark.share(4)
@pytest.mark.parametrize(("target", "scorer"), [
    pytest.param(target, scorer, id=f"{target.name}-{name}",
                 marks=[pytest.mark.heavy] if target.name in SLOW and name != "stumps" else [])
    for target in TARGETS for name, scorer in SCORERS.items()
])  # fmt: skip
def test_names_from_outside_are_escaped_or_refused(target, scorer):
    model = ranker(scorer, NAMES)
    made, refusal = written(target, model)
    if made is not None:
        assert_same(target, model, made.content)
    elif function_of(scorer, NAMES).kind in target.kinds:
        assert "rename" in refusal


@of_targets([target for target in TARGETS if "trees" in target.kinds])
def test_deep_trees_of_lightgbm_are_exported(target):
    # A path of 60 splits: SQLite's parser takes about 20 nested CASE.
    n = 60
    nodes, leaf = np.arange(2 * n + 1), np.arange(2 * n + 1) % 2 == 1
    leaf[-1] = True
    deep = Trees(
        np.zeros(1, np.int64), np.where(leaf, 0, nodes % N_FEATURES).astype(np.int32),
        np.where(leaf, 0, nodes / 40 - 1).astype(np.float32), (nodes // 2 % 2 * ~leaf).astype(np.int32),
        np.where(leaf, -1, nodes + 1).astype(np.int32), np.where(leaf, -1, nodes + 2).astype(np.int32),
        np.where(leaf, np.sin(nodes), 0.0), np.zeros(2 * n + 1),
    )  # fmt: skip
    model = ranker(deep)
    assert_same(target, model, written(target, model)[0].content)


def test_solr_refuses_thresholds_that_its_slack_moves_and_no_factor_helps():
    weak = [stump(0, 1e-38), stump(0, 1e30)]
    with pytest.raises(ExportError, match="slack of 1e-6 moves thresholds of the feature 'f1'"):
        directrank.export(ranker(Additive.of([1, 2], weak)), "solr")


@pytest.mark.parametrize(("version", "gaps"), [("2.19", 2), ("3.2", 3), ("3.7", 3), ("3.8", 1), (None, 1)])
def test_the_transcript_of_opensearch_reads_missing_values_as_the_version_does(version, gaps):
    """Split 1, at .5, sends them right, to a leaf of 1; split 2, at −.5, left, to one of 0."""
    weak = [stump(0, 0.5, fill=np.inf), stump(1, -0.5)]
    model = ranker(Additive.of([1, 2], weak), ("a", "b", "c", "d"))
    X = np.array([[np.nan] * 4, [0] * 4], np.float32)
    made = directrank.export(model, "opensearch-ltr", target_version=version)
    assert scores_by(OPENSEARCH, made.content, model, X).tolist() == [gaps, 2]
    groups = QueryGroups(X, [0, 1], [1, 1], feature_names=("a", "b", "c", "d"))
    if gaps == 3:
        with pytest.raises(ChangedOrderError):
            directrank.export(model, "opensearch-ltr", target_version=version, check=groups)
    elif gaps == 1:
        directrank.export(model, "opensearch-ltr", target_version=version, check=groups)


def test_tables_of_java_are_cut_into_pieces_without_loss(models):
    text = directrank.export(models["2,000 trees"], "java").content.decode()
    trees = models["2,000 trees"].scorer_
    for name, values in (("THRESHOLD", trees.threshold), ("LEFT", trees.left), ("VALUE", trees.value)):
        (pieces,) = re.findall(rf"{name} = (?:integers|numbers)\((.*)\);", text)
        assert all(len(piece) < 2**16 for piece in pieces.split('", "'))
        assert list(map(float, pieces.replace('", "', "").strip('"').split())) == values.tolist()


def test_scores_below_zero_are_shifted_for_lucene():
    weak = [stump(0, 0.5), stump(1, 0.5)]
    model = ranker(Additive.of([-1.5, 2], weak))
    made = directrank.export(model, "elasticsearch-ltr")
    assert made.changes == ("1.5 was added to all scores, because Lucene refuses scores below 0.",)
    target = next(each for each in TARGETS if each.name == made.target)
    X = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0]], np.float32)
    assert scores_by(target, made.content, model, X).tolist() == [1.5, 0, 2]


def test_logarithms_are_derived_features_of_other_names():
    model = ranker(LogLinear(WEIGHTS, WEIGHTS > 0, FILL), ("ln_a", "b", "c", "d"))
    made = directrank.export(model, "opensearch-ltr")
    template = '"template": "(1 + abs(ln_a)) > 1 ? ln_a * (ln(1 + abs(ln_a)) / ((1 + abs(ln_a)) - 1)) : ln_a"'
    assert any(template in need for need in made.needs)
    assert b"ln_ln_ln_a" in made.content
    assert any("'ln_a'" in need and "median" in need for need in made.needs)


def test_the_command_writes_checks_and_refuses_in_one_line(tmp_path, capsys):
    directrank.write_letor(directrank.make_ranking(n_queries=8, random_state=0), tmp_path / "test.txt")
    directrank.save(directrank.RankSVM().fit(directrank.read_letor(tmp_path / "test.txt")), tmp_path / "m.dr")
    command = ["export", str(tmp_path / "m.dr"), "--check", str(tmp_path / "test.txt"), "-o"]
    assert main([*command, str(tmp_path / "model.py"), "--to", "python"]) == 0
    out = capsys.readouterr().out
    assert "checked by Python" in out
    assert "0 inverted pairs" in out
    assert b"def score" in (tmp_path / "model.py").read_bytes()
    assert main([*command, str(tmp_path / "model.json"), "--to", "xgboost"]) == 2
    err = capsys.readouterr().err
    assert "--to xgboost: xgboost takes trees alone" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "model.json").exists()
    assert main([*command, str(tmp_path / "model.sql"), "--to", "sql", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["check"]["inversions"] == 0
