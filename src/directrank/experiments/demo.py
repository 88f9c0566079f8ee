"""The demo: a small collection made on the spot, a comparison on it, and words for a newcomer."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from directrank.data import QueryGroups, make_ranking, write_letor
from directrank.data.folds import PARTS
from directrank.experiments.plan import Observer
from directrank.experiments.protocol import compare
from directrank.experiments.results import Comparison
from directrank.measures import evaluate

N_FOLDS = 3
N_QUERIES = 180
# One or two of each family: baseline, pairs, boosting, lists, bounds on the measure, approximation.
SHOWN = ("regression", "ranksvm", "rankboost", "listnet", "adarank", "svmmap", "permurank", "approxndcg")
MEASURE = "nDCG@10"
MEASURES = (MEASURE, "AP", "nDCG@1", "nDCG@3", "nDCG@5")


@dataclass(frozen=True)
class Story:
    """A demo that has been run, and what to tell about it.

    Attributes
    ----------
    result : Comparison
    folder : Path
    reachable : float
        The measure of the best ranking function there is, over all queries.
    """

    result: Comparison
    folder: Path
    reachable: float

    @property
    def before(self) -> list[str]:
        """Lines to read before the table."""
        folds, documents = self.result.folds, sum(self._sizes("documents").values())
        return [
            f"What was done: {N_QUERIES} made-up queries with {documents} documents. A document has numbers",
            "that describe it (features) and a grade from 0 (irrelevant) to 4 (perfect). "
            f"{len(self.result.methods)} methods each",
            "learned on one third of the queries to put good documents first, chose its settings on",
            f"another third and was tested on the last, three times in turn ({', '.join(folds)}).",
            "",
            "How well they rank queries they had never seen; 1 would be perfect:",
            "",
        ]

    def after(self, page: Path) -> list[str]:
        """Lines to read after the table."""
        return [
            "",
            f"What to look at: {MEASURE} asks how good the first ten documents are, the top ones counting",
            "most. Grades here are partly chance: the best ranking function there is has "
            f"{MEASURE} {self.reachable:.4f}.",
            "Made-up data are kind to plain regression; on real collections it tends to come last.",
            "",
            f"Open  {page}",
            "      for the same with charts, every fold and the settings chosen.",
            f"See   {self.folder / 'data' / 'Fold1' / 'train.txt'}",
            "      for the form of the data, a document a line: grade qid:query feature:value …",
            "Next  directrank compare YOUR_FOLDER --methods all --select-by nDCG@10",
            "      does the same with your data.",
        ]

    def _sizes(self, what: str) -> dict[str, int]:
        return {name: part[what] for name, part in self.result.cells[0]["parts"].items()}


def run_demo(folder: str | os.PathLike, observer: Observer | None = None) -> Story:
    """Make the collection, write its folds as LETOR files, and compare methods on them.

    Parameters
    ----------
    folder : path
        Gets ``data/Fold1 … Fold3``, ``results.csv`` and the rest of a comparison.
    observer : Observer, optional

    Returns
    -------
    Story

    Raises
    ------
    OSError
        If the folder cannot be written.
    """
    folder = Path(folder)
    made: Any = make_ranking(N_QUERIES, 18, 12, n_useless=5, noise=0.6, random_state=2, return_weights=True)
    groups, weights = made
    write_folds(groups, folder / "data")
    result = compare(
        folder / "data",
        list(SHOWN),
        select_by=MEASURE,
        measures=MEASURES,
        out=folder,
        name="demo",
        observer=observer,
        command=("directrank", "demo"),
    )
    reachable = evaluate(groups, groups.X @ weights, measures=MEASURE)[MEASURE]
    return Story(result, folder, reachable)


def write_folds(groups: QueryGroups, folder: Path) -> None:
    """Write folds in turn: fold i trains on third i, validates on the next, tests on the one after."""
    thirds = np.array_split(np.arange(groups.n_queries), N_FOLDS)
    for turn in range(N_FOLDS):
        fold = folder / f"Fold{turn + 1}"
        fold.mkdir(parents=True, exist_ok=True)
        for place, part in enumerate(PARTS):
            write_letor(_chosen(groups, thirds[(turn + place) % N_FOLDS]), fold / f"{part}.txt")


def _chosen(groups: QueryGroups, queries: Sequence[int] | np.ndarray) -> QueryGroups:
    rows = np.isin(groups.qid, groups.queries.qid[queries])
    return QueryGroups(groups.X[rows], groups.relevance[rows], groups.qid[rows])
