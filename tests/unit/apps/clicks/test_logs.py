"""Logs of clicks: what is counted, what is not and why."""

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from directrank.apps.clicks import ClickLog, read_clicks
from directrank.errors import DataError

ROWS = [
    # qid, docid, position, clicked, session, device
    ("shoes", "d1", 1, 1, "s1", "phone"),
    ("shoes", "d2", 2, 0, "s1", "phone"),
    ("shoes", "d1", 1, 0, "s2", "desktop"),
    ("shoes", "d2", 2, 1, "s2", "desktop"),
    ("shoes", "d2", 1, 0, "s3", "phone"),
    ("boots", "d1", 1, 0, "s4", "phone"),
]
HEAD = "qid,docid,position,clicked,session,device"


def table(path: Path, rows, head=HEAD) -> Path:
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def cells(log: ClickLog) -> dict:
    log = log.cells()
    return {
        (str(log.qid[log.query[i]]), str(log.docid[i]), int(k)): (int(n), int(c))
        for i, k, n, c in zip(log.item, log.rank, log.impressions, log.clicks, strict=True)
    }


EXPECTED = {
    ("shoes", "d1", 1): (2, 1),
    ("shoes", "d2", 1): (1, 0),
    ("shoes", "d2", 2): (2, 1),
    ("boots", "d1", 1): (1, 0),
}


def test_rows_are_counted_by_query_document_and_rank(tmp_path):
    log = read_clicks(table(tmp_path / "log.csv", ROWS))
    assert cells(log) == EXPECTED
    assert log.n_rows == 6
    assert not log.unused
    # boots was answered once, shoes three times: rank 1 was shown once and three times.
    assert dict(zip(log.qid.tolist(), log.pages().tolist(), strict=True)) == {"boots": 1, "shoes": 3}
    assert sorted(log.session_rows.tolist()) == [1, 1, 2, 2]


def test_parquet_arrow_compressed_files_and_frames_are_the_same_log(tmp_path):
    pandas, polars, pyarrow = map(pytest.importorskip, ("pandas", "polars", "pyarrow"))
    path = table(tmp_path / "log.csv", ROWS)
    frame = pandas.read_csv(path)
    frame.to_parquet(tmp_path / "log.parquet")
    pyarrow.feather = pytest.importorskip("pyarrow.feather")
    pyarrow.feather.write_feather(pyarrow.Table.from_pandas(frame), str(tmp_path / "log.arrow"))
    with gzip.open(tmp_path / "log.csv.gz", "wb") as file:
        file.write(path.read_bytes())
    for source in (tmp_path / "log.parquet", tmp_path / "log.arrow", tmp_path / "log.csv.gz", frame):
        assert cells(read_clicks(source)) == EXPECTED
    assert cells(read_clicks(polars.read_csv(path))) == EXPECTED


def test_contexts_and_rankers_are_told_apart(tmp_path):
    log = read_clicks(table(tmp_path / "log.csv", ROWS), context=["device"])
    assert log.contexts == ("desktop", "phone")
    desktop = log.of_context("desktop")
    assert cells(desktop) == {("shoes", "d1", 1): (1, 0), ("shoes", "d2", 2): (1, 1)}
    with pytest.raises(DataError, match="no context is called 'watch'; there is desktop, phone"):
        log.of_context("watch")
    assert cells(log.cells()) == EXPECTED
    two = read_clicks(table(tmp_path / "log.csv", ROWS), context=["device", "session"])
    assert "phone / s1" in two.contexts


def test_counts_are_read_back(tmp_path):
    pandas = pytest.importorskip("pandas")
    log = read_clicks(table(tmp_path / "log.csv", ROWS))
    again = read_clicks(pandas.DataFrame(log.columns()))
    assert cells(again) == EXPECTED


def test_positions_from_0_become_ranks_from_1(tmp_path):
    rows = [(q, d, k - 1, c, s, v) for q, d, k, c, s, v in ROWS]
    log = read_clicks(table(tmp_path / "log.csv", rows))
    assert cells(log) == EXPECTED
    assert log.notes == ("positions count from 0 in this log; ranks here from 1",)


