"""`Ranker.rank`: documents as arrays or by name, in any thread, in the order of `predict`."""

import datetime
import io
import json
import runpy
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

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


def forms(cell) -> dict:
    """Return two documents, the first of which has this cell as its price, in every form."""
    rows = [[cell, 2.0, 3.0], [1.0, 2.0, 3.0]]
    columns = dict(zip(NAMES, zip(*rows, strict=True), strict=True))
    return {
        "lists": rows,
        "array": np.array(rows, object),
        "records": [dict(zip(NAMES, row, strict=True)) for row in rows],
        "columns": {name: list(column) for name, column in columns.items()},
        "frame": pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in columns.items()}),
    }


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(
    "cell",
    ["1_000", "\uff11", "old", b"1", np.bytes_(b"1"), datetime.date(2020, 1, 1), np.datetime64("2020-01-01"),
     np.timedelta64(3, "D"), 1j, [1.0], {}, 10**400, -(10**400), 1e300, "inf"],
    ids=repr,
)  # fmt: skip
def test_a_cell_that_is_no_number_is_one_line_in_every_form(cell):
    ranker = fitted(Regression())
    for documents in forms(cell).values():
        with pytest.raises(ValueError, match=r"expected|infinit") as refused:
            ranker.rank(documents)
        assert "\n" not in str(refused.value)
    for form in ("lists", "array", "frame"):
        with pytest.raises(ValueError, match=r"expected|infinit"):
            ranker.predict(forms(cell)[form])


@pytest.mark.parametrize("cell", [None, np.nan, pd.NA, pd.NaT, "", "NA", " nan "], ids=repr)
def test_a_missing_cell_is_missing_in_every_form(cell):
    ranker = fitted(Regression())
    # A missing price is the median of training, which is positive here as the weight of prices is.
    median = float(np.median(TRAIN.X[:, 0]))
    expected = [1, 0] if (median - 1.0) * ranker.coef_[0] < 0 else [0, 1]
    for documents in forms(cell).values():
        assert ranker.rank(documents).tolist() == expected
    frame = forms(cell)["frame"]
    by_hand = FRAME.iloc[:2].assign(price=[median, 1.0], age=2.0, clicks=3.0)
    assert ranker.predict(frame) == pytest.approx(ranker.predict(by_hand), rel=1e-6)


@pytest.mark.parametrize("X", [np.empty((0, 3)), FRAME[:0]], ids=["array", "frame"])
def test_no_rows_are_said(X):
    with pytest.raises(DataError, match=r"^X has no rows; expected the features of one document or more$"):
        fitted(Regression()).predict(X)
    assert fitted(Regression()).rank(X).tolist() == []


@pytest.mark.parametrize(
    "documents", ["{}", "", b"{}", bytearray(b"{}"), Path("{}"), np.str_("{}")], ids=repr
)
def test_text_and_paths_are_refused_and_no_file_is_opened(documents, tmp_path):
    ranker, file = fitted(Regression()), tmp_path / "secret.csv"
    FRAME.assign(qid=1).to_csv(file, index=False)
    kind = type(documents)
    if documents:
        documents = kind(str(file).encode()) if kind in (bytes, bytearray) else kind(file)
    for call in (ranker.rank, ranker.predict, ranker.score, ranker.explain):
        with pytest.raises(
            DataError, match=r"not by text or a path: read a file by load_data\(path, ranker="
        ):
            call(documents)


def served(words: bytes, length: Any = None) -> tuple[str, Any]:
    """Return the status and the answer of the server of *Get started* to a body."""
    page = (Path(__file__).parents[3] / "docs" / "start.md").read_text()
    source = page.partition("# serve.py\n")[2].partition("\nmake_server(")[0]
    names: dict = {"__name__": "serve"}
    exec(source, names)
    answers = []
    environ = {"CONTENT_LENGTH": len(words) if length is None else length, "wsgi.input": io.BytesIO(words)}
    body = b"".join(names["application"](environ, lambda status, headers: answers.append(status)))
    return answers[0], json.loads(body)


def test_the_server_of_the_first_page_checks_what_it_is_sent(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(fitted(Regression()), "model.dr")
    FRAME.assign(qid=1).to_csv("secret.csv", index=False)
    documents = [dict(zip(NAMES, row, strict=True)) for row in TRAIN.X[:5].tolist()]
    expected = load("model.dr").rank(TRAIN.X[:5]).tolist()
    assert served(json.dumps(documents).encode()) == ("200 OK", expected)
    assert served(b"[]") == ("200 OK", [])
    hostile: list = [str(tmp_path / "secret.csv"), 5, None, True, {}, {"price": "secret.csv"}, ["secret.csv"]]
    hostile += [[1], [[1, 2, 3]], [{"price": "secret.csv", "age": 1, "clicks": 1}], [{}], [{"price": [1]}]]
    broken = (b"secret.csv", b"", b"\xff", b"[" * 100_000)
    for body in (*[json.dumps(sent).encode() for sent in hostile], *broken):
        status, answer = served(body)
        assert (status, list(answer)) == ("400 Bad Request", ["error"])
    for length in ("", "-1", "x", 10**12):
        assert served(b"[]", length)[0] == "400 Bad Request"


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
def test_the_web_service_takes_categories(tmp_path, monkeypatch):
    pytest.importorskip("httpx")
    client_of = pytest.importorskip("fastapi.testclient").TestClient
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"brand": rng.choice(["a", "b", "c"], 80), "price": rng.normal(size=80)})
    ranker = Regression().fit(frame, (frame.brand == "b").astype(int), qid=np.repeat(np.arange(10), 8))
    save(ranker, tmp_path / "model.dr")
    monkeypatch.setenv("MODEL", str(tmp_path / "model.dr"))
    example = runpy.run_path(str(Path(__file__).parents[3] / "docs" / "examples" / "serving.py"))
    with client_of(example["app"]) as client:
        columns = {"brand": ["c", "b", None], "price": [1, 1.5, 1]}
        assert client.post("/rank", json={"features": columns}).json()[0] == 1
        assert client.post("/rank", json={"features": {**columns, "price": ["x", 1, 1]}}).status_code == 422
