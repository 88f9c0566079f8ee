"""
When do trees win?
==================

A linear ranker cannot learn that two features count only together. Trees can, and need more queries for it.
Their scores can be saved, explained and exported like any other's.
"""

import matplotlib.pyplot as plt
import numpy as np

from directrank import RankSVM, TreeRanker, make_ranking
from directrank.data import QueryGroups

drawn = make_ranking(400, 15, 5, random_state=6)
utility = drawn.X[:, 0] + 2.0 * drawn.X[:, 1] * drawn.X[:, 2]
utility += 0.5 * np.random.default_rng(0).normal(size=len(utility))
groups = QueryGroups(drawn.X, np.digitize(utility, np.quantile(utility, [0.5, 0.75, 0.9])), drawn.qid)
test = groups.select(range(200, 400))
sizes = (10, 25, 50, 100, 200)
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for ranker in (RankSVM(), TreeRanker(rounds=100, leaves=8)):
    values = [ranker.fit(groups.select(range(size))).score(test) for size in sizes]
    axes.plot(sizes, values, "o-", label=type(ranker).__name__)
axes.set(xlabel="training queries", ylabel="nDCG@10 of 200 test queries", xscale="log", xticks=sizes)
axes.set_xticklabels(sizes)
axes.minorticks_off()
axes.legend()
plt.show()
