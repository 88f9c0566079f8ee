"""The demo on texts: a collection, its index, features, a comparison, and a search."""

import os
from pathlib import Path

from directrank.data import load_data
from directrank.diagnostics.warming import warm_steps, warm_up
from directrank.estimators.methods import configured
from directrank.experiments.demos.vectors import Story
from directrank.experiments.plan import Observer
from directrank.experiments.protocol import compare
from directrank.measures import DEFAULT_MEASURE, evaluate
from directrank.models import save
from directrank.storage.folders import claim_folder
from directrank.text import FeatureSet, Searcher, build_index, make_features, open_index, write_features
from directrank.text.synthetic import make_texts, write_texts

SHOWN = ("regression", "ranksvm", "listnet", "rankboost")
METHOD, QUERY = "ranksvm", "violin concert"
N_FOLDS, CANDIDATES = 3, "bm25:100"

BEFORE = """\
What was done: {documents} short texts were indexed. For each of {queries} queries the first 100
documents of BM25 got {features} features, and grades from 0 (irrelevant) to 2 (its topic).
Each of {methods} methods was trained on one third of the queries, selected its settings on
another, and was tested on the last, {folds} times in turn.

How well the methods rank the test queries; 1 is perfect:
"""
AFTER = """
For comparison, BM25 alone has {measure} {bm25:.4f} on the same candidates.

The first documents for "{query}" by {method} (rank by BM25 in brackets):
{hits}

Next  directrank search {folder}/index {folder}/model.dr "{query}" --serve
      opens a page with a search box: BM25 beside the model.
      docs/text.md shows the same commands for your own texts.
Open  {folder}/report.html
      for charts, every fold and the settings."""


def run_text_demo(
    folder: str | os.PathLike,
    observer: Observer | None = None,
    *,
    force: bool = False,
) -> Story:
    """Write a collection of texts, index it, compute features, compare methods, and search.

    Parameters
    ----------
    folder : path
        For ``texts``, ``index``, ``features``, ``model.dr``, ``results.csv`` and the other files of a
        comparison.
    observer, force
        As in `run_demo`.

    Raises
    ------
    DataError
        If the extra `text` is not installed.
    OSError
        If the folder cannot be written.
    """
    folder = Path(folder)
    claim_folder(folder, force=force)
    write_texts(make_texts(), folder / "texts")
    build_index(folder / "texts", folder / "index")
    index = open_index(folder / "index")
    made = make_features(index, folder / "texts", folder / "texts", candidates=CANDIDATES)
    write_features(made, folder / "features", kfold=N_FOLDS)
    warm_up(warm_steps(SHOWN, small=True))
    result = compare(
        folder / "features", SHOWN, measures=(DEFAULT_MEASURE, "AP"), out=folder, name="texts",
        observer=observer, command=("directrank", "demo", "--text"),
    )  # fmt: skip
    ranker = configured(METHOD)[0].build().fit(load_data(folder / "features" / "all.parquet"))
    save(ranker, folder / "model.dr")
    before = BEFORE.format(
        documents=index.n_docs, queries=made.groups.n_queries, features=made.groups.n_features,
        methods=len(SHOWN), folds=len(result.folds),
    )  # fmt: skip
    after = AFTER.format(
        measure=DEFAULT_MEASURE, bm25=_bm25(made), query=QUERY, method=METHOD, folder=folder,
        hits=_hits(Searcher(index, ranker, depth=100)),
    )  # fmt: skip
    return Story(result, before, after)


def _bm25(made: FeatureSet) -> float:
    """Return the value of BM25 alone."""
    column = (made.groups.feature_names or ()).index("whole.bm25")
    return evaluate(made.groups, made.groups.X[:, column], measures=DEFAULT_MEASURE)[DEFAULT_MEASURE]


def _hits(searcher: Searcher) -> str:
    hits = searcher.search(QUERY, 3).hits
    return "\n".join(
        f"{hit.rank:>2}. {''.join(piece.text for piece in hit.title)} ({hit.bm25_rank})" for hit in hits
    )
