"""`compare` with `auto` and its default members, in each way that data are divided and work is done."""

import csv
import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.heavy

FOLDS = {"Fold1", "Fold2", "Fold3"}
#: Both rows, and what stands beside every comparison.
ROWS = {"auto(nDCG@10)", "ranksvm", "chosen on validation", "prior", "best single feature"}


@pytest.fixture(scope="module", params=[60, pytest.param(1000, marks=pytest.mark.slow)])
def folder(request, tmp_path_factory):
    """`judged.csv` with a date, and the same queries as three files."""
    folder, rng, n = tmp_path_factory.mktemp("auto"), np.random.default_rng(5), request.param
    parts = {"train": [], "vali": [], "test": []}
    for query in range(n):
        x = rng.normal(size=(8, 5))
        grades = np.clip(np.round(x[:, 0] + x[:, 1] * x[:, 2] + rng.normal(size=8)), 0, 3)
        part = ("train", "train", "train", "vali", "test")[query % 5]
        day = f"2026-01-{1 + 30 * query // n:02d}"
        parts[part] += [
            [f"q{query}", int(grade), day, *row] for grade, row in zip(grades, x.tolist(), strict=True)
        ]
    for name, rows in {**parts, "judged": [row for part in parts.values() for row in part]}.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["qid", "relevance", "day", "a", "b", "c", "d", "e"], *rows])
    return folder


def compared(folder, *words):
    """Run the command; return the test values of nDCG@10 by method and fold, and the text of the file."""
    words = ["compare", *words, "--methods", "auto,ranksvm", "--no-audit", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", "directrank", *words], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    text = (folder / words[words.index("--out") + 1] / "results.csv").read_text()
    rows = [row for row in csv.DictReader(text.splitlines()) if row["split"] == "test"]
    return {
        (row["method"], row["fold"]): float(row["value"]) for row in rows if row["measure"] == "nDCG@10"
    }, text


def test_every_way_of_comparing_auto_has_all_rows(folder):
    of_folds = "judged.csv", "--drop", "day", "--kfold", "3", "--out"
    values, text = compared(folder, *of_folds, "folds")
    assert values.keys() == {(row, fold) for row in ROWS for fold in FOLDS}
    assert all(0.4 < value <= 1.0 for value in values.values())
    # Half of what is finished is lost, and what is printed.
    for at, path in enumerate(sorted((folder / "folds" / "store").iterdir())):
        if at % 2:
            path.unlink()
    (folder / "folds" / "results.csv").unlink()
    assert compared(folder, *of_folds, "folds")[1] == text
    assert compared(folder, *of_folds, "processes", "--jobs", "2")[1] == text
    files = "train.csv", "vali.csv", "test.csv", "--drop", "day", "--out"
    for words in (
        ("judged.csv", "--split-by", "day", "--test-from", "2026-01-25", "--out", "days"),
        (*files, "files"),
        (*files, "refit", "--refit"),
    ):
        rows = {row for row, _ in compared(folder, *words)[0]}
        assert rows == ROWS
