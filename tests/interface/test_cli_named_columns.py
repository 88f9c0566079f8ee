"""Columns that are named where no file has columns, files beside the data, and data of another kind."""

import json
from typing import Any

import numpy as np
import pytest

import directrank
from directrank import DataError, RankSVM, check_data, evaluate, importance, make_ranking
from directrank.apps.cli import main
from directrank.diagnostics import audit

LETOR = "".join(f"{row % 2} qid:{row // 4} 1:{row} 2:{row % 3}\n" for row in range(12))
BARE = "".join(f"{row % 2} 1:{row} 2:{row % 3}\n" for row in range(12))
QRELS = "q1 0 d1 1\nq1 0 d2 0\n"
RUN = "q1 Q0 d1 1 2.0 x\nq1 Q0 d2 2 1.0 x\n"
TABLE = "qid,docid,score,prediction\nq1,d1,2,1\nq1,d2,1,2\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The folder of the commands, with files of several forms."""
    texts = {"data.txt": LETOR, "bare.txt": BARE, "qrels.txt": QRELS, "r.run": RUN, "t.csv": TABLE}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def code_and_error(capsys, *words):
    """Return the exit code of a command, and what it printed on standard error."""
    code = main(list(words))
    return code, capsys.readouterr().err


@pytest.mark.parametrize("option", ["--qid", "--label", "--docid", "--features", "--drop", "--categorical"])
def test_letor_text_has_no_columns(files, capsys, option):
    code, error = code_and_error(capsys, "fit", "regression", "data.txt", option, "price", "-o", "m.dr")
    assert code == 3
    assert not (files / "m.dr").exists()
    assert error.endswith(f"data.txt: {option} price: there is no such column; only tables have columns\n")


@pytest.mark.parametrize(
    "words",
    [
        ("evaluate", "qrels.txt", "r.run", "--label", "grade"),
        ("evaluate", "qrels.txt", "t.csv", "--docid", "item"),
        ("evaluate", "qrels.txt", "r.run", "t.csv", "--docid", "item"),
        ("agreement", "qrels.txt", "qrels.txt", "--label", "grade"),
        ("fuse", "r.run", "t.csv", "--qrels", "qrels.txt", "--label", "grade"),
    ],
)
def test_a_column_that_no_file_has(files, capsys, words):
    code, error = code_and_error(capsys, *words)
    assert code == 3
    assert f"{words[-2]} {words[-1]}: there is no such column" in error


def test_a_column_that_one_file_has(files, capsys):
    assert main(["evaluate", "qrels.txt", "r.run", "t.csv", "--docid", "docid"]) == 0


def test_a_store_has_chosen_its_columns(files, capsys):
    directrank.convert_data("data.txt", "store")
    code, error = code_and_error(capsys, "fit", "regression", "store", "--docid", "item", "-o", "m.dr")
    assert code == 3
    assert "--docid item: there is no such column" in error


def test_the_score_of_two_columns(files, capsys):
    """The column called score decides, and a note says so; of others none does."""
    assert main(["evaluate", "qrels.txt", "t.csv", "--measures", "RR", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["measures"]["RR"] == 1.0
    assert "t.csv: scores are those of the column 'score' (not prediction)" in result["notes"]
    (files / "t.csv").write_text(TABLE.replace("score", "similarity"))
    code, error = code_and_error(capsys, "evaluate", "qrels.txt", "t.csv")
    assert code == 3
    assert "'prediction' and 'similarity' are both called like scores" in error


def test_files_beside_the_data_that_are_not_read(files):
    (files / "bare.txt.query").write_text("4\n4\n4\n")
    assert directrank.read_letor("bare.txt").n_queries == 3
    (files / "bare.txt.weight").write_text("2\n" * 12)
    with pytest.warns(UserWarning, match=r"bare\.txt\.weight is not read"):
        directrank.read_letor("bare.txt")


def test_sizes_that_contradict_the_qid(files):
    (files / "data.txt.query").write_text("4\n4\n4\n")
    assert directrank.read_letor("data.txt").n_queries == 3
    (files / "data.txt.query").write_text("4\n8\n")
    with pytest.raises(DataError, match=r"data\.txt\.query:2:1: query 2 does not end where the qid"):
        directrank.read_letor("data.txt")
    (files / "data.txt.query").write_text("4\n4\n")
    with pytest.raises(DataError, match="query 3 does not end"):
        directrank.read_letor("data.txt")


@pytest.mark.parametrize("data", ["data.txt", [[1.0, 2.0]]])
def test_data_that_are_no_query_groups(files, data):
    model = RankSVM().fit(make_ranking(8, n_features=2, random_state=0))
    takers = (lambda: importance(model, data), lambda: audit(model, data), lambda: check_data(data))
    for taker in takers:
        with pytest.raises(DataError, match=r"takes query groups, not .*: pass "):
            taker()


def test_a_path_where_arrays_are_expected(files):
    with pytest.raises(DataError, match=r"fit takes query groups, not a path: pass load_data\('data.txt'\)"):
        RankSVM().fit("data.txt")
    with pytest.raises(DataError, match="evaluate takes query groups, not a path"):
        evaluate("data.txt", np.zeros(12))


def test_a_feature_of_a_model_cannot_be_dropped():
    pd = pytest.importorskip("pandas")
    groups: Any = make_ranking(8, n_features=2, random_state=0)
    frame = pd.DataFrame(groups.X, columns=["price", "age"])
    model = RankSVM().fit(frame, groups.relevance, qid=groups.qid)
    with pytest.raises(DataError, match="found 'old', expected a number") as error:
        model.predict(frame.assign(age="old"))
    assert "drop" not in str(error.value)
    assert "correct it" in str(error.value)
