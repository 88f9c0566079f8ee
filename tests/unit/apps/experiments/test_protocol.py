"""The protocol: what is trained, chosen, kept and reported."""

import json
import os
import shutil
import signal
from functools import partial
from typing import ClassVar

import numpy as np
import pytest

import directrank
from directrank import QueryGroups, evaluate, find_folds, load, make_ranking
from directrank.apps.cli.demos.shop import write_folds
from directrank.apps.experiments import Observer, read_results
from directrank.apps.experiments.options import Options
from directrank.apps.experiments.run.protocol import prepare
from directrank.apps.experiments.splitting import Splitting
from directrank.errors import DataError
from directrank.estimators import Regression, methods
from directrank.estimators.methods import METHODS, Method
from directrank.files import write_letor
from store_files import records_of

MEASURES = ("AP", "nDCG@3")
#: Nothing here reads the bounds of an audit, which takes half of the time of a comparison.
compare = partial(directrank.compare, audit=False)


class Counting(Regression):
    """Regression that counts its fits and can be told to misbehave."""

    fits: ClassVar[list[float]] = []
    at: ClassVar[dict[int, BaseException]] = {}

    def fit(self, X, y=None, qid=None, **options):
        type(self).fits.append(self.ridge)
        if len(self.fits) in self.at:
            raise self.at[len(self.fits)]
        return super().fit(X, y, qid, **options)


class Deadly(Regression):
    """Kills the process that fits it at ridge 1."""

    def fit(self, X, y=None, qid=None, **options):
        if self.ridge == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y, qid, **options)


class Fatal(Regression):
    """Kills the process that restores it to score the test part."""

    def predict(self, X):
        if not hasattr(self, "selection_measure_"):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().predict(X)


class Broken(Regression):
    def fit(self, X, y=None, qid=None, **options):
        raise ZeroDivisionError("nothing works\n<script>alert(1)</script>")


class Upside(Regression):
    """Predicts well at ridge 0 and the other way round at any other."""

    def predict(self, X):
        scores = super().predict(X)
        return scores if self.ridge == 0 else -scores


FAKES = (
    Method("counting", Counting, "counts", "no paper", grid={"ridge": (0.0, 1.0)}),
    Method("deadly", Deadly, "kills", "no paper", grid={"ridge": (0.0, 1.0)}),
    Method("fatal", Fatal, "kills later", "no paper"),
    Method("broken", Broken, "fails", "no paper"),
    Method("upside", Upside, "chooses", "no paper", grid={"ridge": (1.0, 0.0, 2.0)}),
)


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    Counting.fits, Counting.at = [], {}
    monkeypatch.setattr(methods, "METHODS", FAKES)


@pytest.fixture(scope="module")
def groups():
    return make_ranking(36, 7, 4, random_state=3)


@pytest.fixture
def folder(groups, tmp_path_factory):
    data = tmp_path_factory.mktemp("collection") / "data"
    write_folds(groups, data)
    return data


@pytest.fixture(scope="module")
def finished(groups, tmp_path_factory):
    """The folder of the data, that of a comparison by six fits, and its result."""
    place = tmp_path_factory.mktemp("finished")
    write_folds(groups, place / "data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(methods, "METHODS", FAKES)
        result = compare(place / "data", "counting", measures=MEASURES, out=place / "run")
    return place / "data", place / "run", result


@pytest.fixture
def first(finished, tmp_path):
    """The result of that comparison, whose folder is copied to one of the test."""
    shutil.copytree(finished[1], tmp_path / "run")
    return finished[2]


@pytest.fixture
def data(finished):
    """The data of that comparison, which no test changes."""
    return finished[0]


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("change", "more"),
    [
        # The first group has one that makes no fit, one that makes all, and one that makes some.
        ({"select_by": "nDCG@3"}, 0),  # it chooses among these fits, not inside them
        ({"seed": 1}, 6),
        pytest.param({"missing": "query_min"}, 6, marks=pytest.mark.heavy),
        pytest.param({"measures": ("AP",)}, 0, marks=pytest.mark.heavy),
        pytest.param({"convention": "letor3"}, 0, marks=pytest.mark.heavy),
        pytest.param({"seeds": (0, 1)}, 6, marks=pytest.mark.heavy),
        ({"search": "random:1"}, 0),
        ({"refit": True}, 3),
        pytest.param({"restarts": 2}, 0, marks=pytest.mark.heavy),  # these fits have one start
    ],
    ids=str,
)
def test_options_make_other_fits_where_they_decide_them(data, first, tmp_path, change, more):
    options = {"measures": MEASURES, "out": tmp_path / "run"}
    changed = compare(data, "counting", **(options | change))
    assert len(Counting.fits) == more
    alone = compare(data, "counting", **(options | change | {"out": tmp_path / "alone"}))
    assert changed.to_csv("standard") == alone.to_csv("standard")


