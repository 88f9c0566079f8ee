"""Ids of queries and documents are the same by every door: two are equal only if the caller's are."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from directrank import QueryGroups, Regression, evaluate, evaluate_runs, from_frame, load_data
from directrank.errors import DataError
from directrank.files.runs import read_run

X = np.arange(24.0).reshape(12, 2)
Y = np.arange(12) % 3
#: The least whole number of which the next one is not a float of the type: 2 to the power of its digits.
LEAST = {np.float16: 2**11, np.float32: 2**24, np.float64: 2**53}


def columns(ids, other):
    return {"qid": ids, "docid": other, "label": Y, "score": X[:, 0]}


DOORS = {
    "arrays": lambda table, path: QueryGroups(X, Y, table["qid"], docid=table["docid"]),
    "lists": lambda table, path: QueryGroups(X, Y, list(table["qid"]), docid=list(table["docid"])),
    "objects": lambda table, path: QueryGroups(
        X, Y, np.fromiter(table["qid"], object), docid=np.fromiter(table["docid"], object)
    ),
    "pandas": lambda table, path: from_frame(pd.DataFrame(table)),
    "polars": lambda table, path: from_frame(pl.DataFrame(table)),
    "parquet": lambda table, path: load_data(path),
    "run of a frame": lambda table, path: evaluate_runs(
        {int(table["qid"][0]): {int(table["docid"][0]): 1}}, {"run": pd.DataFrame(table)}, measures="AP"
    ),
    "run of a file": lambda table, path: evaluate_runs(
        {str(int(table["qid"][0])): {str(int(table["docid"][0])): 1}}, {"run": path}, measures="AP"
    ),
    "evaluate": lambda table, path: evaluate(Y, X[:, 0], table["qid"], docid=table["docid"]),
    "fit": lambda table, path: Regression().fit(X, Y, qid=table["qid"]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("dtype", "door", "role"),
    [
        (dtype, door, role) for dtype in LEAST for door in DOORS for role in ("qid", "docid")
        if (door, role) != ("fit", "docid") and (dtype, door) != (np.float16, "polars")
    ],
)  # fmt: skip
def test_floats_that_may_stand_for_several_ids_are_refused(tmp_path, dtype, door, role):
    path = tmp_path / "table.parquet"

    def read(first):
        if role == "qid":
            table = columns((first + np.repeat(np.arange(4), 3)).astype(dtype), np.arange(12))
        else:
            table = columns(np.arange(12) // 6, (first + np.arange(12)).astype(dtype))
        pd.DataFrame(table).to_parquet(path)
        return DOORS[door](table, path)

    read(LEAST[dtype] - 12)
    with pytest.raises(DataError, match=rf"row \d+: found .*, a {dtype.__name__} that may stand for several"):
        read(LEAST[dtype] - 2)


@pytest.mark.parametrize("masked", [0, 7, 11])
def test_masks_of_numpy_are_missing_values(masked):
    values = np.ma.array(np.arange(12) // 4, mask=np.arange(12) == masked)
    with pytest.raises(DataError, match=f"qid of row {masked} is missing"):
        QueryGroups(X, Y, values)
    with pytest.raises(DataError, match=f"qid of row {masked} is missing"):
        Regression().fit(X, Y, qid=values)
    with pytest.raises(DataError, match=f"docid of row {masked} is missing"):
        QueryGroups(X, Y, Y, docid=values)
    with pytest.raises(DataError, match=f"relevance of row {masked} is nan"):
        QueryGroups(X, values, Y)
    with pytest.raises(DataError, match=f"relevance of row {masked} is nan"):
        evaluate(values, X[:, 0], Y)
    with pytest.raises(DataError, match=f"relevance of row {masked} is nan"):
        evaluate(np.ma.stack([values, values], axis=1), X[:, 0], Y)
    with pytest.raises(DataError, match=f"the score of row {masked} is NaN"):
        evaluate(Y, values, Y)
    with pytest.raises(DataError, match=f"relevance of row {masked} is nan"):
        Regression().fit(X, values, qid=Y)
    with pytest.raises(
        DataError, match=f"relevance of row {masked} is nan"
    ):  # of the row before it is copied
        Regression().fit(X, values, qid=Y, sample_weight=np.arange(12) % 3 + 1)
    with pytest.raises(DataError, match="sample_weight must be finite"):
        Regression().fit(X, Y, qid=Y, sample_weight=values + 1)
    assert QueryGroups(X, np.ma.array(Y), np.ma.array(Y)).n_queries == 3


@pytest.mark.parametrize("kind", [np.int64, np.uint64, object])
def test_whole_scores_that_float64_ties_are_refused(kind):
    scores = np.array([0, 2**53, 2**53 + 1], kind)
    with pytest.raises(
        DataError, match=r"the score of row 2 is 9007199254740993, which float64 does not tell"
    ):
        evaluate([0, 1, 0], scores, [1, 1, 1])
    assert evaluate([1, 0, 0], scores // 2 * 4, [1, 1, 1], measures="RR")["RR"] == pytest.approx(1 / 3)
    run = {"q": {"a": 2**53, "b": 2**53 + 1}}
    with pytest.raises(DataError, match="column 'score', row 2: found 9007199254740993, which float64"):
        evaluate_runs({"q": {"a": 1, "b": 0}}, {"run": run}, measures="RR")


def test_a_note_says_that_large_scores_of_a_run_are_rounded(tmp_path):
    path = tmp_path / "run"
    path.write_text("q Q0 a 1 9007199254740993 t\nq Q0 b 2 9007199254740992 t\n")
    assert (
        "scores are as large as 9.01e+15: from 9.01e+15 on whole numbers are rounded"
        in read_run(path).notes[0]
    )
    path.write_text("q Q0 a 1 9007199254740991 t\nq Q0 b 2 9007199254740990 t\n")
    assert not read_run(path).notes
