"""What early stopping by a measure of directrank costs a library of trees.

Prints the time of a fit of a rival, which scores the validation set by the measure after each round, over
that of the library alone with as many rounds and no validation set. Least of several fits, in turns.

    python benchmarks/system/rivals.py [--queries 300] [--rounds 5]
"""

import argparse
import time

import numpy as np

from directrank import make_ranking, parse_measure
from directrank.experiments.rivals import boosted
from directrank.experiments.rivals.learner import Task, rows_of, without_relevance
from directrank.experiments.rivals.lightgbm import LightGBM
from directrank.experiments.rivals.xgboost import XGBoost
from directrank.measures import mean_value

TREES = 100


def seconds(work):
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    boosted.PATIENCE = TREES
    data = make_ranking(given.queries, 60, 40, random_state=0)
    parts = [data.select(piece) for piece in np.array_split(np.arange(data.n_queries), 3)]
    rows, measure = rows_of(parts[0]), parse_measure("nDCG@10")

    def monitor(scores):
        return mean_value(measure, parts[1].queries, parts[1].to_inner(scores))

    parameters = {"n_estimators": TREES, "learning_rate": 0.01}
    task = Task("fold", parts[0], parts[1], without_relevance(parts[2]), parameters, 0, 1, monitor)
    for learner in (LightGBM("lambdarank"), XGBoost("rank:ndcg")):
        alone = learner.estimator(objective=learner.objective, **parameters, n_jobs=1, verbosity=-1)
        if learner.library == "xgboost":
            alone.set_params(verbosity=0)
        by = {"group": rows.sizes} if learner.library == "lightgbm" else {"qid": rows.query}
        watched, bare = [], []
        for _ in range(given.rounds):
            watched.append(seconds(lambda learner=learner: learner.learn(task)))
            bare.append(seconds(lambda alone=alone, by=by: alone.fit(rows.X, rows.relevance, **by)))
        name = f"{learner.library}:{learner.objective}"
        print(f"{name}: {min(watched) / min(bare):.2f} × the library alone ({min(bare):.2f} s)")


if __name__ == "__main__":
    main()
