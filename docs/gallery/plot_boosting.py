"""
How many rounds does boosting need?
===================================

`staged_predict` gives the scores after each round. With `keep="best"` and an `eval_set` a ranker keeps the
rounds up to the best one of the validation queries.
"""

import matplotlib.pyplot as plt

from directrank import RankBoost, evaluate, make_ranking

groups = make_ranking(90, 15, 10, noise=1.0, n_useless=5, random_state=5)
train, validation = groups.select(range(30)), groups.select(range(30, 90))
ranker = RankBoost(rounds=150, keep="last").fit(train)
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for name, part in (("training", train), ("validation", validation)):
    values = [evaluate(part, each, measures="nDCG@10")["nDCG@10"] for each in ranker.staged_predict(part)]
    axes.plot(range(1, len(values) + 1), values, label=name)
best = RankBoost(rounds=150).fit(train, eval_set=validation)
axes.axvline(best.scorer_.n_rounds, color="grey", linestyle=":", label="rounds kept")
axes.set(xlabel="round", ylabel="nDCG@10")
axes.legend()
plt.show()