def test_changed_data_grid_and_code_make_other_fits(folder, tmp_path, monkeypatch):
    out = tmp_path / "run"
    compare(folder, "counting", measures=MEASURES, out=out)
    vali = folder / "Fold2" / "vali.txt"
    vali.write_bytes(vali.read_bytes() + b"# a remark\n")
    compare(folder, "counting", measures=MEASURES, out=out)
    assert len(Counting.fits) == 6 + 2
    other = Method("counting", Counting, "counts", "no paper", grid={"ridge": (0.0, 2.0)})
    monkeypatch.setattr(methods, "METHODS", (other,))
    compare(folder, "counting", measures=MEASURES, out=out)
    assert Counting.fits[8:] == [2.0] * 3
    monkeypatch.setattr("directrank.apps.experiments.plan.plan.code_digest", lambda: "another")
    compare(folder, "counting", measures=MEASURES, out=out)
    assert len(Counting.fits) == 11 + 6
    monkeypatch.setattr("directrank.apps.experiments.plan.plan.versions", lambda: {"numpy": "another"})
    compare(folder, "counting", measures=MEASURES, out=out)
    assert len(Counting.fits) == 17 + 6


@pytest.mark.parametrize("damage", ["truncated", "value", "empty", "other"])
def test_damaged_fit_is_made_again_and_no_other(data, first, tmp_path, damage):
    out = tmp_path / "run"
    records = [record for record in records_of(out).values() if record["label"].startswith("Fold2")]
    cells = [record["key"] for record in records if record["label"] == "Fold2 counting"]
    key, other = (record["key"] for record in records if "[" in record["label"])
    path = out / "store" / f"{key}.json"
    good = path.read_text()
    value = repr(json.loads(good)["value"]["validation"])
    bad = {
        "truncated": good[:-40], "empty": "", "other": path.with_stem(other).read_text(),
        "value": good.replace(value, "0.125"),
    }[damage]  # fmt: skip
    assert bad != good
    path.write_text(bad)
    for cell in cells:
        path.with_stem(cell).unlink()
    again = compare(data, "counting", measures=MEASURES, out=out)
    assert len(Counting.fits) == 1
    assert again.to_csv("standard") == first.to_csv("standard")


@pytest.mark.parametrize("options", [{}, {"refit": True}, {"seeds": (0, 1)}], ids=str)
def test_kept_models_are_those_that_were_tested(folder, tmp_path, options):
    options = {"measures": MEASURES, "out": tmp_path / "run", **options}
    compare(folder, "counting", **options)
    fits = len(Counting.fits)
    result = compare(folder, "counting", **options, keep_models=True)
    assert len(Counting.fits) == fits
    for fold in find_folds(folder):
        test = fold.load()[2]
        for run in result.cell("counting", fold.name)["seeds"]:
            seed = f".seed{run['seed']}" if "seeds" in options else ""
            model = load(tmp_path / "run" / "models" / fold.name / f"counting{seed}.dr")
            values = evaluate(test, model.predict(test), measures=MEASURES)
            assert {name: values[name] for name in MEASURES} == run["values"]["standard"]["test"]
            assert (model.status_, model.selected_by_) == ("converged", "nDCG@10")


