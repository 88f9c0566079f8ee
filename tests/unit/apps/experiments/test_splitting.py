"""Queries divided at a date, or into random folds that never divide a text."""

import datetime

import numpy as np
import pytest

from directrank import DataError, QueryGroups
from directrank.apps.cli import main
from directrank.apps.experiments.splitting import Splitting

#: Ten searches of two documents each: the text and the day of each.
TEXTS = ["tea", "cup", "tea", "pot", "pan", "cup", "jug", "mug", "tea", "pot"]
DAYS = [f"2026-08-{day:02d}" for day in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)]


def groups(texts=TEXTS):
    rows = 2 * len(texts)
    return QueryGroups(
        np.arange(rows)[:, None], np.tile([0, 1], len(texts)), np.repeat(np.arange(len(texts)), 2)
    )


def of_rows(values):
    return np.repeat(np.array(values), 2)


def parts(splitting, data=None):
    return [[part.tolist() for part in fold] for fold in splitting.parts(data or groups(), [])]


@pytest.fixture
def log(tmp_path, monkeypatch):
    lines = ["search_id,query,date,bm25,label"]
    for search, (text, day) in enumerate(zip(TEXTS, DAYS, strict=True)):
        lines += [f"{search},{text},{day},{0.1 * search + document},{document}" for document in (0, 1)]
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    return "log.csv"


@pytest.mark.parametrize("first", ["2026-08-08", "2026-08-08T00:00:00", datetime.date(2026, 8, 8)])
def test_queries_from_a_day_on_test_and_the_last_fifth_before_validates(first):
    # Seven queries are before: of these 5.6, which is 5, train.
    assert parts(Splitting(split_by=of_rows(DAYS), test_from=first)) == [[[0, 1, 2, 3, 4], [5, 6], [7, 8, 9]]]


def test_times_of_one_query_may_differ_on_one_side():
    times = np.array([f"{day} {hour}:00" for day in DAYS for hour in ("08", "09")])
    assert parts(Splitting(split_by=times, test_from="2026-08-08"))[0][2] == [7, 8, 9]
    with pytest.raises(
        DataError, match=r"query 7 has rows before and from 2026-08-08 08:30 \(1 such queries\)"
    ):
        parts(Splitting(split_by=times, test_from="2026-08-08 08:30"))


def test_times_are_instants_whatever_their_zone_and_form():
    """01:30+02:00 is 23:30 of the day before in UTC: queries 0 to 5 are before, 6 to 9 from it on."""
    times = [
        "2026-08-31T20:00Z", "2026-08-31 20:00:01+00:00", "2026-08-31T23:59:59,999999999Z",
        "2026-09-01T01:30:00+02:00", "2026-09-01 01:59:59.9+0200", "2026-08-31 18:59:59-05:00",
        "2026-08-31 19:00:00 -05", "2026-09-01 00:00:00.000000001Z", "2026-09-01T05:00:00+05:00",
        "2026-09-01 00:00 UTC",
    ]  # fmt: skip
    splitting = Splitting(
        split_by=of_rows(times), test_from="2026-09-01T00:00Z", vali_from="2026-08-31T23:59:58Z"
    )
    assert parts(splitting) == [[[0, 1, 3], [2, 4, 5], [6, 7, 8, 9]]]
    splitting = Splitting(split_by=of_rows(times), test_from="2026-09-01", vali_from="2026-08-31T23:59:58Z")
    with pytest.warns(UserWarning, match="times are of 4 zones, and 2026-09-01 is that of UTC"):
        assert parts(splitting)[0][2] == [6, 7, 8, 9]


def test_equal_texts_are_in_one_fold_and_folds_are_about_as_large():
    folds = parts(Splitting(k=3, seed=1, fold_by=of_rows(TEXTS)))
    assert sorted(query for _, _, test in folds for query in test) == list(range(10))
    for train, vali, test in folds:
        assert not {TEXTS[query] for query in test} & {TEXTS[query] for query in [*train, *vali]}
        assert not {TEXTS[query] for query in vali} & {TEXTS[query] for query in train}
        # tea, three searches; cup and pot, two each; three more: 4, 3 and 3.
        assert len(test) in (3, 4)


@pytest.mark.filterwarnings("always")
def test_the_command_line_says_where_a_text_is_on_both_sides(log, capsys):
    words = ["compare", log, "--methods", "regression", "--measures", "AP", "--kfold", "3", "--out"]
    assert main([*words, "a", "--drop", "query,date"]) == 0
    assert "--fold-by query (in Python, fold_by=) keeps a text on one side" in capsys.readouterr().err
    assert main([*words, "b", "--drop", "date", "--fold-by", "query"]) == 0
    printed = capsys.readouterr().err
    assert "3 random folds, divided by query with seed 0" in printed
    assert "warning" not in printed
    assert main(["compare", log, "--test-from", "2026-08-08"]) == 2
    assert capsys.readouterr().err.startswith("directrank: --test-from 2026-08-08: name the column of this")
