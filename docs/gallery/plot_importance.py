"""
Which features matter?
======================

Three answers: the true weights of a made collection, `feature_importances_` (coefficients times deviations
inside queries) and `importance` (what shuffling a feature inside queries costs). A fourth one is wrong: the
size of a coefficient depends on the unit of its feature.
"""

import matplotlib.pyplot as plt
import numpy as np

from directrank import RankSVM, importance, make_ranking
from directrank.data import QueryGroups

made, truth = make_ranking(100, 15, 6, n_useless=2, random_state=0, return_weights=True)
units = [1, 10, 100, 0.1, 1, 0.01]
groups = QueryGroups(made.X * np.array(units, np.float32), made.relevance, made.qid)
train, test = groups.select(range(50)), groups.select(range(50, 100))
ranker = RankSVM().fit(train)

bars = {
    "true weights": np.abs(truth),
    "|coef_|, misleading": np.abs(ranker.coef_),
    "feature_importances_": ranker.feature_importances_,
    "lost by shuffling": np.maximum(importance(ranker, test).losses.mean(axis=0), 0),
}
figure, axes = plt.subplots(figsize=(8, 3), layout="constrained")
for at, (name, heights) in enumerate(bars.items()):
    axes.bar(np.arange(6) + 0.2 * at, heights / heights.sum(), 0.2, label=name)
axes.set(xticks=np.arange(6) + 0.3, xticklabels=[f"×{unit}" for unit in units], xlabel="feature, by its unit")
axes.set(ylabel="share")
axes.legend()
plt.show()