def test_every_row_that_is_not_used_is_counted_with_the_reason(tmp_path):
    head = "query_id,doc,rank,click,propensity"
    rows = [
        ("q", "a", 1, 1, 0.5), ("q", "b", 2, 0, 0.25), ("", "a", 1, 1, 0.5), ("q", "", 1, 1, 0.5),
        ("q", "a", "", 1, 0.5),
        ("q", "a", 1.5, 1, 0.5), ("q", "a", -1, 1, 0.5), ("q", "a", 1, "", 0.5), ("q", "a", 1, -1, 0.5),
        ("q", "a", 1, 0.5, 0.5), ("q", "a", 1, 0, 0), ("q", "a", 99999, 0, 0.5),
    ]  # fmt: skip
    log = read_clicks(table(tmp_path / "log.csv", rows, head))
    # The propensity 0 is not read, but its row is an impression.
    assert cells(log) == {("q", "a", 1): (2, 1), ("q", "b", 2): (1, 0)}
    assert log.notes == ("1 rows have a propensity that is not above 0 and at most 1: it is not read",)
    assert log.unused == {
        "no qid": 1,
        "no docid": 1,
        "no position": 1,
        "a position that is no whole number from 0 to 10000": 3,
        "no value of clicked": 1,
        "a value of clicked that is no whole number from 0": 2,
    }
    assert log.propensity is not None
    assert log.propensity.tolist() == [0.5, 0.25]
    assert log.n_rows == sum(log.unused.values()) + 3


def test_logs_that_cannot_be_used_are_refused(tmp_path):
    clicked = [row for row in ROWS if row[3]]
    with pytest.raises(DataError, match="holds clicked rows only"):
        read_clicks(table(tmp_path / "log.csv", clicked))
    with pytest.raises(DataError, match=r"column is called like position.*--columns position=NAME"):
        read_clicks(table(tmp_path / "log.csv", [("q", "d", 1)], "qid,docid,clicked"))
    with pytest.raises(DataError, match="column 'position', row 1: found 'first', expected a number"):
        read_clicks(table(tmp_path / "log.csv", [("q", "d", "first", 1, "s", "v")]))
    with pytest.raises(DataError, match=r"no impression of a document can be counted \(1: no qid"):
        read_clicks(table(tmp_path / "log.csv", [("", "d", 1, 1, "s", "v")]))
    with pytest.raises(DataError, match="is no table by its name"):
        read_clicks(table(tmp_path / "log.log", ROWS))
    with pytest.raises(DataError, match="no role 'query'"):
        read_clicks(table(tmp_path / "log.csv", ROWS), columns={"query": "qid"})


def test_rows_that_are_counted_but_odd_are_said(tmp_path):
    # The first row twice, c beside b at rank 2, a row without a session, and a count that no integer holds.
    rows = [
        ("q", "a", 1, 1, "s"), ("q", "a", 1, 1, "s"), ("q", "b", 2, 0, "s"), ("q", "c", 2, 0, "s"),
        ("q", "a", 1, 0, "t"), ("q", "a", 1, 0, ""), ("q", "a", 1, 1e300, "t"),
    ]  # fmt: skip
    log = read_clicks(table(tmp_path / "log.csv", rows, "qid,docid,position,clicked,session"))
    assert cells(log) == {("q", "a", 1): (4, 2), ("q", "b", 2): (1, 0), ("q", "c", 2): (1, 0)}
    assert log.notes == (
        "1 rows have no session",
        "1 rows repeat query, document and position of a session, and count: drop them if the log has them "
        "twice",
        "1 rows share query, session and position with another document, and count",
    )
    assert log.unused == {"a value of clicked that is no whole number from 0": 1}
    assert sorted(log.session_rows.tolist()) == [1, 4]


def test_two_columns_of_one_role(tmp_path):
    rows = [("q", "a", 1, 1, 3), ("q", "b", 2, 0, 4)]
    log = read_clicks(table(tmp_path / "log.csv", rows, "qid,docid,position,clicked,rank"))
    assert log.notes == ("position is read from 'position', not from 'rank'",)
    assert log.rank.tolist() == [1, 2]
    with pytest.raises(DataError, match="two columns are called 'position'"):
        read_clicks(table(tmp_path / "log.csv", rows, "qid,docid,position,clicked,position"))


