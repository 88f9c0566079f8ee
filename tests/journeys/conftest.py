"""Every journey types its commands in a folder of its own, which its module's tests share."""

import contextlib
import io
import os
import shlex
from pathlib import Path

import pytest

from directrank.apps.cli import main
from journeys.shop import write_shop


def pytest_collection_modifyitems(items):
    # What a command warns of is no error for a reader.
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.filterwarnings("default"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The current folder, with two months of a shop."""
    here, made = Path.cwd(), tmp_path_factory.mktemp("journey")
    os.chdir(made)
    write_shop(made / "shop.csv", 120, seed=1)
    write_shop(made / "next.csv", 100, seed=2, first=2**35)
    yield made
    os.chdir(here)


@pytest.fixture(scope="module")
def directrank(folder):
    """Return a function that runs a command line in that folder and returns what it printed.

    Its attribute `said` is what the last command wrote on standard error.
    """

    def run(line: str, code: int = 0) -> str:
        printed, said = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
            ended = main(shlex.split(line))
        run.said = said.getvalue()
        assert ended == code, f"{line}\n{run.said}"
        return printed.getvalue()

    return run
