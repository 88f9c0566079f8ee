"""`directrank fuse`: what it prints, writes and refuses."""

import json

import numpy as np
import pytest

from commands import run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    grades = rng.integers(0, 2, (50, 8))
    judged = [f"q{q} 0 d{d} {grades[q, d]}\n" for q in range(49) for d in range(8)]
    (tmp_path / "qrels").write_text("".join(judged))
    for name, noise in (("good.run", 0.5), ("poor.run", 4.0)):
        scores = grades + noise * rng.normal(size=grades.shape)
        lines = [f"q{q} Q0 d{d} 1 {scores[q, d]:.4f} {name}\n" for q in range(50) for d in range(8)]
        (tmp_path / name).write_text("".join(lines))
    return tmp_path


def test_weights_are_learned_compared_written_and_applied(capsys, folder):
    names = ("good.run", "poor.run")
    code, out, err = run(
        capsys, "fuse", *names, "--qrels", "qrels", "--normalise", "min-max", "-o", "fusion.dr",
        "--run-out", "a.run", "--report", "page.html",
    )  # fmt: skip
    assert code == 0
    assert "Is it worth it? On 5 folds of queries" in out
    assert "Is it worth it?" in (folder / "page.html").read_text()
    rules = [line.split(" (")[0] for line in out.splitlines()]
    expected = [
        "learned",
        "best of 11 weights",
        "best single run",
        "RRF",
        "CombSUM",
        "CombMNZ",
        *names,
    ]
    assert rules[2:10] == expected
    assert "Weights of scores, min-max" in out
    assert "1 of 50 queries have no judgment" in err
    assert "Written: a.run, 400 documents of 50 queries" in err
    assert run(capsys, "fuse", *names, "--model", "fusion.dr", "--run-out", "b.run")[0] == 0
    assert (folder / "a.run").read_bytes() == (folder / "b.run").read_bytes()
    (folder / "new.run").write_bytes((folder / "good.run").read_bytes())
    code, _, err = run(capsys, "fuse", "new.run", "poor.run", "--model", "fusion.dr", "--run-out", "b.run")
    assert "the order of the fusion's: new.run as good.run, poor.run as poor.run" in err
    assert (folder / "a.run").read_bytes() == (folder / "b.run").read_bytes()
    code, out, _ = run(capsys, "fuse", *names, "--model", "fusion.dr", "--to", "opensearch")
    processor = json.loads(out)["phase_results_processors"][0]["normalization-processor"]
    assert sum(processor["combination"]["parameters"]["weights"]) == pytest.approx(1.0)
    assert run(capsys, "evaluate", "qrels", "a.run", "poor.run", "--measures", "AP")[0] == 0


#: The judgments of two queries, in forms that `features --qrels` reads.
FORMS = {
    "smart.rel": "q1 d1 0 0.0\nq2 d2 0 0.0\n",
    "twice.qrels": "q1 0 d1 1\nq1 0 d1 1\nq2 0 d2 1\n",
    "relevant.csv": "qid,docid\nq1,d1\nq2,d2\n",
    "beir/qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n",
    "plain.qrels": "q1 0 d1 1\nq2 0 d2 1\n",
}


@pytest.mark.parametrize("name", FORMS)
def test_judgments_of_every_form_that_features_read(capsys, folder, name):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(FORMS[name])
    source = folder / name.partition("/")[0]
    code, out, err = run(
        capsys, "fuse", "good.run", "poor.run", "--qrels", source, "--rule", "single", "--measure", "RR",
        "--json",
    )  # fmt: skip
    assert code == 0, err
    facts = json.loads(out)
    assert facts["judged_queries"] == 2
    ranks = {}
    for ranking in ("good.run", "poor.run"):
        lines = [line.split() for line in (folder / ranking).read_text().splitlines()]
        ranks[ranking] = 0.0
        for qid, docid in (("q1", "d1"), ("q2", "d2")):
            scores = {word[2]: float(word[4]) for word in lines if word[0] == qid}
            ranks[ranking] += 1 / (1 + sum(score > scores[docid] for score in scores.values()))
    assert facts["weights"][max(ranks, key=ranks.get)] == 1.0
