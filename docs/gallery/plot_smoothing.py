"""
What a smoothed measure looks like
==================================

nDCG is a staircase: it changes only where two documents change places. `ApproxRank` ascends a smoothed copy
of it. The steeper the sigmoid, the closer the copy, and the flatter its plateaus.
"""

import matplotlib.pyplot as plt
import numpy as np

from directrank import evaluate, make_ranking
from directrank.measures import NDCG
from directrank.surrogates import Objective, SmoothedPositions

groups = make_ranking(4, 8, 2, random_state=3)
first, second = groups.X.T
angles = np.linspace(-np.pi / 2, np.pi, 400)
rankings = [np.cos(angle) * first + np.sin(angle) * second for angle in angles]

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.plot(angles, [evaluate(groups, each, measures="nDCG")["nDCG"] for each in rankings], "k", label="nDCG")
for steepness in (2, 10, 50):
    objective = Objective(SmoothedPositions(NDCG(), steepness=steepness), groups.queries, groups.shards)
    losses = [objective.value_and_gradient(each[groups.queries.row])[0] for each in rankings]
    axes.plot(angles, 1 - np.array(losses) / objective.scale, label=f"smoothed, steepness {steepness}")
axes.set(xlabel="direction of the two weights", ylabel="mean of four queries")
axes.legend()
plt.show()
