"""
Weights of two searches
=======================

Two runs of the same queries, one better than the other. The curve is the measure at each weight of the better
run; `Fusion` learns a weight from the judged queries and shrinks it towards equal ones, which RRF has.
"""

import matplotlib.pyplot as plt
import numpy as np

from directrank import Fusion, evaluate_runs, make_ranking

groups = make_ranking(120, 20, 3, random_state=7)
noise = np.random.default_rng(1).normal(size=(2, len(groups.qid)))
truth = groups.X.sum(axis=1)
columns = {"words": truth + noise[0], "vectors": truth + 3.0 * noise[1]}
documents = [f"d{row}" for row in range(len(groups.qid))]


def by_query(values):
    """Return a value of each document, by query."""
    table = {}
    for q, d, value in zip(groups.qid, documents, values, strict=True):
        table.setdefault(str(q), {})[d] = float(value)
    return table


runs = {name: by_query(column) for name, column in columns.items()}
qrels = {q: {d: int(y) for d, y in those.items()} for q, those in by_query(groups.relevance).items()}


def value(run):
    """Return the mean of the measure."""
    return evaluate_runs(qrels, {"run": run}, measures="nDCG@10").mean("run", "nDCG@10", "standard")


fusion = Fusion("nDCG@10").fit(runs, qrels)
standard = {name: column / column.std() for name, column in columns.items()}
shares = np.linspace(0, 1, 41)
curve = [value(by_query(s * standard["words"] + (1 - s) * standard["vectors"])) for s in shares]
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(shares, curve, label="weighted sum")
axes.axhline(value(Fusion().fit(runs).fuse(runs)), color="grey", linestyle=":", label="RRF")
learned = dict(zip(fusion.runs_, fusion.weights_, strict=True))
axes.plot(learned["words"], value(fusion.fuse(runs)), "ro", label="Fusion")
axes.set(xlabel="weight of the better run", ylabel="nDCG@10")
axes.legend()
plt.show()