def test_ordinals_and_answers_of_ubi_that_name_nothing(tmp_path):
    def shown(document, ordinal, action="impression"):
        place = {"object": {"object_id": document}, "position": {"ordinal": ordinal}}
        return {"query_id": "s", "action_name": action, "event_attributes": place}

    events = [shown("a", 1), shown("b", 2), shown("c", -1), shown("d", "3"), shown("a", 1, "click")]
    (tmp_path / "e.ndjson").write_text("\n".join(map(json.dumps, events)))
    log = read_clicks(tmp_path / "e.ndjson")
    assert cells(log) == {("s", "a", 1): (1, 1), ("s", "b", 2): (1, 0)}
    assert log.unused == {"a position that is no whole number from 0 to 10000": 1, "no position": 1}
    assert log.notes == ("1 searches have no user_query: each is a query of its own",)
    answer = {"query_id": "s", "user_query": "q", "query_response_hit_ids": [None, "a", {"id": "b"}, 7]}
    (tmp_path / "a.ndjson").write_text(json.dumps(answer))
    log = read_clicks(tmp_path / "a.ndjson")
    assert cells(log) == {("q", "a", 2): (1, 0), ("q", "7", 4): (1, 0)}
    assert log.unused == {"entries of query_response_hit_ids that are no name": 2}


def test_parts_of_a_long_log_add_up(tmp_path, monkeypatch):
    monkeypatch.setattr("directrank.apps.clicks.logs.CHUNK_ROWS", 7)
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    columns = {
        "qid": rng.integers(0, 3, 200), "docid": rng.integers(0, 4, 200),
        "position": rng.integers(1, 4, 200), "clicked": rng.integers(0, 2, 200),
        "session": np.arange(200) // 2,
    }  # fmt: skip
    frame = pandas.DataFrame(columns)
    log = read_clicks(frame)
    sums = frame.groupby(["qid", "docid", "position"])["clicked"].agg(["size", "sum"])
    expected = {
        (str(q), str(d), k): tuple(row) for (q, d, k), row in zip(sums.index, sums.values, strict=True)
    }
    assert cells(log) == expected
    assert len(log.session_rows) == 100


def event(action, search="s1", document="a", ordinal=None, **more):
    attributes = {"object": {"object_id": document}}
    if ordinal is not None:
        attributes["position"] = {"ordinal": ordinal}
    return {"action_name": action, "query_id": search, "event_attributes": attributes, **more}


def events(path: Path, *records) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_events_of_ubi_from_0_or_1_with_queries_between_them(tmp_path):
    query = {"query_id": "s2", "user_query": "shoes", "query_response_hit_ids": ["b", "a"]}
    for first in (0, 1):
        log = read_clicks(
            events(
                tmp_path / "events.ndjson",
                event("click", ordinal=first), event("impression", ordinal=first, user_query="shoes"),
                event("impression", document="b", ordinal=first + 1), event("add_to_cart", ordinal=first),
                event("product_click", "s2", "a", ordinal=first + 1), query, event("hover"),
                {"query_id": "s1", "action_name": "click", "event_attributes": None},
                {"action_name": "click"}, event("click", document="z", ordinal=5),
            )
        )  # fmt: skip
        assert cells(log) == {
            ("shoes", "a", 1): (1, 1),
            ("shoes", "b", 2): (1, 0),
            ("shoes", "b", 1): (1, 0),
            ("shoes", "a", 2): (1, 1),
        }
        assert log.n_rows == 10
        assert log.unused == {
            "events that repeat another one of their search": 1,
            "events of the action 'hover'": 1,
            "events without event_attributes.object.object_id": 1,
            "records without a query_id": 1,
            "clicks without an impression of their document": 1,
        }
        assert len(log.notes) == (first == 0)


