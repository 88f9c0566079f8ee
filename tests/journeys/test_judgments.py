"""TREC files: evaluated beside pytrec_eval, fused beside arithmetic, two raters beside SciPy."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from scipy.stats import kendalltau

N_QUERIES, N_DOCS, LENGTH = 120, 40, 25
QIDS = [str(2**33 + q) for q in range(N_QUERIES)]


@pytest.fixture(scope="module")
def trec(folder):
    """Judgments of two raters, and runs of three retrievers that lack documents."""
    rng = np.random.default_rng(3)
    grades = rng.choice(4, size=(N_QUERIES, N_DOCS), p=[0.7, 0.15, 0.1, 0.05])
    other = np.where(rng.random(grades.shape) < 0.8, grades, rng.integers(0, 4, grades.shape))
    for name, table in (("judged.qrels", grades), ("second.qrels", other)):
        lines = [f"{qid} 0 d{d} {g}" for qid, row in zip(QIDS, table, strict=True) for d, g in enumerate(row)]
        Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    runs = {}
    for name, noise, scale in (("bm25.run", 1.2, 7.0), ("dense.run", 1.5, 0.1), ("weak.run", 4.0, 1.0)):
        scores = (grades + rng.normal(0, noise, grades.shape)) * scale
        runs[name] = {
            qid: {f"d{d}": round(float(row[d]), 6) for d in np.argsort(-row)[:LENGTH]}
            for qid, row in zip(QIDS, scores, strict=True)
        }
        lines = [
            f"{qid} Q0 {d} {rank} {score:.6f} {name}"
            for qid, found in runs[name].items()
            for rank, (d, score) in enumerate(found.items(), 1)
        ]
        Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    qrels = [
        {qid: {f"d{d}": int(g) for d, g in enumerate(row)} for qid, row in zip(QIDS, each, strict=True)}
        for each in (grades, other)
    ]
    return qrels, runs


def read_run(path: str) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for line in Path(path).read_text("utf-8").splitlines():
        qid, _, docid, _, score, _ = line.split()
        found.setdefault(qid, {})[docid] = float(score)
    return found


def by_trec_eval(qrels, run, measure: str) -> dict[str, float]:
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {measure})
    name = measure.replace(".", "_")
    return {qid: values[name] for qid, values in evaluator.evaluate(run).items()}


@pytest.mark.parametrize(
    ("measure", "theirs"),
    [("AP", "map"), ("ndcg_cut_10", "ndcg_cut.10"), ("P@5", "P.5"), ("RR", "recip_rank")],
)
def test_every_query_of_every_run_has_the_value_of_trec_eval(measure, theirs, trec, directrank):
    (qrels, _), runs = trec
    found = json.loads(directrank(f"evaluate judged.qrels {' '.join(runs)} --measures {measure} --json"))
    cells = {cell["method"]: cell for cell in found["cells"]}
    assert set(cells) == set(runs)
    for name, run in runs.items():
        (values,) = cells[name]["per_query"]["standard"].values()
        wanted = by_trec_eval(qrels, run, theirs)
        assert dict(zip(map(str, cells[name]["qid"]), values, strict=True)) == pytest.approx(wanted, abs=1e-6)


def test_runs_without_judgments_are_fused_by_reciprocal_ranks(trec, directrank):
    _, runs = trec
    directrank("fuse bm25.run dense.run --run-out rrf.run -q")
    fused = read_run("rrf.run")
    assert list(fused) == QIDS
    for qid, found in fused.items():
        sums: dict[str, float] = {}
        for name in ("bm25.run", "dense.run"):
            for rank, docid in enumerate(runs[name][qid], 1):
                sums[docid] = sums.get(docid, 0.0) + 0.5 / (60 + rank)
        assert found == pytest.approx(sums, abs=1e-12)
        assert all(a >= b for a, b in pairwise(found.values()))


def test_learned_weights_are_kept_and_are_worth_what_the_table_says(trec, directrank):
    (qrels, _), runs = trec
    line = "fuse bm25.run dense.run weak.run"
    learned = "--qrels judged.qrels --measure ndcg_cut_10 --normalise min-max --report page.html"
    found = json.loads(directrank(f"{line} {learned} -o fusion.dr --run-out fused.run --json"))
    weights = found["weights"]
    assert list(weights) == list(runs)
    assert sum(weights.values()) == pytest.approx(1)
    assert min(weights.values()) == weights["weak.run"]
    directrank(f"{line} --model fusion.dr --run-out again.run -q")
    fused, again = read_run("fused.run"), read_run("again.run")
    assert list(fused) == list(again) == QIDS
    for qid in QIDS:
        sums: dict[str, float] = {}
        for name, weight in weights.items():
            scores = runs[name][qid]
            least, most = min(scores.values()), max(scores.values())
            for docid, score in scores.items():
                sums[docid] = sums.get(docid, 0.0) + weight * (score - least) / (most - least)
        assert fused[qid] == pytest.approx(sums, abs=1e-9)
        assert again[qid] == pytest.approx(sums, abs=1e-9)
    rows = {cell["method"]: cell for cell in found["comparison"]["cells"]}
    assert {"learned", "best single run", "RRF (k = 60)", "CombSUM", "CombMNZ", *runs} <= set(rows)
    for name, run in runs.items():
        (values,) = rows[name]["per_query"]["standard"].values()
        wanted = by_trec_eval(qrels, run, "ndcg_cut.10")
        assert len(values) == N_QUERIES
        assert np.mean(values) == pytest.approx(np.mean(list(wanted.values())), abs=1e-6)
    exported = json.loads(directrank(f"{line} --model fusion.dr --to elasticsearch"))
    of_engine = [each["weight"] for each in exported["retriever"]["linear"]["retrievers"]]
    assert of_engine == pytest.approx(list(weights.values()))


def test_two_raters_agree_as_much_as_scipy_and_arithmetic_say(trec, directrank):
    (first, second), runs = trec
    line = f"agreement judged.qrels second.qrels {' '.join(runs)} --measure ndcg_cut_10 --json"
    found = json.loads(directrank(line))
    a, b = (np.array([g for qid in QIDS for g in each[qid].values()]) for each in (first, second))
    assert found["n_documents"] == len(a) == N_QUERIES * N_DOCS
    counts = np.zeros((4, 4))
    np.add.at(counts, (a, b), 1)
    assert found["counts"] == counts.tolist()
    apart = np.subtract.outer(np.arange(4), np.arange(4)) ** 2
    by_chance = np.outer(counts.sum(1), counts.sum(0)) / len(a)
    assert found["kappa"][0] == pytest.approx(1 - (apart * counts).sum() / (apart * by_chance).sum())
    means = [
        [np.mean(list(by_trec_eval(each, run, "ndcg_cut.10").values())) for run in runs.values()]
        for each in (first, second)
    ]
    assert found["tau"][0] == pytest.approx(kendalltau(*means).statistic)