def test_failing_method_is_recorded_and_the_rest_goes_on(folder, tmp_path):
    result = compare(folder, "broken,counting", measures=MEASURES, out=tmp_path / "run")
    assert [(cell["method"], cell["fold"]) for cell in result.failed] == [
        ("broken", "Fold1"),
        ("broken", "Fold2"),
        ("broken", "Fold3"),
    ]
    assert result.failed[0]["error"]["type"] == "ZeroDivisionError"
    assert result.failed[0]["error"]["message"] == "nothing works <script>alert(1)</script>"
    assert "Traceback" in result.failed[0]["error"]["traceback"]
    assert result.mean("broken", "AP", "standard") is None
    assert result.mean("counting", "AP", "standard") > 0
    assert {row[1] for row in result.rows("standard")} == {"counting", *result.references}
    assert len(Counting.fits) == 6


def test_of_a_cell_with_a_failed_fit_no_other_fit_is_made(folder):
    Counting.at = {3: RuntimeError("the first of two in Fold2")}
    assert [cell["fold"] for cell in compare(folder, "counting", measures=MEASURES).failed] == ["Fold2"]
    assert len(Counting.fits) == 5


def test_failed_cells_are_tried_again_and_finished_ones_are_not(folder, tmp_path):
    Counting.at = {4: RuntimeError("once")}
    first = compare(folder, "counting", measures=MEASURES, out=tmp_path / "run")
    assert [cell["fold"] for cell in first.failed] == ["Fold2"]
    assert first.mean("counting", "AP", "standard") is None
    Counting.at = {}
    second = compare(folder, "counting", measures=MEASURES, out=tmp_path / "run")
    assert second.failed == []
    # Of the cell that failed, only the fit that failed.
    assert len(Counting.fits) == 6 + 1


def test_interrupted_run_keeps_its_cells(folder, tmp_path):
    Counting.at = {4: KeyboardInterrupt()}
    with pytest.raises(KeyboardInterrupt):
        compare(folder, "counting", measures=MEASURES, out=tmp_path / "run")
    Counting.at = {}
    compare(folder, "counting", measures=MEASURES, out=tmp_path / "run")
    # Three fits were kept, and the fourth had begun.
    assert len(Counting.fits) == 4 + 3
    uninterrupted = compare(folder, "counting", measures=MEASURES, out=tmp_path / "other")
    assert (tmp_path / "run" / "results.csv").read_text() == uninterrupted.to_csv("standard")


def test_the_validation_part_chooses_and_the_test_part_is_measured(folder, groups):
    result = compare(folder, "upside", measures=MEASURES)
    for fold in result.folds:
        cell = result.cell("upside", fold)
        assert [each["parameters"]["ridge"] for each in cell["tried"]] == [1.0, 0.0, 2.0]
        assert cell["chosen"] == {"ridge": 0.0}
        assert cell["validation"] == max(each["validation"] for each in cell["tried"])
    thirds = np.array_split(np.arange(36), 3)
    rows = [np.isin(groups.qid, groups.queries.qid[third]) for third in thirds]
    train, test = (
        QueryGroups(groups.X[rows[part]], groups.relevance[rows[part]], groups.qid[rows[part]])
        for part in (0, 2)
    )
    expected = evaluate(test, Regression().fit(train).predict(test), measures=MEASURES)
    assert {name: result.value("upside", "Fold1", name, "standard") for name in MEASURES} == dict(expected)


def test_best_of_seeds_is_their_mean(folder, tmp_path):
    one, two, both = (
        compare(folder, "counting", measures=MEASURES, seeds=seeds) for seeds in ((1,), (2,), (1, 2))
    )
    for fold in both.folds:
        each = [result.value("counting", fold, "AP", "standard") for result in (one, two)]
        assert both.value("counting", fold, "AP", "standard") == pytest.approx(sum(each) / 2, abs=1e-15)
        assert [run["seed"] for run in both.cell("counting", fold)["seeds"]] == [1, 2]
    assert both.summary["seeds"] == [1, 2]


