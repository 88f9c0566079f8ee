"""Measures of subtopics against ndeval (by pyndeval and ir_measures), at 1e-12.

Scores have no ties: ndeval breaks them by descending docid, pyndeval by ascending. ndeval knows relevant or
not, and does not divide ERR-IA@1.
"""

import numpy as np
import pytest

from directrank import evaluate
from directrank.files import runs, trec

pyndeval = pytest.importorskip("pyndeval")
ir_measures = pytest.importorskip("ir_measures")

PAIRS = {
    "alpha_nDCG@1": "alpha-nDCG@1",
    "alpha_nDCG@5": "alpha-nDCG@5",
    "alpha_nDCG@20": "alpha-nDCG@20",
    "ERR_IA@2": "ERR-IA@2",
    "ERR_IA@10": "ERR-IA@10",
    "ERR_IA@20": "ERR-IA@20",
    "StRecall@1": "strec@1",
    "StRecall@10": "strec@10",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """500 topics of 1 to 8 subtopics, and documents that are judged, in the run, or both."""
    rng, folder = np.random.default_rng(6), tmp_path_factory.mktemp("ndeval")
    qrels, run = [], []
    for topic in range(1, 501):
        documents = [f"d{number}" for number in rng.permutation(10_000)[:60]]
        for document in documents[: rng.integers(1, 40)]:
            share = rng.choice([0.0, 0.1, 0.5])
            for subtopic in range(1, rng.integers(2, 10)):
                qrels.append((topic, subtopic, document, int(rng.random() < share)))
        held = rng.permutation(documents)[: rng.integers(1, 61)].tolist()
        run += [(topic, document, float(score)) for score, document in enumerate(held)]
    rng.shuffle(qrels)
    paths = folder / "qrels", folder / "run"
    paths[0].write_text("".join(f"{q} {s} {d} {y}\n" for q, s, d, y in qrels))
    paths[1].write_text("".join(f"{q} Q0 {d} 1 {s} tag\n" for q, d, s in run))
    return paths


def ours(files, names):
    found = trec.match_run(trec.read_qrels(files[0]), runs.read_run(files[1]))
    return evaluate(found.queries, found.scores, measures=names, per_query=True, retrieved=found.retrieved)


def test_equals_ndeval(files):
    qrels = [
        pyndeval.SubtopicQrel(q, s, d, int(y))
        for q, s, d, y in map(str.split, files[0].read_text().splitlines())
    ]
    run = [
        pyndeval.ScoredDoc(w[0], w[2], float(w[4])) for w in map(str.split, files[1].read_text().splitlines())
    ]
    theirs = pyndeval.ndeval(qrels, run, measures=list(PAIRS.values()))
    found = ours(files, list(PAIRS))
    compared = 0
    for name, other in PAIRS.items():
        for qid, value in zip(found.qid, found.per_query[name], strict=True):
            if str(qid) in theirs:
                assert value == pytest.approx(theirs[str(qid)][other], rel=1e-12, abs=1e-12), (name, qid)
                compared += 1
    assert compared > 3000
