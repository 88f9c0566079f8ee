"""The documented plug-ins, small data to try them on, and tables that are as before after a test."""

from pathlib import Path

import pytest

from directrank import make_ranking
from directrank.apps.cli.demos.shop import write_folds
from directrank.plugins import forget
from directrank.registries import LOADED

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
MEASURE, SURROGATE = EXAMPLES / "patience.py", EXAMPLES / "logistic_loss.py"
CUTOFF = EXAMPLES / "one_of_first.py"
SOLVER, TARGET = EXAMPLES / "descent.py", EXAMPLES / "weights_csv.py"


@pytest.fixture(autouse=True)
def nothing_loaded():
    """Whatever a test loads has its names during the test only."""
    before = set(LOADED)
    yield
    for origin in set(LOADED) - before:
        forget(origin)


@pytest.fixture
def folder(tmp_path):
    write_folds(make_ranking(36, 7, 4, random_state=3), tmp_path / "data")
    return tmp_path / "data"
