"""Settings and grids of a comparison: which methods they change, and what is refused."""

import pytest

from directrank import compare, make_ranking
from directrank.apps.experiments import read_results
from directrank.apps.experiments.plan.entries import methods_of, overridden
from directrank.apps.experiments.run.protocol import Options, prepare
from directrank.data import QueryGroups


def of(methods):
    return {each.label: (dict(each.method.fixed), dict(each.method.grid)) for each in methods}


@pytest.fixture(scope="module")
def three():
    return methods_of("regression,ranksvm,adarank(AP),adarank(nDCG@3)")


def test_a_parameter_is_set_in_all_methods_that_have_it(three):
    changed = of(overridden(three, {"penalty": 0.5}, {}))
    fixed, grid = changed["ranksvm"]
    assert fixed["penalty"] == 0.5
    assert "penalty" not in grid
    for label in ("regression", "adarank(AP)", "adarank(nDCG@3)"):
        assert changed[label] == of(three)[label]


def test_a_prefix_names_one_method_by_name_or_label(three):
    changed = of(overridden(three, {"adarank.rounds": 7, "adarank(AP).rounds": 3}, {}))
    assert changed["adarank(nDCG@3)"][0]["rounds"] == 7
    changed = of(overridden(three, {"adarank(AP).rounds": 3, "rounds": 5}, {}))
    assert changed["adarank(AP)"][0]["rounds"] == 3
    assert changed["adarank(nDCG@3)"][0]["rounds"] == 5


def test_a_name_of_another_library_sets_what_means_the_same(three):
    changed = of(overridden(three, {"n_estimators": 7}, {}))
    assert changed["adarank(nDCG@3)"][0]["rounds"] == changed["adarank(AP)"][0]["rounds"] == 7
    assert changed["ranksvm"] == of(three)["ranksvm"]


def test_a_grid_replaces_the_own_one(three):
    changed = of(overridden(three, {}, {"ranksvm.penalty": [0.25, 0.5]}))
    assert changed["ranksvm"][1] == {**of(three)["ranksvm"][1], "penalty": (0.25, 0.5)}
    assert of(overridden(three, {}, {"adarank.rounds": (3, 4)}))["adarank(AP)"][1]["rounds"] == (3, 4)


@pytest.fixture(scope="module")
def splits():
    groups = make_ranking(12, 6, 3, random_state=1)
    return [QueryGroups(groups.X, groups.relevance, groups.qid + shift) for shift in (0, 100, 200)]


def test_other_settings_and_grids_make_other_fits_and_are_recorded(splits, tmp_path):
    keys = set()
    for settings, grids, points in (
        ({}, {}, None),
        ({"penalty": 0.5}, {}, 1),
        ({}, {"penalty": (0.5,)}, 1),
        ({}, {"ranksvm.penalty": (0.25, 0.5)}, 2),
    ):
        plan, _ = prepare(splits, "ranksvm", Options(settings=settings, grids=grids))
        assert points in (None, plan.n_fits)
        keys.add(plan.cells[0].key)
    assert len(keys) == 4
    compare(
        splits, "ranksvm,regression", measures=["AP"], out=tmp_path, audit=False,
        grids={"ranksvm.penalty": (0.25, 0.5)}, settings={"regression.ridge": 2.0},
    )  # fmt: skip
    back = read_results(tmp_path)
    assert back.summary["settings"] == {"regression.ridge": 2.0}
    assert back.summary["grids"] == {"ranksvm.penalty": [0.25, 0.5]}
    tried = back.cell("ranksvm", back.folds[0])["tried"]
    assert [each["parameters"]["penalty"] for each in tried] == [0.25, 0.5]
