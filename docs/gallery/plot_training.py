"""
Watching a fit
==============

`callbacks` get the value of the measure at each iterate: here on the validation queries, by which the best
iterate is kept.
"""

import matplotlib.pyplot as plt

from directrank import ApproxRank, make_ranking

groups = make_ranking(60, 20, 30, noise=1.5, n_useless=20, random_state=1)
train, validation = groups.select(range(20)), groups.select(range(20, 60))
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for penalty in (0.0, 0.1):
    told = []
    ranker = ApproxRank(penalty=penalty, select_by="nDCG@10")
    ranker.fit(train, eval_set=validation, callbacks=[lambda *values, told=told: told.append(values)])
    axes.plot([value for measure, value in told], label=f"penalty={penalty}")
    print(f"penalty={penalty}: {ranker.message_}")
axes.set(xlabel="iterate", ylabel="nDCG@10 of the validation queries")
axes.legend()
plt.show()
