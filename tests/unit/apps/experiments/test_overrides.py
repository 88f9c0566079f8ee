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


@pytest.mark.parametrize(
    ("settings", "grids", "message"),
    [
        ({"penalti": 1}, {}, "no method has a parameter 'penalti'; did you mean penalty.*known: "),
        ({"ranksvm.rounds": 1}, {}, "ranksvm has no parameter rounds; it has: "),
        ({"listnet.penalty": 1}, {}, "listnet is not one of the methods: regression, ranksvm"),
        ({"ranksmv.penalty": 1}, {}, "did you mean ranksvm"),
        ({"penalty": "high"}, {}, "penalty must be a number > 0, not .high. .ranksvm"),
        ({"rounds": 2.5}, {}, "rounds must be a whole number ≥ 1, not 2.5 .adarank"),
        ({"measure": "AP"}, {}, "write the measure in brackets"),
        ({"eval_metric": "AP"}, {}, "eval_metric cannot be set here; use --select-by"),
        ({"ranksvm.C": 1}, {}, "^ranksvm has no parameter C; use penalty .default 0.1.: "),
        ({}, {"penalty": []}, "one value or more"),
        ({}, {"penalty": [0.1, "x"]}, "penalty must be a number > 0, not .x."),
    ],
)
def test_what_fits_no_method_is_refused(three, settings, grids, message):
    with pytest.raises(ValueError, match=message):
        overridden(three, settings, grids)


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


def test_values_that_a_method_does_not_take_are_refused_before_anything_runs(splits):
    with pytest.raises(ValueError, match="cubic"):
        compare(splits, "ranksvm", settings={"margin": "cubic"})
