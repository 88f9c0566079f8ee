"""`Ranker.rank`: documents as arrays or by name, in any thread, in the order of `predict`."""

import runpy
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pandas as pd
import pytest

from directrank import FRank, RankSVM, Regression, TreeRanker, load, make_ranking, save
from directrank.errors import DataError

NAMES = ["price", "age", "clicks"]
TRAIN = make_ranking(20, 12, 3, random_state=0)
FRAME = pd.DataFrame(TRAIN.X, columns=NAMES)


def fitted(ranker):
    return ranker.fit(FRAME, TRAIN.relevance, qid=TRAIN.qid)


@pytest.mark.parametrize(
    "ranker",
    [Regression(), RankSVM(scaling="log"), RankSVM(scaling="query"), FRank(rounds=3), TreeRanker(rounds=3)],
)
def test_the_order_is_that_of_the_scores_however_documents_are_given(ranker):
    ranker = fitted(ranker)
    X = np.array(TRAIN.X[:30])
    X[::7, 1] = np.nan
    frame = pd.DataFrame(X, columns=NAMES)
    expected = np.argsort(-ranker.predict(frame, np.zeros(30)), kind="stable").tolist()
    rows = [
        {name: None if np.isnan(value) else float(value) for name, value in zip(NAMES, row, strict=True)}
        for row in X
    ]
    absent = [{name: value for name, value in row.items() if value is not None} | {"id": 3} for row in rows]
    columns = {name: [row[name] for row in rows] for name in reversed(NAMES)}
    for documents in (X, X.tolist(), rows, absent, columns, frame, frame[NAMES[::-1]]):
        assert ranker.rank(documents).tolist() == expected


def test_equal_documents_stay_in_the_order_given():
    assert fitted(Regression()).rank(np.zeros((5, 3))).tolist() == [0, 1, 2, 3, 4]
    assert fitted(Regression()).rank(np.zeros((0, 3))).tolist() == []


def test_what_predict_refuses_is_refused():
    ranker = fitted(Regression())
    with pytest.raises(DataError, match="no document has the feature 'clicks'"):
        ranker.rank([{"price": 1.0, "age": 2.0}])
    with pytest.raises(DataError, match="have no feature 'age'"):
        ranker.rank({"price": [1.0], "clicks": [2.0]})
    with pytest.raises(DataError, match=r"shape \(2, 4\), expected rows of 3 features"):
        ranker.rank(np.zeros((2, 4)))
    columns = {"price": [1.0, 2.0], "age": [1.0], "clicks": [1.0, 2.0]}
    for documents in (columns, [{**dict.fromkeys(NAMES, 1.0), "age": "old"}], [["a", 1, 2]]):
        with pytest.raises(DataError, match="documents need a number or None for each feature"):
            ranker.rank(documents)
    with pytest.raises(DataError, match="feature 'age' is infinite"):
        ranker.rank([[1.0, np.inf, 0.0]])


@pytest.mark.parametrize(
    "ranker", [Regression(), RankSVM(scaling="log"), TreeRanker(rounds=5), FRank(rounds=3)]
)
def test_threads_do_not_disturb_each_other(ranker, tmp_path):
    ranker = fitted(ranker)
    save(ranker, tmp_path / "model.dr")
    queries = [np.array(TRAIN.X[first : first + 20]) for first in range(0, 200, 2)]
    alone = [ranker.rank(each).tolist() for each in queries]
    # The first calls of a loaded ranker, too, which prepare what the later ones use, are at the same time.
    loaded, ready = load(tmp_path / "model.dr"), Barrier(4)

    def ranked(own):
        ready.wait()
        return [loaded.rank(each).tolist() for each in own]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ranked, [queries] * 4)) == [alone] * 4


@pytest.mark.heavy
def test_the_web_service_of_the_page(tmp_path, monkeypatch):
    pytest.importorskip("httpx")
    client_of = pytest.importorskip("fastapi.testclient").TestClient
    ranker = fitted(TreeRanker(rounds=5))
    save(ranker, tmp_path / "model.dr")
    monkeypatch.setenv("MODEL", str(tmp_path / "model.dr"))
    example = runpy.run_path(str(Path(__file__).parents[3] / "docs" / "examples" / "serving.py"))
    columns = {name: TRAIN.X[:20, at].tolist() for at, name in enumerate(NAMES)}
    expected = ranker.rank(np.array(TRAIN.X[:20])).tolist()
    with client_of(example["app"]) as client, ThreadPoolExecutor(4) as pool:
        answers = pool.map(lambda features: client.post("/rank", json={"features": features}), [columns] * 20)
        assert [answer.json() for answer in answers] == [expected] * 20
        refused = client.post("/rank", json={"features": {"price": [1.0], "age": [None]}})
    assert refused.status_code == 422
    assert "no feature 'clicks'" in refused.json()["detail"]