def test_events_of_ubi_in_a_table_are_those_of_json_lines(tmp_path):
    records = [
        {"query_id": "s2", "user_query": "shoes", "query_response_hit_ids": ["b", "a"]},
        event("impression", ordinal=1, user_query="red, shoes"), event("impression", document="7", ordinal=2),
        event("click", ordinal=1), event("product_click", "s2", "a", ordinal=2),
    ]  # fmt: skip
    expected = cells(read_clicks(events(tmp_path / "e.jsonl", *records)))
    flat = []
    for record in records:
        attributes = record.get("event_attributes", {})
        flat.append({
            "_source.query_id": record["query_id"], "_source.action_name": record.get("action_name", ""),
            "_source.user_query": record.get("user_query", ""),
            "_source.query_response_hit_ids": json.dumps(record.get("query_response_hit_ids", "")).strip('"'),
            "_source.event_attributes.object.object_id": attributes.get("object", {}).get("object_id", ""),
            "_source.event_attributes.position.ordinal": attributes.get("position", {}).get("ordinal", ""),
        })  # fmt: skip
    whole = [
        {name: cell if isinstance(cell, str) else json.dumps(cell) for name, cell in record.items()}
        for record in records
    ]
    names = ["query_id", "action_name", "user_query", "query_response_hit_ids", "event_attributes"]
    for rows, head in ((flat, [*flat[0]]), (whole, names)):
        with (tmp_path / "e.csv").open("w", newline="") as file:
            table = csv.DictWriter(file, head, restval="")
            table.writeheader()
            table.writerows(rows)
        assert cells(read_clicks(tmp_path / "e.csv")) == expected
    assert expected == {
        ("red, shoes", "a", 1): (1, 1), ("red, shoes", "7", 2): (1, 0),
        ("shoes", "b", 1): (1, 0), ("shoes", "a", 2): (1, 1),
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_every_row_of_a_random_log_is_counted_or_named(tmp_path, seed):
    pandas = pytest.importorskip("pandas")
    rng, n = np.random.default_rng(seed), 400
    frame = pandas.DataFrame(
        {
            "qid": rng.choice(["a", "b", "c", "", None], n), "docid": rng.choice(["x", "y", None], n),
            "position": rng.choice([1, 2, 3, np.nan, -1, 2.5, 1e9, np.inf], n),
            "clicked": rng.choice([0, 0, 1, np.nan, -1, 2, np.inf], n),
            "propensity": rng.choice([0.1, 1, 0, 2, np.nan], n),
        }
    )  # fmt: skip
    log = read_clicks(frame)
    assert log.impressions.sum() + sum(log.unused.values()) == log.n_rows == n
    frame.to_csv(tmp_path / "log.csv", index=False)
    again = read_clicks(tmp_path / "log.csv")
    assert again.unused == log.unused
    assert cells(again) == cells(log)


def test_tables_without_rows_and_columns_of_truth_values():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"q": ["a", "a"], "doc": [1, 2], "rank": [1, 2], "clicked": [True, False]})
    with pytest.raises(DataError, match="called like qid"):
        read_clicks(frame)
    log = read_clicks(frame, columns={"qid": "q"})
    assert cells(log) == {("a", "1", 1): (1, 1), ("a", "2", 2): (1, 0)}
    with pytest.raises(DataError, match=r"can be counted \(it holds none\)"):
        read_clicks(frame.iloc[:0], columns={"qid": "q"})
    with pytest.raises(DataError, match=r"column 'clicked'.*expected numbers"):
        read_clicks(frame.assign(clicked=["yes", "no"]), columns={"qid": "q"})


def test_parts_of_a_log_have_their_queries_and_documents_alone():
    log = ClickLog.of_counts(["q", "q", "r"], ["a", "b", "a"], [1, 3, 2], [5, 4, 3], [1, 1, 0])
    first = log.first_ranks(2)
    assert cells(first) == {("q", "a", 1): (5, 1), ("r", "a", 2): (3, 0)}
    assert first.docid.tolist() == ["a", "a"]
    only = log.of_queries(np.array([False, True]))
    assert (only.qid.tolist(), only.docid.tolist(), only.pages().tolist()) == (["r"], ["a"], [3])
    wider = log.with_items(np.array(["q", "q", "x"]), np.array(["c", "a", "a"]))
    assert cells(wider) == cells(log)
    assert wider.docid.tolist() == ["a", "b", "c", "a"]
    assert wider.sums(wider.impressions).tolist() == [5, 4, 0, 3]
    with pytest.raises(DataError, match="no impression is left"):
        log.first_ranks(0)


def test_days_are_read_from_dates_seconds_and_milliseconds(tmp_path):
    times = [
        "2025-03-31T23:59", "2025-03-31", "1743413400", "1743413400000", "1743413400.5",
        "yesterday", "", "12-12-2025", "2025-04-01 10:00",
    ]  # fmt: skip
    rows = [("q", "a", 1, k % 2, time) for k, time in enumerate(times)]
    path = table(tmp_path / "log.csv", rows, "qid,docid,position,clicked,timestamp")
    log = read_clicks(path, by_day=True)
    assert log.contexts == ("2025-03-31", "2025-04-01")
    assert np.bincount(log.context, log.impressions).tolist() == [5, 1]
    assert dict(log.unused) == {"no time that is a date or a number of seconds": 3}
    with pytest.raises(DataError, match="called like time"):
        read_clicks(table(tmp_path / "none.csv", ROWS), by_day=True)


