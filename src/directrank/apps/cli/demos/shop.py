"""The demo: a small collection of feature vectors, a comparison on it, and an explanation."""

import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from shutil import copyfile
from typing import NamedTuple

import numpy as np

from directrank.apps.evaluation import evaluate
from directrank.apps.experiments import Comparison, Observer, compare
from directrank.data import QueryGroups
from directrank.estimators.parameters import Point
from directrank.files import PARTS, write_letor
from directrank.measures import DEFAULT_MEASURE
from directrank.storage.folders import claim_folder

N_FOLDS = 3
N_QUERIES = 150
MEAN_DOCUMENTS = 20
#: A baseline, pairs weighted by the measure, trees; with LightGBM its own objective, too.
SHOWN = ("regression", "lambdaloss", "trees-rankboost")
BESIDE = "lightgbm:lambdarank"
#: One setting of trees and short grids: more of them would take most of the time.
FIXED = {
    "trees-rankboost": {"depth": 3, "rounds": 45},
    BESIDE: {"num_leaves": 7, "min_child_samples": 20, "n_estimators": 40, "learning_rate": 0.2},
}
GRIDS = {"penalty": (0.01, 0.1, 1.0)}
#: The settings of fits that only compile kernels.
SHORTEST = {"trees-rankboost": {"depth": 3, "rounds": 2}}
FEATURES = ("text_match", "title_match", "price", "stars", "n_ratings", "sold", "age_days", "in_stock")


BEFORE = """\
What was done: {queries} synthetic searches in a shop have {documents} products. Each product has
8 features, as raw as in a real shop (text match, title match, price, stars, number of
ratings, sold, age in days, in stock), and a grade from 0 (irrelevant) to 4 (perfect).
Each of {methods} methods was trained on one third of the searches, selected its settings on
another, and was tested on the last, {turns} times in turn ({folds}).

How well the methods rank the test searches; 1 is perfect:
"""
AFTER = """
What to look at: {measure} is high if the documents with the highest grades come first.
Grades contain noise: the best possible ranking function has {reachable:.4f}.
- Text scores are comparable only within a search. regression relies on their values across
  searches; lambdaloss compares products of one search by what their order adds to nDCG, and
  ranks better.
- Stars count only where there are many ratings, and the cheapest and the dearest products are
  liked least. No weighted sum of features can express that; trees can.

Open  {folder}/report.html
      for charts, every fold and the settings.
See   {folder}/judged.csv
      for the format of the data: one row per document, with its query, grade and features.
Next  directrank compare YOUR_FILE.csv --kfold 5
      compares all methods on your data."""


class Story(NamedTuple):
    """A finished demo, and the explanation that is printed before and after its table."""

    result: Comparison
    before: str
    after: str


def demo_collection(n_queries: int, random_state: int = 0) -> tuple[QueryGroups, np.ndarray]:
    """Draw searches in a shop; return the products, and the scores that rank them best.

    Features have raw scales and heavy tails, and each search has its own scale of text scores. Stars count
    only with many ratings, and medium prices are liked best.
    """
    rng = np.random.default_rng(random_state)
    sizes = rng.integers(MEAN_DOCUMENTS // 2, 3 * MEAN_DOCUMENTS // 2 + 1, n_queries)
    search = np.repeat(np.arange(n_queries), sizes)
    text, title, price, stars, ratings, sold, age = rng.standard_normal((7, len(search)))
    of_search = rng.standard_normal((4, n_queries))[:, search]
    in_stock = rng.random(len(search)) < 0.85
    utility = text + 0.4 * title + 0.5 * sold - 1.5 * ~in_stock
    utility += 2.0 * stars * (ratings > 0.0) - 0.7 * price**2
    graded = utility + 0.6 * rng.standard_normal(len(search))
    X = np.column_stack([
        np.exp(2.0 + 0.5 * text + of_search[0]),
        1.0 / (1.0 + np.exp(-title - 0.5 * of_search[1])),
        np.exp(3.5 + 0.6 * price + 0.2 * of_search[2]).round(2),
        np.clip(3.6 + 0.7 * stars, 1.0, 5.0).round(1),
        np.floor(np.exp(3.0 + 1.5 * ratings)),
        np.floor(np.exp(4.0 + 1.2 * sold + 0.7 * of_search[3])),
        np.floor(np.exp(5.0 + age)),
        in_stock,
    ])  # fmt: skip
    grades = np.searchsorted(np.quantile(graded, [0.5, 0.75, 0.875, 0.95]), graded)
    return QueryGroups(
        X.astype(np.float32), grades.astype(float), search + 1, feature_names=FEATURES, name="demo"
    ), utility


def run_demo(
    folder: str | os.PathLike,
    observer: Observer | None = None,
    *,
    force: bool = False,
) -> Story:
    """Draw the collection, write it as ``judged.csv`` and as a folder ``data`` of folds, and compare methods.

    The methods are compared on the collection in memory, divided as ``compare judged.csv --kfold 3`` does.

    The same comparison of a few searches goes first: it compiles all kernels, so that training times do not
    include compilation.
    """
    folder = Path(folder)
    groups, utility = demo_collection(N_QUERIES)
    methods = [*SHOWN, *[BESIDE] * (find_spec("lightgbm") is not None)]
    claim_folder(folder, force=force)
    write_folds(groups, folder / "data")
    write_judged(groups, folder / "judged.csv")
    few = demo_collection(2 * N_FOLDS)[0]
    parts = [few.select(third) for third in np.array_split(np.arange(few.n_queries), N_FOLDS)]
    settings = {"penalty": 0.1, **_settings(SHORTEST, SHOWN)}
    compare(parts, SHOWN, settings=settings, measures=DEFAULT_MEASURE, audit=False)
    result = compare(
        groups, methods, kfold=N_FOLDS, settings=_settings(FIXED, methods), grids=GRIDS, seeds=(0,),
        audit=False, out=folder, name="demo", observer=observer, command=("directrank", "demo"),
    )  # fmt: skip
    reachable = evaluate(groups, utility, measures=DEFAULT_MEASURE)[DEFAULT_MEASURE]
    before = BEFORE.format(
        queries=N_QUERIES,
        documents=groups.n_docs,
        methods=len(result.trained),
        turns=len(result.folds),
        folds=", ".join(result.folds),
    )
    return Story(result, before, AFTER.format(measure=DEFAULT_MEASURE, reachable=reachable, folder=folder))


def _settings(fixed: Mapping[str, Point], methods: Sequence[str]) -> Point:
    """Return the settings that are fixed for methods, by their names on the command line."""
    return {f"{method}.{name}": value for method in methods for name, value in fixed.get(method, {}).items()}


def write_judged(groups: QueryGroups, path: Path) -> None:
    """Write all searches as a CSV file: query, grade and features of each product."""
    judged = zip(groups.qid, groups.relevance, groups.X, strict=True)
    rows = [f"{qid},{grade:g},{','.join(map('{:g}'.format, x))}" for qid, grade, x in judged]
    path.write_text("\n".join([",".join(("qid", "relevance", *FEATURES)), *rows, ""]), encoding="utf-8")


def write_folds(groups: QueryGroups, folder: Path) -> None:
    """Write folds in turn: fold i trains on third i, validates on the next, tests on the one after."""
    for third, queries in enumerate(np.array_split(np.arange(groups.n_queries), N_FOLDS)):
        files = [
            folder / f"Fold{(third - place) % N_FOLDS + 1}" / f"{part}.txt"
            for place, part in enumerate(PARTS)
        ]
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
        write_letor(groups.select(queries), files[0])
        for file in files[1:]:
            copyfile(files[0], file)
