"""Missing values of data frames of every library."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from directrank import evaluate_runs
from directrank.data import from_frame

COLUMNS = {
    "relevance": [1, 0, 2],
    "qid": [1, 1, 1],
    "f": [1.5, None, 2.0],
    "i": [None, 2, 3],
    "b": [True, None, False],
}
TYPES = {"f": "Float64", "i": "Int64", "b": "boolean"}
FRAMES = {
    "polars": pl.DataFrame(COLUMNS),
    "pyarrow": pa.table(COLUMNS),
    "pandas": pd.DataFrame(COLUMNS).astype(TYPES),
    "pandas, NumPy types": pd.DataFrame(COLUMNS).drop(columns="b").assign(b=[1.0, np.nan, 0.0]),
}


@pytest.mark.parametrize("library", FRAMES)
def test_what_is_null_is_nan(library):
    X = from_frame(FRAMES[library]).X
    np.testing.assert_array_equal(X, [[1.5, np.nan, 1], [np.nan, 2, np.nan], [2, 3, 0]])


@pytest.mark.parametrize("last", [np.nan, 12.0])
def test_documents_that_a_join_made_floats_have_whole_names(last):
    frame = pd.DataFrame({"qid": [1, 1], "docid": [10.0, last], "relevance": [1, 0], "x": [0.5, 2.0]})
    assert list(map(str, from_frame(frame).docid)) == ["10", "" if np.isnan(last) else "12"]
    assert from_frame(frame.assign(docid=[1.5, 2.0])).docid.tolist() == [1.5, 2.0]


def test_runs_and_judgments_of_the_same_floats_meet():
    judged = pd.DataFrame({"qid": [1, 1], "docid": [10.0, 11.0], "relevance": [1, 0]})
    run = pd.DataFrame({"qid": ["1", "1"], "docid": ["10", "11"], "score": [0.1, 0.2]})
    for ranking in (run, run.astype(float)):
        assert evaluate_runs(judged, {"run": ranking}, measures="AP").mean("run", "AP", "standard") == 0.5