def test_last_fit_is_on_train_and_validation(groups):
    parts = [groups, make_shifted(groups, 100), make_shifted(groups, 200)]
    result = compare(parts, "counting", measures=MEASURES, refit=True)
    chosen = result.cells[0]["chosen"]["ridge"]
    both = QueryGroups(
        np.concatenate([parts[0].X, parts[1].X]),
        np.concatenate([parts[0].relevance, parts[1].relevance]),
        np.concatenate([parts[0].qid, parts[1].qid]),
    )
    scores = Regression(ridge=chosen).fit(both).predict(parts[2])
    expected = evaluate(parts[2], scores, measures=MEASURES)
    assert result.value("counting", "fold", "AP", "standard") == pytest.approx(expected["AP"], abs=1e-12)
    assert result.summary["refit"] is True


def test_random_search_draws_points_of_the_grid(folder, monkeypatch):
    from directrank.apps.experiments.plan.plan import points_of
    from directrank.estimators.methods import configured

    ridges = tuple(float(each) for each in range(20))
    many = Method("counting", Counting, "", "", grid={"ridge": ridges})
    monkeypatch.setattr(methods, "METHODS", (many,))
    (method,) = configured("counting")
    drawn = points_of(method, "random:5")
    assert len({each["ridge"] for each in drawn}) == 5
    assert drawn == sorted(drawn, key=lambda each: each["ridge"])
    assert drawn == points_of(method, "random:5")
    assert points_of(method, "random:20") == points_of(method, "random:99") == method.points()
    result = compare(folder, "counting", measures=MEASURES, search="random:2")
    assert [len(cell["tried"]) for cell in result.cells] == [2, 2, 2]
    for wrong in ("random", "random:0", "random:x", "all"):
        with pytest.raises(ValueError, match="expected grid, or random:N"):
            compare(folder, "counting", search=wrong)


