"""A number is stored under the digest of the bytes that it came from."""

import os
from pathlib import Path

import pytest

from directrank import compare, make_ranking
from directrank.apps.cli.demos.shop import write_folds
from directrank.apps.experiments import Observer
from directrank.apps.experiments.store.store import Store
from directrank.errors import DataError


@pytest.fixture
def folder(tmp_path):
    write_folds(make_ranking(36, 7, 4, random_state=3), tmp_path / "data")
    return tmp_path / "data"


def turned(path: Path) -> None:
    """Change the grades of a file, and neither its size nor its times."""
    state, lines = path.stat(), path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(b"%d" % (4 - int(line[:1])) + line[1:] for line in lines))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


class Changing(Observer):
    """Changes a file when the plan is made, or after the first fold has been read."""

    def __init__(self, path: Path, when: str):
        self.path, self.when, self.folds = path, when, {}

    def planned(self, plan):
        self.folds = {step.key: cell.fold.name for cell in plan.cells for step in (cell, *cell.fits)}
        if self.when == "planned":
            turned(self.path)

    def checked(self, lines):
        if self.when == "checked":
            turned(self.path)


@pytest.mark.share(3)
@pytest.mark.parametrize("part", ["train", "vali", "test"])
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.heavy)])
def test_a_file_that_changes_before_its_fold_is_read_ends_the_comparison(folder, tmp_path, part, jobs):
    path, out = folder / "Fold3" / f"{part}.txt", tmp_path / "run"
    observer = Changing(path, "checked")
    with pytest.raises(DataError, match=rf"Fold3/{part}\.txt: changed while the comparison ran"):
        compare(folder, "regression", measures=["AP"], audit=False, out=out, jobs=jobs, observer=observer)
    kept = Store(out).records(observer.folds)
    assert {observer.folds[key] for key in kept} <= {"Fold1", "Fold2"}
    again = compare(folder, "regression", measures=["AP"], audit=False, out=out)
    alone = compare(folder, "regression", measures=["AP"], audit=False)
    assert again.to_csv("standard") == alone.to_csv("standard")


def test_a_file_that_changes_before_anything_is_read_leaves_nothing(folder, tmp_path):
    observer = Changing(folder / "Fold1" / "test.txt", "planned")
    with pytest.raises(DataError, match="changed while the comparison ran"):
        compare(folder, "regression", measures=["AP"], audit=False, out=tmp_path / "run", observer=observer)
    assert not (tmp_path / "run" / "store").exists()


def test_a_changed_file_of_the_same_size_and_time_is_another_file(folder, tmp_path):
    before = compare(folder, "regression", measures=["AP"], audit=False, out=tmp_path / "run")
    turned(folder / "Fold1" / "test.txt")
    after = compare(folder, "regression", measures=["AP"], audit=False, out=tmp_path / "run")
    assert after.summary["folds"][0]["sha256"] != before.summary["folds"][0]["sha256"]
    assert after.value("regression", "Fold1", "AP", "standard") != before.value(
        "regression", "Fold1", "AP", "standard"
    )
