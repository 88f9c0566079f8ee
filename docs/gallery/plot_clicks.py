"""
Propensities of ranks from clicks
=================================

Two rankers answer sessions, and people look at rank k with probability 1/k. Click rates of ranks mix what
people look at with what stands there. Documents that both rankers show at different ranks tell it apart; the
intervals are by clusters of queries.
"""

import matplotlib.pyplot as plt
import numpy as np

from directrank import Regression, make_ranking
from directrank.apps.clicks import baseline_propensities, estimate_propensities, make_clicks

groups = make_ranking(200, 10, uneven=0, random_state=0)
good = Regression().fit(groups)
log = make_clicks(groups, {"good": good, "one feature": groups.X[:, 0]}, sessions=20_000, random_state=0)

found = estimate_propensities(log)
low, high = found.interval()
ranks = found.position
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(ranks, 1 / ranks, color="grey", label="truth")
axes.plot(
    ranks, baseline_propensities(log, "naive ratio of click rates").propensity, "s", label="click rates"
)
errors = np.vstack((found.propensity - low, high - found.propensity))
axes.errorbar(ranks, found.propensity, errors, fmt="o", capsize=3, label="conditional likelihood")
axes.set(xlabel="rank", ylabel="propensity", yscale="log", xticks=ranks)
axes.legend()
plt.show()
