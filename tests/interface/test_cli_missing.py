"""Missing values on the command line: NULL and empty cells are trained on, said and ranked."""

import re

import numpy as np
import pytest

from commands import run
from directrank import QueryGroups, load, make_ranking
from directrank.apps.cli.demos.shop import write_folds
from directrank.files.letor import read_letor


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Folds with NULL."""
    made = make_ranking(36, 14, 4, random_state=3)
    X = np.where(np.random.default_rng(0).random(made.X.shape) < 0.2, np.nan, made.X)
    monkeypatch.chdir(tmp_path)
    write_folds(QueryGroups(X, made.relevance, made.qid), tmp_path / "data")
    return tmp_path / "data"


def test_fit_says_what_it_filled_and_rank_fills_the_same(folder, capsys):
    train, test = folder / "Fold1" / "train.txt", folder / "Fold1" / "test.txt"
    assert "NULL" in train.read_text()
    code, out, err = run(capsys, "fit", "listnet", train, "-o", "model.dr")
    assert code == 0
    assert re.search(r"note: filled \d+ missing values of 4 features by their training medians", out)
    assert re.search(r"data check: 4 features have missing values, \d+\.\d% of all cells \(feature 1 ", err)
    assert run(capsys, "rank", "model.dr", test, "-o", "scores.txt")[0] == 0
    np.testing.assert_allclose(np.loadtxt("scores.txt"), load("model.dr").predict(read_letor(test)))
