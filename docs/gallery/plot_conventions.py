"""
One ranking, seven tools, several figures
=========================================

The same scores under the conventions of other tools: they differ in gains, in ties and in queries without a
relevant document. See the page on why tools disagree on nDCG for the rules themselves.
"""

import matplotlib.pyplot as plt
import numpy as np

from directrank import evaluate, make_ranking

groups = make_ranking(80, 12, 5, random_state=2)
rng = np.random.default_rng(0)
relevance = np.where(np.isin(groups.qid, np.unique(groups.qid)[:8]), 0, groups.relevance)
scores = np.round(groups.X.sum(axis=1) + rng.normal(size=len(relevance)))  # with ties
names = ("standard", "letor3", "letor4", "trec_eval", "lightgbm", "xgboost", "sklearn")
documents = [f"d{row:04}" for row in range(len(scores))]  # which break ties in trec_eval
values = [
    evaluate(relevance, scores, groups.qid, measures="nDCG@10", convention=name, docid=documents)["nDCG@10"]
    for name in names
]
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
bars = axes.barh(names, values)
axes.bar_label(bars, fmt="%.4f", padding=3)
axes.set(xlabel="nDCG@10 of the same ranking", xlim=(0, 1.2 * max(values)))
axes.invert_yaxis()
plt.show()
