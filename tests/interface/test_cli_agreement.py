"""`directrank agreement`: what it prints and refuses."""

import json

import pytest

from directrank.apps.cli import main


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people").write_text("".join(f"01 0 d{d} {d % 3}\n02 0 d{d} {d % 2}\n" for d in range(8)))
    (tmp_path / "model").write_text("".join(f"01 0 d{d} {d % 3}\n02 0 d{d} {d // 2 % 2}\n" for d in range(6)))
    for name, sign in (("up.run", 1), ("down.run", -1)):
        lines = [f"0{q} Q0 d{d} 1 {sign * (d % (4 - q))} {name}\n" for q in (1, 2) for d in range(8)]
        (tmp_path / name).write_text("".join(lines))


def test_statistics_grades_systems_and_differences_are_printed(capsys):
    assert main(["agreement", "people", "model", "up.run", "down.run", "--most", "2"]) == 0
    out, err = capsys.readouterr()
    assert "12 documents of 2 queries are judged by both" in out
    assert "note: 4 documents are judged by people alone, and left out" in err
    lines = [line.split() for line in out.splitlines()]
    assert ["weighted", "kappa"] in [line[:2] for line in lines]
    assert [
        "Kendall's",
        "tau",
        "of",
        "2",
        "runs",
        "by",
        "nDCG@10",
        "1.0000",
        "1.0000",
        "to",
        "1.0000",
    ] in lines
    assert [line for line in lines if line[:1] == ["02"]] == [["02", "d1", "1", "0"], ["02", "d2", "0", "1"]]


def test_everything_is_there_as_json(capsys):
    assert main(["agreement", "people", "model", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["grades"] == [0, 1, 2]
    assert sum(map(sum, found["counts"])) == found["n_documents"] == 12
    assert found["tau"] is None
    assert found["most"][0] == {"qid": "02", "docid": "d1", "first": 1, "second": 0}


def test_a_run_in_place_of_judgments_is_refused_in_one_line(capsys):
    assert main(["agreement", "people", "up.run"]) == 3
    assert "up.run: this is a TREC run; give the qrels" in capsys.readouterr().err
