"""External estimators by name: what is looked up, refused, set and listed. Small fits."""

import numpy as np
import pytest

from directrank import compare, evaluate, make_ranking
from directrank.apps.experiments.options import Options
from directrank.apps.experiments.plan import external_estimators
from directrank.apps.experiments.plan.entries import EXTERNAL
from directrank.apps.experiments.plan.external_estimators import (
    Watch,
    rows_of,
)
from directrank.apps.experiments.run.protocol import prepare

NAMES = [each.name for each in EXTERNAL if each.library != "catboost"]
#: Small fits.
SMALL = {"settings": {"n_estimators": 12, "learning_rate": 0.3, "colsample_bytree": 0.5}, "seeds": [0]}
GRIDS = {
    "lightgbm": {"num_leaves": (3, 5), "min_child_samples": (5,)},
    "xgboost": {"max_depth": (2, 3), "min_child_weight": (0.1,)},
}


@pytest.fixture(scope="module")
def parts():
    data = make_ranking(45, 8, 4, random_state=1)
    return [data.select(piece) for piece in np.array_split(np.arange(data.n_queries), 3)]


def small(parts, name, **options):
    return compare(parts, [name], grids=GRIDS[name.partition(":")[0]], audit=False, **(SMALL | options))


@pytest.mark.parametrize("name", NAMES)
def test_a_library_of_trees_is_a_row(parts, name):
    result = small(parts, name, select_by="nDCG@5", measures=("nDCG@5", "AP"))
    cell = result.cell(name, "fold")
    assert len(cell["tried"]) == 2
    assert cell["training"]["status"] == "complete"
    assert 0 < cell["training"]["iterations"] <= 12
    history = [row["monitor"] for row in cell["training"]["history"]]
    # The scores kept are those of the best round, and the monitor is the measure of selection itself.
    assert cell["validation"] == max(history)
    assert cell["values"]["standard"]["vali"]["nDCG@5"] == pytest.approx(cell["validation"], abs=1e-12)
    constant = evaluate(parts[2], np.zeros(parts[2].n_docs), measures=["nDCG@5"])["nDCG@5"]
    assert result.mean(name, "nDCG@5", "standard") > constant + 0.05
    assert any(name.partition(":")[0] in library for library in result.summary["environment"])
    assert result.to_csv("standard") == small(
        parts, name, select_by="nDCG@5", measures=("nDCG@5", "AP")
    ).to_csv("standard")


def test_lightgbm_is_what_its_own_estimator_gives(parts):
    """At the round that our monitor keeps, with the same parameters."""
    from lightgbm import LGBMRanker

    result = small(parts, "lightgbm:lambdarank")
    cell = result.cell("lightgbm:lambdarank", "fold")
    history = [row["monitor"] for row in cell["training"]["history"]]
    train, test = rows_of(parts[0]), rows_of(parts[2])
    ranker = LGBMRanker(
        objective="lambdarank", random_state=0, n_jobs=1, deterministic=True, force_row_wise=True,
        verbosity=-1, n_estimators=1 + int(np.argmax(history)), learning_rate=0.3, colsample_bytree=0.5,
        **cell["chosen"],
    ).fit(train.X, train.relevance, group=train.sizes)  # fmt: skip
    scores = test.to_caller(ranker.predict(test.X))
    assert result.mean("lightgbm:lambdarank", "AP", "standard") == evaluate(parts[2], scores)["AP"]


def test_a_fit_stops_after_rounds_without_a_better_value(monkeypatch, parts):
    monkeypatch.setattr(external_estimators, "PATIENCE", 2)
    watch = Watch(lambda scores: scores[0], type("Rows", (), {"to_caller": staticmethod(lambda s: s)})())
    ends = []
    for value in (0.1, 0.3, 0.3, 0.2):
        watch([value])
        ends.append(watch.is_over)
    assert watch.best == 2
    assert ends == [False, False, False, True]


def test_settings_and_grids_reach_an_external_estimator_by_name_label_and_parameter(parts):
    options = Options(
        settings={"lightgbm:lambdarank.n_estimators": 7, "sklearn:sklearn.linear_model.Ridge.tol": 0.1},
        grids={"Ridge.alpha": (1.0, 2.0), "num_leaves": (3, 4, 5), "lambdarank_truncation_level": (5,)},
        baseline="sklearn:sklearn.linear_model.Ridge",
    )
    plan, _ = prepare(parts, "lightgbm:lambdarank, sklearn:sklearn.linear_model.Ridge", options)
    trees, ridge = plan.methods
    assert trees.fixed["n_estimators"] == 7
    assert trees.grid["num_leaves"] == (3, 4, 5)
    assert trees.grid["lambdarank_truncation_level"] == (5,)
    assert (ridge.fixed, ridge.grid) == ({"tol": 0.1}, {"alpha": (1.0, 2.0)})
    assert plan.options.baseline == "Ridge"
    assert plan.n_fits == 3 * 3 * 2 + 3 * 2
    for wrong in ({"Ridge.alhpa": (1,)}, {"lightgbm:lambdarank.leaves": (1,)}):
        with pytest.raises(ValueError, match="has no parameter"):
            prepare(parts, "lightgbm:lambdarank, sklearn:sklearn.linear_model.Ridge", Options(grids=wrong))


def test_rankers_of_the_libraries_are_external_estimators_as_objects(parts):
    from lightgbm import LGBMRanker
    from xgboost import XGBRanker

    objects = [LGBMRanker(n_estimators=5, num_leaves=3, min_child_samples=5), XGBRanker(n_estimators=5)]
    result = compare(parts, objects, measures=("AP",), audit=False, jobs=1)
    assert result.methods[:2] == ["LGBMRanker", "XGBRanker"]
    assert not result.failed
    assert [run["seed"] for run in result.cell("XGBRanker", "fold")["seeds"]] == [0, 1, 2]
    assert all(label in result.headline("standard").caption for label in result.methods[:2])
