"""
Why is this document above that one?
====================================

`explain` divides the difference of two scores among the features. The parts add up to it exactly, for linear
rankers, stumps and trees alike.
"""

import matplotlib.pyplot as plt
import numpy as np

from directrank import RankBoost, RankSVM, make_ranking

groups = make_ranking(60, 15, 6, random_state=4)
query = np.flatnonzero(groups.qid == groups.qid[0])
figure, both = plt.subplots(1, 2, figsize=(8, 3), sharey=True, layout="constrained")
for axes, ranker in zip(both, (RankSVM(), RankBoost(rounds=50)), strict=True):
    scores = ranker.fit(groups).predict(groups)
    first, second = query[np.argsort(-scores[query])[:2]]
    parts = ranker.explain(groups, rows=first, against=second)[0]
    assert np.isclose(parts.sum(), scores[first] - scores[second])
    axes.barh([f"feature {k}" for k in range(6)], parts, color=np.where(parts > 0, "tab:blue", "tab:red"))
    axes.set(title=type(ranker).__name__, xlabel="part of the first document's lead")
plt.show()
