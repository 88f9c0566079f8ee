"""Names of data sets: hostile ones reach no path, and no output stumbles over them."""

import csv
import io
import json
import os
from pathlib import Path

import pytest

from directrank import QueryGroups, compare, make_ranking
from directrank.apps.cli import main
from directrank.apps.cli.demos.shop import write_folds
from directrank.apps.experiments import read_results
from directrank.apps.report import render
from directrank.estimators import Regression
from directrank.estimators.method import Configured, Method
from directrank.storage.names import printable, slug

HOSTILE = [
    "../../evil", "/absolute", "a\nb\x1b[31m", "x" * 5000, os.fsdecode(b"\xff\xfe"), "é", "e\u0301",
    "OHSUMED",
    "ohsumed", "\u202egnp.exe", "=1+1", "CON", "\ud800", "..",
]  # fmt: skip


@pytest.fixture(scope="module")
def fold(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("names")
    write_folds(make_ranking(24, 6, 3, random_state=1), folder)
    return folder / "Fold1"


def test_names_are_labels_and_folders_come_from_slugs(fold, tmp_path, monkeypatch, capsys):
    here = tmp_path / "deep" / "here"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    for name in HOSTILE:
        words = ["compare", str(fold), "--methods", "regression", "--measures", "AP", "--no-audit", "-q"]
        assert main([*words, "--name", name]) == 0
        shown = capsys.readouterr().out
        folder = here / "runs" / slug(name)
        label = printable(name)
        assert shown.startswith(f"{label}: test, one fold")
        assert read_results(folder).dataset == label
        rows = list(csv.reader(io.StringIO((folder / "results.csv").read_text(encoding="utf-8"))))
        assert {row[0] for row in rows[1:]} == {label}
        assert json.loads((folder / "results.json").read_bytes())["dataset"] == label
        (folder / "report.html").read_text(encoding="utf-8")
    assert len(list((here / "runs").iterdir())) == len(HOSTILE)
    assert [each.name for each in tmp_path.iterdir()] == ["deep"]
    assert [each.name for each in here.parent.iterdir()] == ["here"]


def test_names_of_methods_features_and_queries(tmp_path):
    groups = make_ranking(12, 6, 3, random_state=1)
    names = [f"q\udcff\n{number}" for number in range(36)]
    splits = [
        QueryGroups(
            groups.X, groups.relevance, [names[12 * part + int(each) - 1] for each in groups.qid],
            feature_names=["a\n", "\udcff", "\x1b["], name="d\udcff",
        )
        for part in range(3)
    ]  # fmt: skip
    method = Method("mine", Regression, "mine", "")
    chosen = [Configured("m\udcff\n", method, None, "AP"), "regression"]
    compare(splits, chosen, measures=["AP"], out=tmp_path)
    back = read_results(tmp_path)
    assert back.trained == [r"m\xff\n", "regression"]
    assert back.dataset == r"d\xff"
    assert back.cells[0]["weights"]["features"] == [r"a\n", r"\xff", r"\x1b["]
    render(back).encode()
