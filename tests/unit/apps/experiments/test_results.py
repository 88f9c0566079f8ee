"""`Comparison`: its data frame and its representation."""

import csv
import io
import json
import random

import pandas as pd
import polars as pl
import pytest

from directrank import compare, make_ranking
from directrank.apps.experiments import read_results
from directrank.apps.experiments.results import comparison as results
from directrank.apps.experiments.results.comparison import COLUMNS
from directrank.data import QueryGroups, tabular
from directrank.errors import DataError
from directrank.storage.strict_json import as_plain, parse, signed


@pytest.fixture(scope="module")
def result():
    groups = make_ranking(12, 6, 3, random_state=1)
    splits = [QueryGroups(groups.X, groups.relevance, groups.qid + shift) for shift in (0, 100, 200)]
    return compare(
        splits, "regression,adarank(AP)", measures=["AP", "nDCG@3"], convention="letor3", name="made"
    )


def without(monkeypatch, *libraries):
    monkeypatch.setattr(tabular, "find_spec", lambda name: None if name in libraries else object())


def test_a_frame_has_the_rows_of_the_results_file(result):
    frame = result.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert tuple(frame.columns) == COLUMNS
    rows = list(csv.DictReader(io.StringIO(result.to_csv("letor3"))))
    assert frame["value"].tolist() == [float(row["value"]) for row in rows]
    assert frame["method"].tolist() == [row["method"] for row in rows]
    assert result.to_frame("standard")["value"].tolist() == [row[-1] for row in result.rows("standard")]


def test_a_frame_of_polars_where_there_is_no_pandas(result, monkeypatch):
    without(monkeypatch, "pandas")
    frame = result.to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == list(COLUMNS)
    assert frame["value"].to_list() == [row[-1] for row in result.rows("letor3")]


def test_without_a_library_of_frames_the_remedy_is_named(result, monkeypatch):
    without(monkeypatch, "pandas", "polars")
    with pytest.raises(ImportError, match="needs pandas or polars: pip install pandas"):
        result.to_frame()


def test_the_representation_is_the_beginning_of_the_table(result, monkeypatch):
    lines = repr(result).splitlines()
    assert lines[0] == "made: test, one fold, convention letor3"
    assert lines[1].split() == ["method", "AP", "nDCG@3"]
    assert [line.split()[0] for line in lines[2:]] == ["regression", "adarank(AP)", "chosen"]
    monkeypatch.setattr(results, "SHOWN", 1)
    assert repr(result).splitlines()[-1] == "… and 2 more"
    shown = result._repr_html_()
    assert shown.startswith("<table>\n<caption>made: test, one fold, convention letor3</caption>")
    assert "regression" in shown
    assert "adarank" not in shown
    assert shown.endswith("<p>… and 2 more</p>")


@pytest.fixture(scope="module")
def content(result):
    return as_plain(result.to_dict())


def refused(content: bytes, folder, message: str) -> None:
    (folder / "results.json").write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_results(folder)
    assert "\n" not in str(caught.value)


def test_results_are_read_as_they_were_written(result, content, tmp_path):
    result.write(tmp_path)
    assert parse(signed(content).encode()) == json.loads((tmp_path / "results.json").read_bytes())
    assert read_results(tmp_path).to_csv("letor3") == result.to_csv("letor3")


def test_every_changed_byte_is_found(content, tmp_path):
    text, chance = signed(content).encode(), random.Random(0)
    for at in [0, 1, len(text) - 2, len(text) - 1, *(chance.randrange(len(text)) for _ in range(60))]:
        changed = bytearray(text)
        changed[at] ^= 1 << chance.randrange(8)
        refused(bytes(changed), tmp_path, r"results\.json: not results of directrank compare, or damaged")
    refused(text[:-1], tmp_path, "damaged")
    refused(json.dumps(json.loads(text), indent=1).encode(), tmp_path, "those that compare wrote, unchanged")


def test_files_without_a_checksum_are_refused_with_the_remedy(content, tmp_path):
    plain = json.dumps(content | {"format": "directrank results 1"}).encode()
    refused(plain, tmp_path, "Rerun the same compare command: it rebuilds the file")
    refused(json.dumps(content).encode(), tmp_path, "those that compare wrote, unchanged")


def at(content, path):
    """Return the holder of the last name of a path such as ``cells.0.values``, and that name."""
    *names, last = [int(each) if each.isdigit() else each for each in path.split(".")]
    for name in names:
        content = content[name]
    return content, last


REQUIRED = (
    "dataset", "measures", "methods", "folds", "data_check.of", "written", "methods.0.label",
    "cells.1.chosen", "cells.0.training.history", "cells.0.bounds.rows.0.name", "cells.0.fit_seconds",
    "significance.letor3.pairs.AP.0.p_holm",
)  # fmt: skip


@pytest.mark.parametrize("path", REQUIRED)
def test_what_is_missing_is_found_under_a_fresh_checksum(content, tmp_path, path):
    copy = parse(signed(content).encode())
    del copy["sha256"]
    holder, name = at(copy, path)
    del holder[name]
    refused(signed(copy).encode(), tmp_path, "damaged")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            "cells.0.values.letor3.test.AP",
            "0.5",
            r"cells\[0\]\.values\.letor3\.test\.AP: found '0.5', expected a",
        ),
        ("cells.0.values.letor3.vali.AP", float("nan"), "expected a finite number"),
        ("cells.0.fit_seconds", 10**400, "expected a finite number"),
        ("cells.0.parts.test.queries", 12.0, "expected a whole number"),
        ("refit", 1, "expected true or false"),
        ("cells.0.more", 1, "found 'more', expected one of"),
        ("measures", [], "expected a list of 1 or more"),
        ("format", 3, "format: found 3"),
    ],
)
def test_what_is_odd_is_named_under_a_fresh_checksum(content, tmp_path, path, value, message):
    copy = parse(signed(content).encode())
    del copy["sha256"]
    holder, name = at(copy, path)
    holder[name] = value
    refused(signed(copy).encode(), tmp_path, message)


def test_options_in_the_cells_of_early_releases_are_left_out(result, content, tmp_path):
    early = {**content, "cells": [{**cell, "options": {"audit": True}} for cell in content["cells"]]}
    (tmp_path / "results.json").write_text(signed(early))
    assert read_results(tmp_path).to_csv("letor3") == result.to_csv("letor3")
