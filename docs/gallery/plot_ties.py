"""
Ties are worth their expected value
===================================

A ranker of few values has ties. A tool that keeps the order of the rows reports a figure that depends on how
they were sorted; the expected value over all orders of the tied documents depends on nothing.
"""

import matplotlib.pyplot as plt
import numpy as np

from directrank import evaluate, make_ranking

groups = make_ranking(40, 15, 3, random_state=8)
rng = np.random.default_rng(0)
levels = (2, 3, 5, 10, 30, 100)
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for level in levels:
    truth = groups.X.sum(axis=1)
    scores = np.floor(level * truth.argsort().argsort() / len(truth))
    shuffled = []
    for _ in range(50):
        order = rng.permutation(len(truth))
        rows = groups.relevance[order], scores[order], groups.qid[order]
        shuffled.append(evaluate(*rows, measures="AP", ties="input")["AP"])
    expected = evaluate(groups, scores, measures="AP")["AP"]
    axes.plot([level] * 50, shuffled, ".", color="lightgrey")
    axes.plot(level, expected, "kx")
    for ties, colour in (("best", "tab:blue"), ("worst", "tab:red")):
        axes.plot(level, evaluate(groups, scores, measures="AP", ties=ties)["AP"], "_", color=colour)
axes.set(xscale="log", xticks=levels, xlabel="different scores in the collection", ylabel="AP")
axes.set_xticklabels(levels)
axes.minorticks_off()
for mark, colour, label in (
    (".", "lightgrey", "order of rows, 50 shuffles"),
    ("x", "black", "expected"),
    ("_", "tab:blue", "best"),
    ("_", "tab:red", "worst"),
):
    axes.plot([], [], mark, color=colour, label=label)
axes.legend()
plt.show()
