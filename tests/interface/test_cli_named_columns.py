"""Columns that are named where no file has columns, files beside the data, and data of another kind."""

import json

import pytest

from directrank.apps.cli import main

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
