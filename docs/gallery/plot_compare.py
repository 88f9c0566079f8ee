"""
Is one method better than another?
==================================

Three methods on the same queries: each mean with its standard error, and the test of their differences,
which is paired by query and so sees more than two error bars do.
"""

import matplotlib.pyplot as plt

from directrank import LambdaRank, RankSVM, Regression, evaluate, make_ranking, paired_test

groups = make_ranking(120, 20, 10, noise=1.0, tail=4, random_state=0)
train, test = groups.select(range(60)), groups.select(range(60, 120))
rankers = {"least squares": Regression(), "RankSVM": RankSVM(), "LambdaRank": LambdaRank()}
scores = {name: each.fit(train).predict(test) for name, each in rankers.items()}
found = evaluate(test, scores, measures="nDCG@10", per_query=True)

# %%
# The difference to least squares, per query, with its p-value.

for name in ("RankSVM", "LambdaRank"):
    outcome = paired_test(found[name], found["least squares"])
    print(f"{name}: {outcome.difference:+.4f}, p = {outcome.p:.3f}")

values = {name: each.per_query["nDCG@10"] for name, each in found.items()}
figure, axes = plt.subplots(figsize=(6, 2.5), layout="constrained")
for row, each in enumerate(values.values()):
    axes.errorbar(each.mean(), row, xerr=each.std(ddof=1) / len(each) ** 0.5, fmt="o")
axes.set(yticks=range(3), yticklabels=values, xlabel="nDCG@10 of 60 test queries, ± standard error")
plt.show()
