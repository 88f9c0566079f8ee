"""The demo: a small collection of feature vectors, a comparison on it, and an explanation."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directrank.apps.experiments.plan import Observer
from directrank.apps.experiments.protocol import compare
from directrank.apps.experiments.results import Comparison
from directrank.data import QueryGroups, make_ranking
from directrank.diagnostics.warming import warm_steps, warm_up
from directrank.files import PARTS, write_letor
from directrank.measures import DEFAULT_MEASURE, evaluate
from directrank.storage.folders import claim_folder

N_FOLDS = 3
N_QUERIES = 150
# As in real collections, a feature is comparable only within a query. On raw web-search features, after a
# logarithm, the standard deviation over queries of a feature's mean is 0.7 of the standard deviation within
# queries for the median feature (upper quartile 1.1), the logarithm of the spread within a query has standard
# deviation 0.4, and the tails are heavier than normal. These parameters have the same sizes.
COLLECTION = {
    "docs_per_query": 20, "n_features": 10, "n_useless": 4, "noise": 0.6, "query_offset": 1.0,
    "query_spread": 0.5, "tail": 5.0,
}  # fmt: skip
# One method of each family: baseline, pairs, boosting, lists, pairs weighted by the measure, structural SVM,
# working sets of rankings, approximation of the measure.
SHOWN = ("regression", "ranksvm", "rankboost", "listnet", "lambdaloss", "svmmap", "permurank", "approxndcg")


BEFORE = """\
What was done: {queries} synthetic queries have {documents} documents. Each document has
features (numbers that describe it) and a grade from 0 (irrelevant) to 4 (perfect).
Each of {methods} methods was trained on one third of the queries, selected
its settings on another, and was tested on the last, {turns} times in turn ({folds}).

How well the methods rank the test queries; 1 is perfect:
"""
AFTER = """
What to look at: {measure} is high if the documents with the highest grades come first.
Grades are partly chance: the best possible ranking function has {reachable:.4f}.
As in real collections, features are comparable only within a query. Regression and the
thresholds of RankBoost rely on their values across queries. The other methods compare
documents of one query only, which is all that a ranking needs, and rank better.

Open  {folder}/report.html
      for charts, every fold and the settings.
See   {folder}/data/Fold1/train.txt
      for the format of the data, one document per line: grade qid:query feature:value …
Next  directrank compare YOUR_FOLDER --methods all
      compares methods on your data."""


class Story(NamedTuple):
    """A finished demo, and the explanation that is printed before and after its table."""

    result: Comparison
    before: str
    after: str


def run_demo(
    folder: str | os.PathLike,
    observer: Observer | None = None,
    *,
    force: bool = False,
) -> Story:
    """Draw the collection, write its folds as LETOR files in ``data``, and compare methods on them.

    Kernels are compiled before training, so that training times do not include compilation.
    """
    folder = Path(folder)
    groups_and_weights: Any = make_ranking(N_QUERIES, **COLLECTION, random_state=0, return_weights=True)
    groups, weights = groups_and_weights
    claim_folder(folder, force=force)
    write_folds(groups, folder / "data")
    warm_up(warm_steps(SHOWN, small=True))
    result = compare(
        folder / "data", SHOWN, out=folder, name="demo",
        observer=observer, command=("directrank", "demo"),
    )  # fmt: skip
    reachable = evaluate(groups, groups.X @ weights, measures=DEFAULT_MEASURE)[DEFAULT_MEASURE]
    before = BEFORE.format(
        queries=N_QUERIES,
        documents=sum(part["documents"] for part in result.cells[0]["parts"].values()),
        methods=len(result.trained),
        turns=len(result.folds),
        folds=", ".join(result.folds),
    )
    return Story(result, before, AFTER.format(measure=DEFAULT_MEASURE, reachable=reachable, folder=folder))


def write_folds(groups: QueryGroups, folder: Path) -> None:
    """Write folds in turn: fold i trains on third i, validates on the next, tests on the one after."""
    thirds = np.array_split(np.arange(groups.n_queries), N_FOLDS)
    for turn in range(N_FOLDS):
        fold = folder / f"Fold{turn + 1}"
        fold.mkdir(parents=True, exist_ok=True)
        for place, part in enumerate(PARTS):
            write_letor(groups.select(thirds[(turn + place) % N_FOLDS]), fold / f"{part}.txt")
