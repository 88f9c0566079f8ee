"""External estimators on the command line: names, settings, exit codes and lines."""

import json

import pytest

from commands import run
from directrank import make_ranking
from directrank.apps.cli.demos.shop import write_folds
from directrank.apps.experiments.plan import external_estimators
from directrank.errors import install_line


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_folds(make_ranking(30, 6, 4, random_state=1), tmp_path / "data")
    return "data"


@pytest.mark.heavy
def test_names_with_colons_settings_and_grids(folder, capsys):
    arguments = [
        "compare", folder, "--methods", "regression, lightgbm:lambdarank, sklearn:sklearn.linear_model.Ridge",
        "--set", "lightgbm:lambdarank.n_estimators=4", "--grid", "lightgbm:lambdarank.num_leaves=3,5",
        "--set", "lightgbm:lambdarank.min_child_samples=5", "--grid", "Ridge.alpha=1,2", "--measures", "AP",
        "--out", "run", "--no-audit",
    ]  # fmt: skip
    code, out, err = run(capsys, *arguments, "--dry-run")
    assert (code, out) == (0, "39 fits: 3 methods, 3 folds of data\n")
    code, out, err = run(capsys, *arguments)
    assert code == 0, err
    assert "lightgbm:lambdarank (b)" in out
    assert "mean of 3 seeds: lightgbm:lambdarank, Ridge" in out
    assert run(capsys, *arguments, "--quiet", "--json")[0] == 0
    code, out, err = run(capsys, "report", "run", "-o", "page.html")
    assert code == 0


def test_a_row_that_fails_is_one_line_and_the_rest_goes_on(folder, capsys, tmp_path):
    (tmp_path / "runs").mkdir()
    for fold in (1, 2, 3):
        (tmp_path / "runs" / f"Fold{fold}.run").write_text("1 Q0 nobody 1 0.5 tag\n")
    arguments = [
        "compare",
        folder,
        "--methods",
        "regression, runs:mine=runs",
        "--measures",
        "AP",
        "--out",
        "run",
    ]
    code, out, err = run(capsys, *arguments, "--quiet")
    assert code == 4
    assert len([line for line in err.splitlines() if "mine failed on" in line]) == 3
    assert "regression" in out


@pytest.mark.parametrize(
    ("methods", "code", "message"),
    [
        ("lightgbm:lambda", 2, "--methods lightgbm:lambda: no method is called"),
        ("sklearn:os.path", 2, "is not of an installed package"),
        ("runs:a=none", 2, "there is no folder none"),
        ("regression, runs:a=empty", 3, "empty: no ranking of Fold1"),
        ("lightgbm:lambdarank, lightgbm:lambdarank", 2, "is named twice"),
    ],
)
def test_what_cannot_be_compared_is_one_line_before_training(
    folder, capsys, tmp_path, methods, code, message
):
    (tmp_path / "empty").mkdir()
    found, _, err = run(capsys, "compare", folder, "--methods", methods, "--out", "run")
    assert found == code
    assert message in err
    assert len(err.splitlines()) == 1


def test_methods_lists_what_installs_a_missing_library(capsys, monkeypatch):
    code, out, _ = run(capsys, "methods")
    assert code == 0
    assert "lightgbm:lambdarank" in out
    assert "runs:NAME=FOLDER" in out
    monkeypatch.setattr(external_estimators, "find_spec", lambda name: None)
    assert install_line("catboost") in run(capsys, "methods")[2]
    listed = {each["name"]: each for each in json.loads(run(capsys, "methods", "--json")[1])}
    assert listed["xgboost:rank:map"]["install"] == install_line("xgboost")
    code, _, err = run(capsys, "methods", "xgboost:rank:map")
    assert (code, len(err.splitlines())) == (2, 1)
