"""Ordered categories as relevance: grades from the lowest category up."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from directrank.data import QueryGroups, from_frame
from directrank.estimators import Regression

NAMES = ["bad", "fair", "good"]
VALUES = ["good", "bad", "fair", "bad"]
GRADES = [2.0, 0.0, 1.0, 0.0]
ORDERED = pd.Categorical(VALUES, categories=NAMES, ordered=True)
X, QID = np.arange(4.0)[:, None], [1, 1, 2, 2]
EVERY = pytest.mark.parametrize(
    "relevance", [ORDERED, pd.Series(ORDERED), pl.Series(VALUES, dtype=pl.Enum(NAMES))], ids=type
)


@EVERY
def test_the_lowest_category_is_grade_0(relevance):
    assert QueryGroups(X, relevance, QID).relevance.tolist() == GRADES
    by_grades = Regression().fit(X, GRADES, qid=QID)
    fitted = Regression().fit(X, relevance, qid=QID)
    assert fitted.predict(X).tolist() == by_grades.predict(X).tolist()
    # Whole weights that differ within a query repeat rows.
    assert Regression().fit(X, relevance, qid=QID, sample_weight=[1, 2, 1, 1]).score(X, relevance, QID) > 0


@EVERY
def test_frames_have_columns_of_categories(relevance):
    frame = pd.DataFrame({"x": X[:, 0], "qid": QID})
    if isinstance(relevance, pl.Series):
        frame = pl.from_pandas(frame).with_columns(relevance=relevance)
    else:
        frame["relevance"] = relevance
    assert from_frame(frame).relevance.tolist() == GRADES


def test_categories_that_are_numbers_stand_for_themselves():
    relevance = pd.Series([4, 0, 2, 0], dtype="category")
    assert QueryGroups(X, relevance, QID).relevance.tolist() == [4, 0, 2, 0]
