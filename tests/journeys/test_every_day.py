"""The guide Every day on 150 queries, beside SciPy, pytrec_eval, sets and arithmetic."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from scipy.stats import ttest_rel

N, DOCS = 150, 30


@pytest.fixture(scope="module")
def world(folder):
    """Judgments, two runs that lack documents, one of them also as chunks, and a table of queries."""
    rng = np.random.default_rng(11)
    judged = {f"q{q}": {f"d{d}": int(g) for d, g in enumerate(rng.integers(0, 4, DOCS))} for q in range(N)}
    runs = {"old": {}, "new": {}}
    for q, of in judged.items():
        base = np.array([*of.values()]) / 2 + rng.normal(size=DOCS)
        for name, noise in (("old", 0.0), ("new", 0.15)):
            scores = base + noise * rng.normal(size=DOCS)
            runs[name][q] = {f"d{d}": round(float(scores[d]), 6) for d in np.argsort(-scores)[:20]}
    Path("judged.json").write_text(json.dumps(judged, indent=2))
    Path("old.json").write_text(json.dumps(runs["old"]))
    lines = [
        json.dumps({"query": {"qid": q}, "candidates": [{"docid": d, "score": s} for d, s in of.items()]})
        for q, of in runs["new"].items()
    ]
    Path("new.jsonl").write_text("\n".join(lines))
    chunks = [
        f"{q},{d}#{n},{s - n}" for q, of in runs["new"].items() for d, s in of.items() for n in range(3)
    ]
    Path("chunks.csv").write_text("\n".join(["search,part,dense", *chunks]) + "\n")
    Path("queries.csv").write_text(
        "qid,kind\n" + "".join(f"q{q},{'head' if q < 50 else 'tail'}\n" for q in range(N))
    )
    return judged, runs


def of_trec_eval(judged, run, measure):
    evaluated = pytrec_eval.RelevanceEvaluator(judged, {measure}).evaluate(run)
    return np.array([evaluated[q][measure.replace(".", "_")] for q in judged])


def test_a_gate_agrees_with_scipy(world, directrank):
    judged, runs = world
    new, old = (of_trec_eval(judged, runs[name], "ndcg_cut.10") for name in ("new", "old"))
    interval = ttest_rel(new, old).confidence_interval(0.9)
    words = "evaluate judged.json new.jsonl --baseline old.json --json --measures ndcg_cut_10 --not-worse"
    for margin, code in ((0.02, 0 if interval.low > -0.02 else 5), (0.0, 0 if interval.low > 0 else 5)):
        (found,) = json.loads(directrank(f"{words} ndcg_cut_10={margin}", code))["gate"]["margins"]
        assert (found["low"], found["high"]) == pytest.approx((interval.low, interval.high), abs=1e-9)
        assert (found["verdict"] == "PASS") == (code == 0)


def test_a_ceiling_agrees_with_pytrec_eval(world, directrank):
    judged, runs = world
    (found,) = json.loads(directrank("evaluate judged.json old.json --measures AP --ceiling --json"))[
        "ceiling"
    ]
    by_grade = {q: {d: float(judged[q][d]) for d in of} for q, of in runs["old"].items()}
    for run, field in ((runs["old"], "value"), (by_grade, "ceiling")):
        assert found[field] == pytest.approx(of_trec_eval(judged, run, "map").mean(), abs=1e-9)


def test_categories_agree_with_pytrec_eval(world, directrank):
    judged, runs = world
    line = "evaluate judged.json new.jsonl --baseline old.json --measures AP --by kind --queries queries.csv"
    rows = {
        (row["run"], row["category"]): row for row in json.loads(directrank(f"{line} --json"))["categories"]
    }
    new, old = (of_trec_eval(judged, runs[name], "map") for name in ("new", "old"))
    for kind, which in (("head", slice(0, 50)), ("tail", slice(50, N))):
        row = rows["new.jsonl", kind]
        assert (row["mean"], row["difference"]) == pytest.approx(
            (new[which].mean(), (new - old)[which].mean()), abs=1e-9
        )


def test_drift_agrees_with_sets(world, directrank):
    _, runs = world
    shares, changed = [], 0
    for q, of in runs["old"].items():
        old, new = (sorted(run, key=run.get, reverse=True)[:10] for run in (of, runs["new"][q]))
        shares.append(len({*old} & {*new}) / 10)
        changed += old[0] != new[0]
    mean = float(np.mean(shares))
    found = json.loads(directrank(f"drift old.json new.jsonl --least {mean - 0.01} --json"))
    assert (found["overlap"], found["first_changed"]) == pytest.approx((mean, changed / N))
    directrank(f"drift old.json new.jsonl --least {mean + 0.01}", 5)


def test_chunks_of_a_table_are_the_run_of_documents(world, directrank):
    columns = "--run-columns 'qid=search,docid=part,score=dense' --measures AP,nDCG@10 --json"
    folded = json.loads(directrank(f"evaluate judged.json chunks.csv --chunks '#' {columns}"))
    whole = json.loads(directrank("evaluate judged.json new.jsonl --measures AP,nDCG@10 --json"))
    assert folded["measures"] == whole["measures"]
    directrank(f"evaluate judged.json chunks.csv {columns}", 3)
    assert re.search(r"--chunks '#' makes them documents", directrank.said)


def test_gains_are_those_of_arithmetic(world, directrank):
    judged, runs = world
    gains, values = [0, 1, 3, 20], []
    discount = 1 / np.log2(np.arange(2, 12))
    for q, of in runs["old"].items():
        ranked = [gains[judged[q][d]] for d in sorted(of, key=of.get, reverse=True)[:10]]
        best = sorted((gains[g] for g in judged[q].values()), reverse=True)[:10]
        values.append(ranked @ discount / (best @ discount))
    found = json.loads(directrank("evaluate judged.json old.json --measures nDCG@10 --gains 0,1,3,20 --json"))
    assert [*found["measures"].values()] == pytest.approx([np.mean(values)])
