"""The vectors of `directrank measures --vectors`: made by enumeration, agreed with by us and by trec_eval."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import vectors
from directrank import evaluate
from directrank.apps.cli import main
from directrank.apps.evaluation import measure_vectors

CASES = vectors.cases()


def test_the_file_is_what_enumeration_gives(capsys):
    assert measure_vectors() == json.loads(json.dumps(CASES))
    assert len(CASES) >= 300
    assert main(["measures", "--vectors"]) == 0
    assert json.loads(capsys.readouterr().out) == measure_vectors()


@pytest.mark.filterwarnings("ignore:.*relevant")
def test_every_value_is_ours():
    for case in CASES:
        arguments = case["relevance"], case["scores"], case["qid"]
        rules = {"ties": case["ties"], "empty": case["empty"]}
        measured = evaluate(*arguments, measures=case["measure"], **rules)
        assert measured[case["measure"]] == pytest.approx(case["value"], abs=1e-12), case


def test_trec_eval_has_the_values_of_queries_without_ties():
    import pytrec_eval

    names = {
        "AP": "map", "RR": "recip_rank", "P@10": "P_10", "R@10": "recall_10", "Rprec": "Rprec",
        "nDCG(dcg='log2')@3": "ndcg_cut_3",
    }  # fmt: skip
    seen = 0
    for case in CASES:
        untied = len(set(case["scores"])) == len(case["scores"]) and len(set(case["qid"])) == 1
        if case["measure"] not in names or not untied:
            continue
        documents = [f"d{row}" for row in range(len(case["scores"]))]
        qrels = {"q": dict(zip(documents, case["relevance"], strict=True))}
        run = {"q": dict(zip(documents, map(float, case["scores"]), strict=True))}
        family = {"ndcg_cut.3", "map", "recip_rank", "P.10", "recall.10", "Rprec"}
        theirs = pytrec_eval.RelevanceEvaluator(qrels, family).evaluate(run)["q"]
        assert theirs[names[case["measure"]]] == pytest.approx(case["value"], abs=1e-12)
        seen += 1
    assert seen >= 40


def test_ir_measures_has_the_values_without_ties():
    """Gains 2^y − 1 are named; RBP needs a package of its own, and three definitions are not theirs."""
    import ir_measures

    names = {"nDCG(dcg='log2')": "nDCG", "nDCG": "nDCG(gains={0:0,1:1,2:3,3:7,4:15})"}
    seen = 0
    for case in CASES:
        name, at, k = case["measure"].partition("@")
        untied = len({*zip(case["qid"], case["scores"], strict=True)}) == len(case["qid"])
        if not untied or name in ("RBP", "RBP(p=0.5)", "ERR(max=4)", "DCG", "nDCG(dcg='exp-letor')"):
            continue
        qrels: dict = {}
        run: dict = {}
        for row, qid in enumerate(map(str, case["qid"])):
            qrels.setdefault(qid, {})[f"d{row}"] = case["relevance"][row]
            run.setdefault(qid, {})[f"d{row}"] = float(case["scores"][row])
        measure = ir_measures.parse_measure(names.get(name, name) + at + k)
        theirs = ir_measures.calc_aggregate([measure], qrels, run)[measure]
        assert theirs == pytest.approx(case["value"], abs=1e-9), case
        seen += 1
    assert seen == 144


def test_the_readers_of_the_page_find_a_wrong_measure(tmp_path):
    page = Path(__file__).parents[2].joinpath("docs/vectors.md").read_text()
    reader = page.split("```python\n")[1].split("```")[0]
    (tmp_path / "vectors.json").write_text(json.dumps(CASES))
    (tmp_path / "check.py").write_text(reader)
    command = [sys.executable, "-W", "error", "check.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "8 checked, 0 differ" in done.stdout
    wrong = reader.replace("/ 3", "/ 4")
    assert wrong != reader
    (tmp_path / "check.py").write_text(wrong)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "0 differ" not in done.stdout