def test_random_starts_are_made_where_a_method_takes_them(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(methods, "METHODS", METHODS)
    result = compare(folder, "approxap,regression", measures=("AP",), search="random:1", restarts=2)
    histories = [result.cell(method, "Fold1")["training"]["history"] for method in result.methods[:2]]
    starts = [{row.get("start") for row in history} for history in histories]
    assert [len(each) for each in starts] == [3, 1]
    assert result.cell("approxap", "Fold1")["chosen"]["n_restarts"] == 2
    assert "n_restarts" not in result.cell("regression", "Fold1")["chosen"]
    assert result.summary["restarts"] == 2


def test_folds_by_query_cover_every_query_once(groups, folder, tmp_path):
    from directrank.apps.experiments.plan.sources import folds_of

    write_letor(groups, tmp_path / "all.txt")
    for source in (groups, folder, tmp_path / "all.txt"):
        _, folds = folds_of(source, splitting=Splitting(4, 3))
        parts = [fold.load() for fold in folds]
        tested = [qid for _, _, test in parts for qid in test.queries.qid.tolist()]
        assert sorted(map(str, tested)) == sorted(map(str, groups.queries.qid.tolist()))
        for train, vali, test in parts:
            names = [set(map(str, part.queries.qid.tolist())) for part in (train, vali, test)]
            assert [len(each) for each in names] == [18, 9, 9]
            assert len(set.union(*names)) == 36
    assert folds[0].digests != folds_of(source, splitting=Splitting(4, 4))[1][0].digests
    result = compare(groups, "counting", measures=MEASURES, kfold=4)
    assert result.folds == ["Fold1", "Fold2", "Fold3", "Fold4"]
    with pytest.raises(ValueError, match="three folds or more"):
        folds_of(groups, splitting=Splitting(2))
    with pytest.raises(DataError, match="40 folds need 40 queries or more, not 36"):
        folds_of(groups, splitting=Splitting(40))[1][0].load()


@pytest.mark.heavy
@pytest.mark.slow
def test_processes_give_the_same_files(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(methods, "METHODS", METHODS)
    alone = compare(folder, "regression,approxap", measures=MEASURES, search="random:2", out=tmp_path / "a")
    shared = compare(
        folder, "regression,approxap", measures=MEASURES, search="random:2", out=tmp_path / "b", jobs=2
    )
    assert (tmp_path / "a" / "results.csv").read_bytes() == (tmp_path / "b" / "results.csv").read_bytes()
    assert [cell["validation"] for cell in alone.cells] == [cell["validation"] for cell in shared.cells]
    assert [cell["tried"][0]["validation"] for cell in alone.cells if cell["tried"]] == [
        cell["tried"][0]["validation"] for cell in shared.cells if cell["tried"]
    ]


@pytest.mark.heavy
def test_a_fit_that_kills_its_process_is_recorded_and_the_rest_goes_on(groups, tmp_path):
    parts = [groups, make_shifted(groups, 100), make_shifted(groups, 200)]
    result = compare(parts, "deadly,upside", measures=MEASURES, out=tmp_path, jobs=2)
    (failed,) = result.failed
    assert (failed["method"], failed["error"]["type"]) == ("deadly", "ProcessDied")
    assert "died 2 times" in failed["error"]["message"]
    assert result.mean("upside", "AP", "standard") > 0
    # The failed fit and its cell are not kept: a rerun tries them again.
    labels = [record["label"] for record in records_of(tmp_path).values()]
    assert len(labels) == len(set(labels)) == 1 + 1 + 3 + 1  # check, fit at ridge 0, three fits, their cell


@pytest.mark.heavy
def test_a_cell_whose_last_step_kills_its_process_is_recorded_whole(groups, tmp_path):
    parts = [groups, make_shifted(groups, 100), make_shifted(groups, 200)]
    result = compare(parts, "fatal,upside", measures=MEASURES, out=tmp_path, jobs=2)
    (failed,) = result.failed
    assert (failed["method"], failed["fold"]) == ("fatal", result.folds[0])
    assert failed["error"]["type"] == "ProcessDied"
    assert failed["parts"]
    assert "died 2 times" in failed["error"]["message"]
    assert result.mean("upside", "AP", "standard") > 0
    assert read_results(tmp_path).failed == result.failed


def test_parts_that_share_a_query_are_refused(groups, folder, tmp_path):
    train = folder / "Fold1" / "train.txt"
    (folder / "Fold1" / "vali.txt").write_text(train.read_text())
    with pytest.raises(DataError, match="is in train and in vali"):
        compare(folder, "counting", measures=MEASURES)
    assert Counting.fits == []
    with pytest.raises(DataError, match="is in train and in test"):
        compare([groups, make_shifted(groups, 1000), groups], "counting", measures=MEASURES)


def make_shifted(groups, by):
    return QueryGroups(groups.X, groups.relevance, groups.qid + by)


def test_largest_grade_is_that_of_all_parts(folder):
    """ERR needs the largest grade; a part without the top grade is measured on the same scale."""
    for path in folder.glob("Fold*/test.txt"):
        lines = path.read_text().splitlines(True)
        path.write_text("".join("3" + line[1:] if line[0] == "4" else line for line in lines))
    result = compare(folder, "counting", measures=("ERR@5",))
    grades = {int(grade) for part in result.cells[0]["parts"].values() for grade in part["relevance"]}
    assert {cell["computed"]["standard"]["ERR@5"] for cell in result.cells} == {f"ERR(max={max(grades)})@5"}


def test_observer_is_told_in_order(folder):
    told = []

    class Recorder(Observer):
        def planned(self, plan):
            told.append(("planned", plan.n_fits))

        def checked(self, lines):
            told.append(("checked",))

        def starting(self, fold, method, n_points):
            told.append(("starting", fold, method, n_points))

        def fitted(self):
            told.append(("fitted",))

        def finished(self, cell, reused):
            told.append(("finished", cell["fold"], reused))

    compare(folder, "counting", measures=MEASURES, observer=Recorder())
    one = [("starting", "Fold1", "counting", 2), ("fitted",), ("fitted",), ("finished", "Fold1", False)]
    assert told[:6] == [("planned", 6), ("checked",), *one]


def test_a_measure_that_chooses_inside_a_fit_makes_other_fits(folder, monkeypatch):
    monkeypatch.setattr(methods, "METHODS", METHODS)

    def keys(method, by):
        plan, _ = prepare(folder, method, Options(select_by=by))
        return {fit.key for cell in plan.cells for fit in cell.fits}

    for method in ("ranksvm", "listnet", "approxap", "adarank(AP)", "regression"):
        assert keys(method, "AP") == keys(method, "nDCG@3")
    for method in ("rankboost", "rankcosine", "adarank"):
        assert not keys(method, "AP") & keys(method, "nDCG@3")
