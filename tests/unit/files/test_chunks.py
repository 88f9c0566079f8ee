"""Chunks of documents: scores by hand, what is refused, and the commands that fold them."""

import json

import pytest

import directrank
from directrank.apps.cli import main

RUN = {
    "q1": {"doc9#2": 9.0, "doc7#0": 8.0, "doc7#10": 8.5, "doc7#9": 1.0, "other": 2.0},
    "q2": {"a#1": -1.0, "a#0": -2.0},
}
DOCUMENTS = {chunk: chunk.partition("#")[0] for of in RUN.values() for chunk in of}


@pytest.mark.parametrize("chunks", ["#", DOCUMENTS, "table"])
@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("max", {"q1": {"doc9": 9.0, "doc7": 8.5, "other": 2.0}, "q2": {"a": -1.0}}),
        ("sum", {"q1": {"doc9": 9.0, "doc7": 17.5, "other": 2.0}, "q2": {"a": -3.0}}),
        ("first", {"q1": {"doc9": 9.0, "doc7": 8.0, "other": 2.0}, "q2": {"a": -2.0}}),
    ],
)
def test_the_score_of_a_document_is_that_of_its_chunks(chunks, rule, expected, tmp_path):
    if chunks != "#":  # the first chunk is then the first of the table
        chunks = dict(sorted(DOCUMENTS.items(), key=lambda item: (len(item[0]), item[0])))
    if rule == "first" and isinstance(chunks, dict):
        (tmp_path / "t.csv").write_text("\n".join(["chunk,document", *map(",".join, chunks.items())]) + "\n")
        chunks = tmp_path / "t.csv"
    assert directrank.fold_chunks(RUN, chunks, score=rule) == expected


def test_numbers_of_chunks_are_compared_as_numbers():
    assert directrank.fold_chunks({"q": {"a_10": 1.0, "a_9": 2.0}}, "_", score="first") == {"q": {"a": 2.0}}


def test_the_name_of_a_query_stays_what_it_was():
    assert directrank.fold_chunks({7: {"a#0": 1.0}}, "#") == {7: {"a": 1.0}}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "j.qrels").write_text("q1 0 doc7 1\nq1 0 doc9 0\n")
    (tmp_path / "s.run").write_text("q1 Q0 doc9#2 1 9 t\nq1 Q0 doc7#0 2 8 t\nq1 Q0 doc7#3 3 7 t\n")
    return tmp_path


def ap(capsys, *words):
    assert main(["evaluate", "j.qrels", "s.run", "--measures", "AP", "--json", *words]) == 0
    return json.loads(capsys.readouterr().out)["measures"]["AP"]


def test_evaluate_folds_chunks(folder, capsys):
    assert ap(capsys, "--chunks", "#") == 0.5
    assert ap(capsys, "--chunks", "#", "--chunk-score", "sum") == 1.0  # 8 + 7 > 9


def test_a_run_of_chunks_alone_is_told_how(folder, capsys):
    assert main(["evaluate", "j.qrels", "s.run"]) == 3
    assert "--chunks '#' makes them documents" in capsys.readouterr().err


def test_fuse_and_agreement_fold_chunks(folder, capsys):
    (folder / "b.run").write_text("q1 Q0 doc7#1 1 9 t\nq1 Q0 doc9#0 2 8 t\n")
    assert main(["fuse", "s.run", "b.run", "--chunks", "#", "--run-out", "f.run", "--quiet"]) == 0
    assert {line.split()[2] for line in (folder / "f.run").read_text().splitlines()} == {"doc7", "doc9"}
    capsys.readouterr()
    words = ["j.qrels", "j.qrels", "s.run", "b.run", "--chunks", "#", "--measure", "AP", "--json"]
    assert main(["agreement", *words]) == 0
    assert json.loads(capsys.readouterr().out)["systems"] == {"s.run": [0.5, 0.5], "b.run": [1.0, 1.0]}


def test_rank_writes_documents_of_chunks(folder, capsys):
    (folder / "t.csv").write_text(
        "qid,docid,label,x\n1,a#0,1,3\n1,a#1,1,2\n1,b#0,0,1\n2,c#0,1,2\n2,d#1,0,0\n"
    )
    assert main(["fit", "regression", "t.csv", "-o", "m.dr", "--quiet"]) == 0
    assert main(["rank", "m.dr", "t.csv", "--chunks", "#", "--format", "trec", "-o", "r.run", "--quiet"]) == 0
    rows = [line.split() for line in (folder / "r.run").read_text().splitlines()]
    assert [(row[0], row[2]) for row in rows] == [("1", "a"), ("1", "b"), ("2", "c"), ("2", "d")]
    assert main(["rank", "m.dr", "t.csv", "--chunks", "#"]) == 2
