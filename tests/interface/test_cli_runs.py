"""`directrank evaluate` on runs, scores and qrels: what it prints and refuses."""

import json
from inspect import signature

import numpy as np
import pytest

from commands import run
from directrank import ReadOptions, evaluate_runs
from directrank.apps.cli.commands import evaluating

QRELS = "".join(f"{q} 0 d{d} {int(d == q % 3)}\n" for q in range(1, 9) for d in range(3))


def run_of(tag, seed):
    scores = np.random.default_rng(seed).normal(size=(9, 3))
    return "".join(f"{q} Q0 d{d} 1 {scores[q, d]:.3f} {tag}\n" for q in range(1, 9) for d in range(3))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "good").write_text("".join(f"{q} Q0 d{q % 3} 1 1 good\n" for q in range(1, 9)))
    for seed, name in enumerate(("one", "two")):
        (tmp_path / name).write_text(run_of(name, seed))
    return tmp_path


def test_a_baseline_gives_a_line_for_each_run_and_measure(capsys, folder):
    code, out, err = run(
        capsys, "evaluate", "qrels", "one", "two", "good", "--baseline", "one", "--measures", "AP,nDCG@2",
        "--report", "page.html", "--per-query",
    )  # fmt: skip
    assert code == 0
    assert "qrels: all queries, convention standard" in out
    lines = [line.split() for line in out.splitlines()]
    assert [line[:2] for line in lines if line[:1] in (["AP"], ["nDCG@2"])] == [
        ["AP", "two"], ["AP", "good"], ["nDCG@2", "two"], ["nDCG@2", "good"],
    ]  # fmt: skip
    assert len([line for line in lines if line[1:2] == ["good"] and line[0].isdigit()]) == 8
    assert "Written: page.html" in err
    assert 'id="results"' in (folder / "page.html").read_text(encoding="utf-8")


def test_bounds_over_unjudged_documents(capsys, folder):
    (folder / "partly").write_text("1 Q0 new 1 3 x\n1 Q0 d1 2 2 x\n1 Q0 newer 3 1 x\n")
    (folder / "one-query").write_text("1 0 d1 1\n1 0 d0 0\n")
    code, out, err = run(capsys, "evaluate", "one-query", "partly", "--measures", "P@2,AP", "--unjudged")
    assert code == 0
    assert "2 of 3 documents have no judgment" in err
    assert "P@2  0.5000  from 0.5000 to 1.0000 if unjudged documents were judged" in out
    # AP is least where only the last document is relevant too, and largest where all are.
    low, high = (1 / 2, 1.0)
    assert f"AP   0.5000  from {low:.4f} to {high:.4f}" in out
    code, out, _ = run(
        capsys, "evaluate", "one-query", "partly", "--measures", "AP", "--unjudged", "--json"
    )  # fmt: skip
    assert json.loads(out)["unjudged"] == {"AP": [low, high]}


CODES = {
    "codes.qrels": "1 0 a 1\n1 0 b 2\n1 0 c 4\n",
    "codes.csv": "qid,docid,label\n1,a,1\n1,b,2\n1,c,4\n",
    "codes.json": '{"1": {"a": 1, "b": 2, "c": 4}}',
}


@pytest.mark.parametrize("name", CODES)
def test_grades_in_place_of_codes(name, capsys, folder):
    """Code 1 is the best, as in Cranfield; exchanged codes are those of the file."""
    (folder / name).write_text(CODES[name])
    (folder / "abc").write_text("1 Q0 a 1 3 x\n1 Q0 b 2 2 x\n1 Q0 c 3 1 x\n")
    (folder / "cba").write_text("1 Q0 c 1 3 x\n1 Q0 b 2 2 x\n1 Q0 a 3 1 x\n")
    grades = ("--grade", "1=4", "--grade", "4=0")
    code, out, _ = run(capsys, "evaluate", name, "abc", "--measures", "nDCG@3,P@3", *grades)
    assert (code, out.splitlines()[1:]) == (0, ["nDCG@3  1.0000", "P@3     0.6667"])
    # Gains 0, 3 and 15 from the first place on.
    value = (3 / np.log2(3) + 15 / 2) / (15 + 3 / np.log2(3))
    grade = ReadOptions(grades={1: 4, 4: 0})
    result = evaluate_runs(name, {"cba": folder / "cba"}, measures=["nDCG@3"], how=grade)
    assert result.value("cba", "all queries", "nDCG@3", "standard") == pytest.approx(value)
    code, out, _ = run(capsys, "fuse", "abc", "cba", "--qrels", name, "--kfold", "0", "--json", *grades)
    # The run that is right has all the weight that can be learned from one query.
    assert (code, json.loads(out)["judged_queries"]) == (0, 1)
    code, _, err = run(capsys, "evaluate", name, "abc", "--grade", "best=1")
    assert (code, err) == (2, "directrank: --grade best=1: expected CODE=GRADE, two numbers, such as 1=4\n")


def test_subtopics_of_diversity_qrels(capsys, folder):
    (folder / "diverse").write_text("1 1 a 1\n1 2 b 1\n1 1 c 1\n1 2 c 0\n")
    (folder / "redundant").write_text("1 Q0 a 1 3 x\n1 Q0 c 2 2 x\n1 Q0 b 3 1 x\n")
    code, out, err = run(capsys, "evaluate", "diverse", "redundant", "--measures", "StRec@2,alpha_nDCG@2,P@2")
    assert code == 0
    assert "the grade of a document is the largest over its subtopics" in err
    assert "StRecall@2    0.5000" in out
    assert f"alpha_nDCG@2  {(1 + 0.5 / np.log2(3)) / (1 + 1 / np.log2(3)):.4f}" in out
    assert "P@2           1.0000" in out


def test_measures_that_are_named_stand_beside_those_of_a_gate(capsys, folder):
    """Exactly the default ones are named too; those that nobody named are not printed."""
    words = ("evaluate", "qrels", "one", "two", "--baseline", "one", "--not-worse", "AP=1,P@1=1", "--json")
    named = ("nDCG@10", "AP", "nDCG@1", "nDCG@3", "nDCG@5")
    for more, expected in (((), ["AP", "P@1"]), (("--measures", ",".join(named)), [*named, "P@1"])):
        code, out, _ = run(capsys, *words, *more)
        assert (code, json.loads(out)["measures"]) == (0, expected)
    code, _, err = run(capsys, *words, "--measures", "")
    assert (code, "no measure is named" in err) == (2, True)


def test_every_option_that_a_form_of_evaluate_reads_exists():
    parameters = {*signature(evaluating.evaluate).parameters, *vars(ReadOptions())}
    assert {name for names in evaluating.READ.values() for name in names.split()} <= parameters


def test_no_run_is_better_by_a_number_of_documents(capsys, folder):
    """Of one document a query and of three the mean number is 1 and 3; AP of the relevant one alone is 1."""
    words = ("evaluate", "qrels", "good", "one", "--measures", "NumRet,NumRel,Judged,AP")
    code, out, _ = run(capsys, *words)
    rows = [line.split() for line in out.splitlines()[2:4]]
    assert (code, rows[0]) == (0, ["good", "(a)", "1.0000", "1.0000", "1.0000", "1.0000*", ">b"])
    assert [word for word in rows[1] if "*" in word or ">" in word] == []
    assert "by NumRet" not in out
    assert "by Judged" not in out
