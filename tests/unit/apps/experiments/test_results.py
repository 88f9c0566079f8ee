"""`Comparison`: its data frame and its representation."""

import csv
import io
import json
import random

import pandas as pd
import pytest

from directrank import compare, make_ranking
from directrank.apps.experiments import read_results
from directrank.apps.experiments.results.comparison import COLUMNS
from directrank.data import QueryGroups
from directrank.errors import DataError
from directrank.storage.strict_json import as_plain, parse, signed


@pytest.fixture(scope="module")
def result():
    groups = make_ranking(12, 6, 3, random_state=1)
    splits = [QueryGroups(groups.X, groups.relevance, groups.qid + shift) for shift in (0, 100, 200)]
    return compare(
        splits, "regression,adarank(AP)", measures=["AP", "nDCG@3"], convention="letor3", name="made"
    )


def test_a_frame_has_the_rows_of_the_results_file(result):
    frame = result.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert tuple(frame.columns) == COLUMNS
    rows = list(csv.DictReader(io.StringIO(result.to_csv("letor3"))))
    assert frame["value"].tolist() == [float(row["value"]) for row in rows]
    assert frame["method"].tolist() == [row["method"] for row in rows]
    assert result.to_frame("standard")["value"].tolist() == [row[-1] for row in result.rows("standard")]


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
