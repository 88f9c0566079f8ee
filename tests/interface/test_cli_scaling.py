"""Scaling on the command line: printed by fit, saved, chosen by a comparison, shown on the page."""

import json

import numpy as np
import pytest

from commands import run
from directrank import QueryGroups, make_ranking
from directrank.apps.cli.demos.shop import write_folds


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Folds whose features have heavy tails."""
    made = make_ranking(36, 14, 4, random_state=3)
    X = np.exp(2.5 * made.X)
    monkeypatch.chdir(tmp_path)
    write_folds(QueryGroups(X, made.relevance, made.qid), tmp_path / "data")
    return tmp_path / "data"


def test_a_comparison_chooses_a_scaling_and_shows_it(folder, capsys):
    options = ("--measures", "AP", "--no-audit", "--set", "listnet.penalty=0.01", "-q")
    names = ("--methods", "regression,listnet")
    assert run(capsys, "compare", folder, *names, *options, "--out", "auto")[0] == 0
    cells = json.loads((folder.parent / "auto" / "results.json").read_text())["cells"]
    assert {cell["scaling"]["kind"] for cell in cells} == {"log"}
    page = (folder.parent / "auto" / "report.html").read_text()
    assert "4 of 4 features have heavy tails" in page
    grid = ("--grid", "scaling=none,standard,log,query")
    assert run(capsys, "compare", folder, *names, *options, *grid, "--out", "grid")[0] == 0
    cells = json.loads((folder.parent / "grid" / "results.json").read_text())["cells"]
    assert all(len(cell["tried"]) == 4 for cell in cells)
    for cell in cells:
        best = max(cell["tried"], key=lambda each: each["validation"])
        assert cell["chosen"] == best["parameters"]
