"""Least squares with many features, and files of a million lines, as whole processes."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.case import Case, Figure, Work
from directrank.data import QueryGroups
from directrank.estimators import Regression

N_QUERIES, N_RETRIEVED, N_JUDGED, N_RUNS = 1000, 1000, 60, 5

PYTREC_EVAL = """
import sys, pytrec_eval
with open(sys.argv[1]) as qrels, open(sys.argv[2]) as run:
    judged, ranked = pytrec_eval.parse_qrel(qrels), pytrec_eval.parse_run(run)
values = pytrec_eval.RelevanceEvaluator(judged, {"map", "ndcg_cut_10"}).evaluate(ranked)
print(*(sum(of[name] for of in values.values()) / len(values) for name in ("map", "ndcg_cut_10")))
"""

PANDAS = """
import sys, pandas
columns, parts = ["qid", "q0", "docid", "rank", "score", "tag"], []
for path in sys.argv[2:]:
    run = pandas.read_csv(path, sep=" ", names=columns, dtype={"qid": str})
    rank = run.groupby("qid", sort=False)["score"].rank(ascending=False)
    parts.append(run[["qid", "docid"]].assign(score=1 / (60 + rank) / (len(sys.argv) - 2)))
fused = pandas.concat(parts).groupby(["qid", "docid"], sort=False, as_index=False)["score"].sum()
fused = fused.sort_values(["qid", "score"], ascending=[True, False], kind="stable")
fused["rank"], fused["q0"], fused["tag"] = fused.groupby("qid").cumcount() + 1, "Q0", "pandas"
fused[columns].to_csv(sys.argv[1], sep=" ", header=False, index=False)
"""


def least_squares(n_docs: int, n_features: int) -> tuple[Work, Work]:
    """Return least squares, ours and scikit-learn's with a small penalty; the fitted values agree."""
    from sklearn.linear_model import Ridge

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_docs, n_features)).astype(np.float32)
    grades = np.digitize(X[:, 0] + rng.normal(size=n_docs), [0.5, 1.5]).astype(float)
    groups = QueryGroups(X, grades, np.arange(n_docs) * max(n_docs // 20, 1) // n_docs)
    ours, theirs = Regression(scaling="none", n_jobs=1), Ridge(alpha=1.0)
    own = ours.fit(groups).predict(groups)
    others = theirs.fit(X, grades).predict(X)
    if not np.allclose(own - own.mean(), others - others.mean(), atol=1e-2):
        raise ValueError("the fitted values differ")
    return lambda: ours.fit(groups), lambda: theirs.fit(X, grades)


def process(arguments: Sequence[str]) -> Figure:
    """Return the processor time of a process from its start to its end."""
    before = os.times()
    subprocess.run(
        [sys.executable, *arguments], check=True, capture_output=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Figure(used)


def evaluation() -> tuple[Work, Work]:
    """Return `directrank evaluate` and pytrec_eval, from files to means."""
    import pytrec_eval  # noqa: F401

    folder, rng = tempfile.TemporaryDirectory(prefix="directrank-"), np.random.default_rng(0)
    qrels, run = (str(Path(folder.name) / name) for name in ("qrels", "run"))
    with open(qrels, "w") as judged, open(run, "w") as ranked:
        for query in range(N_QUERIES):
            documents = rng.choice(200_000, N_RETRIEVED, replace=False).tolist()
            scores = np.sort(rng.normal(10.0, 3.0, N_RETRIEVED))[::-1].tolist()
            grades = zip(documents, rng.integers(0, 3, N_JUDGED).tolist(), strict=False)
            judged.writelines(f"{query} 0 D{document} {grade}\n" for document, grade in grades)
            ranked.writelines(
                f"{query} Q0 D{document} {rank} {score:.6f} run\n"
                for rank, (document, score) in enumerate(zip(documents, scores, strict=True), 1)
            )
    command = ["-m", "directrank", "evaluate", qrels, run, "--measures", "AP,ndcg_cut_10"]
    # The folder is removed with the function that reads it.
    return lambda kept=folder: process(command), lambda: process(["-c", PYTREC_EVAL, qrels, run])


def fusion() -> tuple[Work, Work]:
    """Return reciprocal rank fusion of five runs by `directrank fuse` and by pandas, from file to file."""
    import pandas  # noqa: F401

    folder, rng = tempfile.TemporaryDirectory(prefix="directrank-"), np.random.default_rng(0)
    runs = [str(Path(folder.name) / f"run{number}") for number in range(N_RUNS)]
    pools = [rng.choice(200_000, 2 * N_RETRIEVED, replace=False) for _ in range(N_QUERIES)]
    for path in runs:
        with open(path, "w") as file:
            for query, pool in enumerate(pools):
                documents = rng.choice(pool, N_RETRIEVED, replace=False).tolist()
                scores = np.sort(rng.normal(10.0, 3.0, N_RETRIEVED))[::-1].tolist()
                file.writelines(
                    f"{query} Q0 D{document} {rank} {score:.6f} run\n"
                    for rank, (document, score) in enumerate(zip(documents, scores, strict=True), 1)
                )
    ours, theirs = (str(Path(folder.name) / name) for name in ("ours.trec", "theirs.trec"))
    command = ["-m", "directrank", "fuse", *runs, "--run-out", ours, "--quiet"]
    # The folder is removed with the function that reads it.
    return lambda kept=folder: process(command), lambda: process(["-c", PANDAS, theirs, *runs])


CASES = (
    *(
        Case(
            f"wide/regression-{n_docs}x{n_features}",
            f"least squares on {n_docs:,} documents of {n_features:,} features, one thread",
            "scikit-learn's Ridge",
            partial(least_squares, n_docs, n_features),
        )
        for n_docs, n_features in ((3, 10_000), (300, 2000), (8000, 2000))
    ),
    Case(
        "wide/evaluate-million-lines",
        "`directrank evaluate` of a run of a million lines, whole process",
        "pytrec_eval from the same files, whole process",
        evaluation,
        target=2.0,
    ),
    Case(
        "wide/fuse-five-million-lines",
        "`directrank fuse` of five runs of a million lines, whole process",
        "reading, fusing and writing them by pandas, whole process",
        fusion,
    ),
)
