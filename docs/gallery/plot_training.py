"""
Watching a fit
==============

`callbacks` are told the values that a fit computes: the objective at each iterate of L-BFGS, and of boosting
the measure after each round, on the validation queries if they are given.
"""

import matplotlib.pyplot as plt

from directrank import ApproxRank, FRank, make_ranking

groups = make_ranking(60, 20, 30, noise=1.5, n_useless=20, random_state=1)
train, validation = groups.select(range(20)), groups.select(range(20, 60))
told = []
figure, both = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for axes, ranker in zip(both, (ApproxRank(), FRank()), strict=True):
    told.clear()
    ranker.fit(train, eval_set=validation, callbacks=[lambda name, value: told.append((name, value))])
    shown = told[0][0]
    axes.plot([value for name, value in told if name == shown])
    axes.set(title=type(ranker).__name__, xlabel="iterate or round", ylabel=shown)
    print(f"{type(ranker).__name__}: {ranker.message_}")
plt.show()
