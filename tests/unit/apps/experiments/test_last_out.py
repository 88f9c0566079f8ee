"""The last interactions of each query left out: sets by hand."""

from dataclasses import replace

import numpy as np
import pytest

from directrank import QueryGroups, compare, leave_last_out
from directrank.apps.cli import main

#: User ann saw a, b, c, d at 40, 10, 30, 20 and not x; bob saw a, b at 5, 6 and not x, y; eve saw nothing.
ROWS = [
    ("ann", "a", 5, "40"), ("bob", "x", 0, ""), ("ann", "b", 1, "10"), ("ann", "x", 0, ""),
    ("ann", "c", 3, "30"), ("bob", "a", 4, "5"), ("eve", "x", 0, ""), ("ann", "d", 2, "20"),
    ("bob", "b", 4, "6"), ("bob", "y", 0, "7"),
]  # fmt: skip


def users():
    user, item, rating, _ = zip(*ROWS, strict=True)
    X = np.arange(len(ROWS), dtype=float)[:, None]
    return QueryGroups(X, rating, user, docid=item)


def named(groups):
    return [f"{user} {item}" for user, item in zip(groups.qid, groups.docid, strict=True)]


def test_the_last_one_tests_and_the_one_before_validates():
    """By time ann saw b, d, c, a. Two are not enough for bob, who trains; nothing is learned from eve."""
    train, vali, test = leave_last_out(users(), [row[3] for row in ROWS])
    assert named(train) == ["bob x", "ann b", "ann x", "bob a", "ann d", "bob b", "bob y"]
    assert named(vali) == ["ann x", "ann c"]
    assert named(test) == ["ann a", "ann x"]
    assert test.X.ravel().tolist() == [0, 3]
    assert test.relevance.tolist() == [5, 0]


def test_two_of_five_test_and_equal_times_go_by_rows():
    times = [30, 10, 20, 20, 20]
    data = QueryGroups(np.arange(6.0)[:, None], [1, 2, 3, 4, 5, 0], [7] * 6)
    # 10; 20 20 20; 30: the last two are row 4 and row 0, before them rows 2 and 3; row 1 trains.
    with pytest.warns(UserWarning, match="1 times that divide interactions of a query are equal on both"):
        train, vali, test = leave_last_out(data, [*times, 0], last=2)
    assert [part.X.ravel().tolist() for part in (train, vali, test)] == [[1, 5], [2, 3, 5], [0, 4, 5]]


def test_judged_documents_are_counted_anew():
    """Of query 0 the first two are judged and three pooled, of query 1 one and one."""
    queries = QueryGroups(np.eye(6), [2, 1, 0, 0, 1, 0], [0, 0, 0, 0, 1, 1]).queries
    queries = replace(queries, judged=np.array([2, 1]), pooled=np.array([3, 1]))
    part, rows = queries.with_documents(np.array([False, True, True, True, False, True]))
    assert rows.tolist() == [1, 2, 3, 5]
    assert (part.judged.tolist(), part.pooled.tolist()) == ([1, 0], [2, 0])
    assert part.indptr.tolist() == [0, 3, 4]


def table(path, users=14, items=9):
    rng = np.random.default_rng(0)
    lines = ["user_id,item_id,rating,timestamp,popular"]
    for user in range(users):
        seen = rng.permutation(items)[:5]
        for item in range(items):
            when = f"2026-01-{1 + list(seen).index(item):02d}" if item in seen else ""
            rating = rng.integers(1, 6) if item in seen else 0
            lines.append(f"u{user},i{item},{rating},{when},{item + rng.normal():.3f}")
    path.write_text("\n".join(lines) + "\n")


def test_python_and_the_command_line_divide_alike(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "t.csv")
    words = ["compare", "t.csv", "--split-by", "timestamp", "--split-last", "1", "--methods", "regression"]
    assert main([*words, "--measures", "Success@3,RR", "--out", "runs"]) == 0
    assert "qid: user_id, label: rating, docid: item_id, 1 feature" in (said := capsys.readouterr().err)
    assert "the last 1 test, the 1 before them validate" in said
    result = compare(
        tmp_path / "t.csv", "regression", split_by="timestamp", split_last=1, measures=["Success@3", "RR"]
    )
    cell = result.cells[0]
    assert cell["parts"]["test"]["documents"] == 14 * 5
    assert cell["parts"]["test"]["relevance"]["0"] == 14 * 4
    assert cell["parts"]["train"]["documents"] == 14 * 7
    # A table whose last seen item has no time is refused with its row.
    (tmp_path / "t.csv").write_text((tmp_path / "t.csv").read_text().replace("2026-01-05", "", 1))
    assert main([*words, "--out", "more"]) == 3
    assert "is empty in row" in (problem := capsys.readouterr().err)
    assert "every interaction needs a value" in problem
