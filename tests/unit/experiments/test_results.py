"""`Comparison`: its data frame and its representation."""

import csv
import io

import pandas as pd
import polars as pl
import pytest

from directrank import compare, make_ranking
from directrank.data import QueryGroups
from directrank.experiments import results
from directrank.experiments.results import COLUMNS


@pytest.fixture(scope="module")
def result():
    groups = make_ranking(12, 6, 3, random_state=1)
    splits = [QueryGroups(groups.X, groups.relevance, groups.qid + shift) for shift in (0, 100, 200)]
    return compare(
        splits, "regression,adarank(AP)", measures=["AP", "nDCG@3"], convention="letor3", name="made"
    )


def without(monkeypatch, *libraries):
    monkeypatch.setattr(results, "find_spec", lambda name: None if name in libraries else object())


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
