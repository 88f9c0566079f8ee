"""
What a cut-off keeps and misses
===============================

`Cutoff` is calibrated on 60 judged queries for one promise after another, and looked at on 400 new ones. The
mean miss of these stays below the promise; a cut at random keeps what it does not miss.
"""

import matplotlib.pyplot as plt
import numpy as np

from directrank import Cutoff, RankSVM, make_ranking

groups = make_ranking(n_queries=500, random_state=1)
train, judged, new = groups.select(range(40)), groups.select(range(40, 100)), groups.select(range(100, 500))
ranker = RankSVM().fit(train)
calibration = ranker.predict(judged), judged.relevance, judged.qid
later = ranker.predict(new), new.relevance, new.qid
promised = np.linspace(0.06, 0.4, 18)
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
for promise, mark in (("mean", "o"), ("nine in ten", "s")):
    outcomes = [Cutoff(miss, promise=promise).fit(*calibration).evaluate(*later) for miss in promised]
    missed, kept = ([getattr(outcome, name) for outcome in outcomes] for name in ("missed", "kept"))
    (line,) = axes.plot(promised, missed, mark, label=f"missed, promised {promise}")
    axes.plot(promised, kept, "-", color=line.get_color(), label=f"documents kept, promised {promise}")
axes.plot(promised, promised, "k--", linewidth=1, label="the promise")
axes.plot(promised, 1 - promised, "k:", linewidth=1, label="kept at random")
axes.set(xlabel="promised miss", ylabel="share", ylim=(0, 1))
figure.legend(fontsize=7, ncols=3, loc="outside lower center")
plt.show()
