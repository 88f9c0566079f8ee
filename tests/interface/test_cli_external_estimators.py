"""External estimators on the command line: names, settings, exit codes and lines."""

import pytest

from commands import run
from directrank import make_ranking
from directrank.apps.cli.demos.shop import write_folds


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_folds(make_ranking(30, 6, 4, random_state=1), tmp_path / "data")
    return "data"


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
