"""Columns are matched by row; only an index of pandas tells that their rows are in another order."""

import pandas as pd
import pytest

from directrank import QueryGroups, RankSVM, evaluate
from directrank.errors import DataError

X = pd.DataFrame({"a": [0.1, 0.9, 0.3, 0.5]}, index=[3, 1, 0, 2])
Y, QID, WEIGHT = (pd.Series(values, X.index) for values in ([0, 1, 0, 1], [0, 0, 1, 1], [1.0, 1.0, 2.0, 2.0]))
RANKINGS = {"one": WEIGHT, "qid": WEIGHT.sort_index()}


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("y", lambda: RankSVM().fit(X, Y.sort_index(), QID)),
        ("qid", lambda: RankSVM().fit(X, Y, QID.sort_index())),
        ("sample_weight", lambda: RankSVM().fit(X, Y, QID, sample_weight=WEIGHT.sort_index())),
        ("sample_weight", lambda: RankSVM().fit(X, Y, QID, sample_weight=Y.sort_index() + 1)),
        ("y", lambda: RankSVM().fit(X, Y, QID, eval_set=(X, Y.sort_index(), QID))),
        ("qid", lambda: RankSVM().fit(X, Y, QID).predict(X, QID.sort_index())),
        ("relevance", lambda: QueryGroups(X, Y.sort_index(), QID)),
        ("docid", lambda: QueryGroups(X, Y, QID, docid=QID.sort_index())),
        ("scores", lambda: evaluate(Y, WEIGHT.sort_index(), QID)),
        (r"scores\['qid'\]", lambda: evaluate(Y, RANKINGS, QID)),
        ("qid", lambda: evaluate(Y, {"qid": WEIGHT}, QID.sort_index())),
        ("qid", lambda: evaluate(Y, WEIGHT, QID.sort_index())),
    ],
)
def test_rows_in_another_order_are_refused(name, call):
    with pytest.raises(DataError, match=rf"^{name} has the rows of \w+ in another order.*{name}\.to_numpy"):
        call()
