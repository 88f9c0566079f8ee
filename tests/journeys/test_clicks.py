"""From a log of clicks to a ranker, beside the truth of the simulator that drew the log."""

import json
from pathlib import Path

import numpy as np
import pytest

N_QUERIES, N_DOCS, PAGE, SESSIONS = 150, 14, 6, 12_000
EXAMINED = 1 / np.arange(1, PAGE + 1)


@pytest.fixture(scope="module")
def truth(folder):
    """Write a log of two weak rankers and the documents; return the probability that each one is clicked."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N_QUERIES, N_DOCS, 4))
    true = 1 / (1 + np.exp(-(1.3 * X[..., 0] - X[..., 1] - 1.2)))
    lines = ["session,qid,docid,position,ranker,clicked"]
    for session in range(SESSIONS):
        query, ranker = int(rng.integers(N_QUERIES)), session % 2
        known = 0.5 * X[query, :, 2] + (0.3 if ranker == 0 else -0.3) * X[query, :, ranker]
        page = np.argsort(-(known + rng.normal(0, 0.6, N_DOCS)))[:PAGE]
        clicked = rng.random(PAGE) < EXAMINED * true[query, page]
        for rank, document in enumerate(page):
            name = f"{2**33 + query},{2**40 + query * N_DOCS + document}"
            lines.append(f"{session},{name},{rank + 1},r{ranker},{int(clicked[rank])}")
    Path("log.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    lines = ["qid,docid,f0,f1,f2,f3"]
    for query in range(N_QUERIES):
        for document, row in enumerate(X[query]):
            values = ",".join(f"{value:.6f}" for value in row)
            lines.append(f"{2**33 + query},{2**40 + query * N_DOCS + document},{values}")
    Path("docs.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return true


def dcg(true, scores) -> float:
    """Return the clicks of a page that is examined, discounted, in the mean over queries."""
    order = np.argsort(-np.asarray(scores), axis=1)[:, :PAGE]
    return float((np.take_along_axis(true, order, 1) / np.log2(np.arange(2, PAGE + 2))).sum(1).mean())


def test_every_row_of_the_log_is_counted(truth, directrank):
    found = json.loads(directrank("clicks check log.csv --json"))
    assert found["counts"]["rows"] == found["counts"]["impressions"] == SESSIONS * PAGE
    clicks = sum(line.endswith(",1") for line in Path("log.csv").read_text("utf-8").splitlines())
    assert found["counts"]["clicks"] == clicks


def test_propensities_are_those_by_which_clicks_were_drawn(truth, directrank):
    directrank("propensities log.csv -o p.json")
    found = json.loads(Path("p.json").read_text("utf-8"))
    assert found["identified"]
    for each, wanted in zip(found["propensities"], EXAMINED, strict=True):
        # Four errors: of six ranks one is beyond them once in 2,600 logs.
        assert abs(each["propensity"] - wanted) <= 4 * each["error"] * each["propensity"] + 1e-12


def test_a_ranker_of_clicks_earns_nearly_what_the_true_order_earns(truth, directrank):
    directrank("propensities log.csv -o p.json")
    directrank("fit coordinate-ascent docs.csv --clicks log.csv --propensities p.json -o clicks.dr -q")
    directrank("rank clicks.dr docs.csv --format scores -o scores.txt -q")
    scores = np.loadtxt("scores.txt").reshape(truth.shape)
    least = dcg(truth, np.zeros_like(truth))
    assert dcg(truth, scores) - least >= 0.95 * (dcg(truth, truth) - least)


def test_a_run_is_called_better_where_it_truly_is(truth, directrank):
    for name, scores in (("good.run", truth), ("bad.run", -truth)):
        lines = [
            f"{2**33 + query} Q0 {2**40 + query * N_DOCS + document} {rank} {PAGE - rank} x"
            for query in range(N_QUERIES)
            for rank, document in enumerate(np.argsort(-scores[query])[:PAGE], 1)
        ]
        Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    line = "evaluate --clicks log.csv good.run bad.run --measures DCG@6 --json"
    rows = {row["name"]: row for row in json.loads(directrank(line))["rows"]}
    assert rows["good.run"]["better"]
    assert not rows["bad.run"]["better"]


def test_methods_are_compared_on_queries_whose_clicks_they_did_not_see(truth, directrank):
    directrank("compare docs.csv --clicks log.csv --methods regression,ranksvm --kfold 3 --out out -q")
    rows = json.loads(Path("out/results.json").read_text("utf-8"))["rows"]
    names = [row["name"] for row in rows]
    beside = ("", ", clicks as labels", ", shown documents alone")
    assert {
        "the order shown",
        *(f"{name}{each}" for name in ("regression", "ranksvm") for each in beside),
    } <= set(names)
    assert len(names) == len(set(names))
    better = {row["name"]: row["better"] for row in rows}
    assert better["ranksvm"]
