"""Sixty trees of LightGBM and of XGBoost, at their default parameters, under every differentiable surrogate.

    python benchmarks/studies/tree_steps.py OHSUMED/Fold1 [--engines lightgbm,xgboost] [--only softrank]

Each row has the number of distinct scores of the test part, and nDCG with these scores. Steps that are too
short leave few distinct scores. The second collection is synthetic and needs interactions of features. The
first row of each is nDCG with equal scores.
"""

import argparse
from pathlib import Path

import lightgbm
import numpy as np
import xgboost
from trees import interactions

import directrank.lightgbm
import directrank.xgboost
from directrank import QueryGroups, evaluate, load_letor

TREES = 60
LOSSES = (
    "regression", "ranksvm", "irsvm", "ranknet", "preorder-norm-dcg", "frank", "rankboost", "listnet",
    "listmle", "rankcosine", "xendcg", "yetiloss", "lambdarank", "lambdarank(AP)", "lambdaloss",
    "consistent-dcg", "consistent-ndcg", "consistent-norm-dcg", "approxap", "approxndcg", "approxp",
    "approxndcg(RR)", "approxndcg(ERR(max=4))", "softrank", "ndcgboost",
)  # fmt: skip


def by_lightgbm(loss: str, train: QueryGroups, test: QueryGroups) -> np.ndarray:
    """Return the scores of the test part."""
    data = lightgbm.Dataset(train.features, label=train.queries.relevance, group=train.queries.sizes)
    parameters = {"objective": directrank.lightgbm.objective(loss), "metric": "none", "verbose": -1}
    return lightgbm.train(parameters, data, TREES).predict(test.X)


def by_xgboost(loss: str, train: QueryGroups, test: QueryGroups) -> np.ndarray:
    """Return the scores of the test part."""
    qid = np.repeat(np.arange(train.queries.n_queries), train.queries.sizes)
    data = xgboost.QuantileDMatrix(train.features, label=train.queries.relevance, qid=qid)
    objective = directrank.xgboost.objective(loss)
    return xgboost.train({"verbosity": 0}, data, TREES, obj=objective).predict(xgboost.DMatrix(test.X))


ENGINES = {"lightgbm": by_lightgbm, "xgboost": by_xgboost}


def mean_ndcg(test: QueryGroups, scores: np.ndarray) -> float:
    """Return the mean over queries."""
    return float(np.mean(evaluate(test, scores, measures="nDCG", per_query=True).per_query["nDCG"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="with train.txt, vali.txt and test.txt")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--only", default=",".join(LOSSES))
    chosen = parser.parse_args()
    collections = {chosen.folder.name: load_letor(chosen.folder), "synthetic": interactions(0)}
    for name, (train, _, test) in collections.items():
        constant = mean_ndcg(test, np.zeros(test.n_docs))
        print(f"{name}: {test.n_docs} documents, equal scores nDCG {constant:.4f}")
        for engine in chosen.engines.split(","):
            for loss in chosen.only.split(","):
                scores = ENGINES[engine](loss, train, test)
                value, distinct = mean_ndcg(test, scores), len(np.unique(scores))
                print(f"{name} {engine} {loss}: {distinct} distinct, nDCG {value:.4f}", flush=True)


if __name__ == "__main__":
    main()