def test_a_few_rows_at_position_0_do_not_move_all_ranks(tmp_path):
    # Each page shows a, b, c at 1, 2, 3; one page in a hundred has a fourth row at 0.
    rows = [(f"s{i}", "q", d, k, (i + k) % 3 == 0) for i in range(300) for k, d in enumerate("abc", 1)]
    odd = [(f"s{i}", "q", "d", 0, 1) for i in range(0, 300, 100)]
    head = "session,qid,docid,position,clicked"
    log = read_clicks(table(tmp_path / "odd.csv", [*rows, *odd], head))
    plain = read_clicks(table(tmp_path / "plain.csv", rows, head))
    assert cells(log) == cells(plain)
    assert log.pages().tolist() == plain.pages().tolist() == [300]
    assert log.unused == {"position 0, which is rarer than position 1: the log counts from 1": 3}
    # All pages begin at 0: so do ranks.
    zero = [(s, q, d, k - 1, c) for s, q, d, k, c in rows]
    log = read_clicks(table(tmp_path / "zero.csv", zero, head))
    assert cells(log) == cells(plain)
    assert sorted(set(log.slot.tolist())) == [1, 2, 3]


def test_contexts_whose_names_hold_the_separator_do_not_collide():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "qid": "q", "docid": list("abcd"), "position": 1, "clicked": [0, 1, 0, 1],
            "device": ["a", "a / b", "a\\", "a"], "app": ["b / c", "c", "/ b", "\\ / b"],
        }
    )  # fmt: skip
    log = read_clicks(frame, context=["device", "app"])
    assert len(log.contexts) == 4
    assert read_clicks(frame, context=["device"]).contexts == ("a", "a / b", "a\\")


def test_as_many_rankers_and_contexts_as_rows_are_counted():
    n = 120_000
    names = np.arange(n).astype(str)
    position = 1 + np.arange(n) % 10
    ones = np.ones(n, np.int64)
    log = ClickLog.of_counts(names, names, position, ones, ones * 0, ranker=names, context=names)
    assert (len(log.item), len(log.rankers), len(log.contexts)) == (n, n, n)
    assert np.array_equal(np.asarray(log.rankers)[log.ranker], log.qid[log.query[log.item]])


def test_ordinals_that_no_float_holds_and_half_a_surrogate_are_counted(tmp_path):
    def shown(document, ordinal, query="shoes"):
        place = {"object": {"object_id": document}, "position": {"ordinal": ordinal}}
        return {
            "query_id": "s", "user_query": query, "action_name": "impression", "event_attributes": place,
        }  # fmt: skip

    records = [
        shown("a", 1),
        shown("b", 2),
        shown("c", 10**399),
        shown("d\ud800", 3),
        shown("e", 4, "\udc00"),
    ]
    log = read_clicks(events(tmp_path / "e.ndjson", *records))
    assert cells(log) == {("shoes", "a", 1): (1, 0), ("shoes", "b", 2): (1, 0)}
    assert log.unused == {
        "names with half of a pair of surrogates": 2,
        "a position that is no whole number from 0 to 10000": 1,
    }


def test_logs_of_other_tools_are_refused_with_what_a_log_needs(tmp_path):
    (tmp_path / "yandex.tsv").write_text("0\t0\tQ\t8\t0\t7\t103\t51\n0\t103\tC\t51\n")
    with pytest.raises(
        DataError, match=r"no names of columns; write .*qid, docid, position and clicked"
    ) as e:
        read_clicks(tmp_path / "yandex.tsv")
    assert "features" not in str(e.value)
    record = {"event": "ranking", "id": "r", "items": [{"id": "a"}]}
    with pytest.raises(DataError, match="Metarank are not read: write a table with qid, docid, position and"):
        read_clicks(events(tmp_path / "m.jsonl", record))
    bandit = table(tmp_path / "b.csv", [(0, 1, 1), (1, 2, 0), (0, 2, 0)], "item_id,position,click")
    with pytest.raises(DataError, match="a log without queries is read as one query by --columns qid="):
        read_clicks(bandit)
    assert cells(read_clicks(bandit, columns={"qid": ""})) == {
        ("all", "0", 1): (1, 1), ("all", "1", 2): (1, 0), ("all", "0", 2): (1, 0),
    }  # fmt: skip
