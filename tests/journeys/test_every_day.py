"""The guide Every day on 150 queries, beside SciPy, pytrec_eval, sets and arithmetic."""

import csv
import json
import re
import shutil
import sqlite3
import subprocess
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
        # Hall's correction for skewness moves one end out, and none in.
        assert (found["low"], found["high"]) == pytest.approx((interval.low, interval.high), rel=0.05)
        assert found["low"] <= interval.low + 1e-9
        assert found["high"] >= interval.high - 1e-9
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


@pytest.fixture(scope="module")
def signals(world):
    """A table of three signals, the second of them half as important as the first, the third of no use."""
    judged, _ = world
    rng = np.random.default_rng(6)
    table = {
        q: {
            d: (2 * grade + 2 * rng.normal(), grade / 2 + rng.normal(), rng.random())
            for d, grade in of.items()
        }
        for q, of in judged.items()
    }
    lines = [
        f"{q},{d},{judged[q][d]},some words,{','.join(f'{value:.6f}' for value in values)}"
        for q, of in table.items()
        for d, values in of.items()
    ]
    Path("signals.csv").write_text("\n".join(["qid,docid,label,title,bm25,dense,recency", *lines]) + "\n")
    Path("mine.json").write_text('{"bm25": 1, "dense": 1, "recency": 20}')
    return table


def scored(table, weights):
    return {q: {d: float(np.dot(x, weights)) for d, x in of.items()} for q, of in table.items()}


def test_tuned_weights_reach_a_grid_and_are_a_model(world, signals, directrank):
    judged, _ = world
    line = "tune signals.csv --start mine.json --measure ndcg_cut_10 --resamples 60"
    found = json.loads(directrank(f"{line} -o weights.json --json"))
    weights = np.array([row["tuned"] for row in found["signals"]])
    assert (found["keep_yours"], found["drop"]) == (False, ["recency"])
    grid = [(a, b, c) for a in range(1, 11) for b in range(21) for c in (0, 1)]
    best = max(of_trec_eval(judged, scored(signals, point), "ndcg_cut.10").mean() for point in grid[::7])
    value = of_trec_eval(judged, scored(signals, weights), "ndcg_cut.10").mean()
    mine = of_trec_eval(judged, scored(signals, (1, 1, 20)), "ndcg_cut.10").mean()
    assert value >= best - 0.005
    assert found["values"] == pytest.approx([mine, value], abs=0.03)
    evaluated = json.loads(
        directrank("evaluate signals.csv --model weights.json --measures ndcg_cut_10 --json")
    )
    assert [*evaluated["measures"].values()] == pytest.approx([value], abs=1e-6)
    why = json.loads(directrank("explain weights.json signals.csv --query q3 --docs d1,d4 --json"))[
        "contributions"
    ]
    parts = weights * (np.array(signals["q3"]["d1"]) - signals["q3"]["d4"])
    assert {row["feature"]: row["adds"] for row in why} == pytest.approx(
        dict(zip(("bm25", "dense", "recency"), parts, strict=True)), abs=1e-5
    )
    again = directrank(f"{line.replace('mine', 'weights')} -o again.json")
    assert "Keep yours" in again
    assert json.loads(Path("again.json").read_text())["weights"] == found["weights"]


def test_written_weights_score_by_arithmetic(world, signals, directrank):
    Path("both.json").write_text('{"weights": {"bm25": 2, "log(recency)": 3}}')
    expected = {(q, d): 2 * x[0] + 3 * np.log1p(x[2]) for q, of in signals.items() for d, x in of.items()}
    programs = {"sql": "sh", "python": "sh", "go": "go", "rust": "rustc", "javascript": "node"}
    if node_strips_types():
        programs["typescript"] = "node"
    for target in [name for name, program in programs.items() if shutil.which(program)]:
        printed = directrank(f"export both.json --to {target} -o both.{target} --check signals.csv")
        assert ", 0 inverted pairs" in printed
    rows = list(csv.DictReader(Path("signals.csv").read_text().splitlines()))
    scope = {}
    exec(Path("both.python").read_text(), scope)
    for row in rows[:200]:
        score = scope["score"]([float(row["bm25"]), float(row["recency"])])
        assert score == pytest.approx(expected[row["qid"], row["docid"]], abs=1e-5)
    with sqlite3.connect(":memory:") as database:
        database.create_function("LN", 1, np.log)
        database.execute("CREATE TABLE documents (qid TEXT, docid TEXT, bm25 REAL, recency REAL)")
        database.executemany(
            "INSERT INTO documents VALUES (?, ?, ?, ?)",
            [(row["qid"], row["docid"], float(row["bm25"]), float(row["recency"])) for row in rows],
        )
        for row in database.execute(Path("both.sql").read_text()):
            assert row[-1] == pytest.approx(expected[row[0], row[1]], abs=1e-5)


def node_strips_types():
    said = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout
    return tuple(map(int, re.findall(r"\d+", said)[:2])) >= (22, 6)


@pytest.mark.parametrize(("options", "code", "message"), [
    ("--signals bm26", 3, "bm26"),
    ("--signals bm25,title", 3, "title"),
    ("--start negative.json", 2, "the weight of 'bm25' is -1"),
    ("--start empty.json", 3, "no weights"),
    ("--signals bm25,label", 3, "label"),
    ("--signals bm25 -o weights.exe", 2, "expected .json, .sql, .py or .dr"),
    ("--signals bm25 --form mean", 2, "form must be one of"),
])  # fmt: skip
def test_mistakes_of_tune_are_one_line(signals, directrank, options, code, message):
    Path("negative.json").write_text('{"bm25": -1, "dense": 1}')
    Path("empty.json").write_text("[]")
    directrank(f"tune signals.csv {options}", code)
    assert message in directrank.said.splitlines()[-1]
