"""The demo of texts: a small collection, its index and features, a comparison, and a search."""

import os
from pathlib import Path

from directrank.apps.cli.demos.shop import Story
from directrank.apps.cli.demos.synthetic import make_texts, write_texts
from directrank.apps.cli.warming import warm_up
from directrank.apps.evaluation import evaluate
from directrank.apps.experiments import Observer, compare
from directrank.apps.text import Searcher, build_index, make_features, open_index, write_features
from directrank.errors import documentation_page
from directrank.estimators.methods import configured
from directrank.files import load_data
from directrank.measures import DEFAULT_MEASURE
from directrank.models import save
from directrank.storage.folders import claim_folder

TEXT_METHODS = ("regression", "ranksvm", "listnet", "rankboost")
METHOD, QUERY = "ranksvm", "violin concert"
TEXT_FOLDS, CANDIDATES = 3, "bm25:100"

TEXT_BEFORE = """\
What was done: {documents} short texts were indexed. For each of {queries} queries the first 100
documents of BM25 got {features} features, and grades from 0 (irrelevant) to 2 (its topic).
Each of {methods} methods was trained on one third of the queries, selected its settings on
another, and was tested on the last, {folds} times in turn.

How well the methods rank the test queries; 1 is perfect:
"""
TEXT_AFTER = """
For comparison, BM25 alone has {measure} {bm25:.4f} on the same candidates.

The first documents for "{query}" by {method} (rank by BM25 in brackets):
{hits}

Next  directrank search {folder}/index {folder}/model.dr "{query}" --serve
      opens a page with a search box: BM25 beside the model.
      For your own texts, see {page}.
Open  {folder}/report.html
      for charts, every fold and the settings."""


def run_text_demo(
    folder: str | os.PathLike,
    observer: Observer | None = None,
    *,
    force: bool = False,
) -> Story:
    """Write a collection of texts, index it, compute features, compare methods, and search."""
    folder = Path(folder)
    claim_folder(folder, force=force)
    write_texts(make_texts(), folder / "texts")
    build_index(folder / "texts", folder / "index")
    index = open_index(folder / "index")
    features = make_features(index, folder / "texts", folder / "texts", candidates=CANDIDATES)
    write_features(features, folder / "features", kfold=TEXT_FOLDS)
    warm_up(TEXT_METHODS, small=True)
    result = compare(
        folder / "features", TEXT_METHODS, measures=(DEFAULT_MEASURE, "AP"), out=folder, name="texts",
        observer=observer, command=("directrank", "demo", "--text"),
    )  # fmt: skip
    ranker = configured(METHOD)[0].build().fit(load_data(folder / "features" / "all.parquet"))
    save(ranker, folder / "model.dr")
    before = TEXT_BEFORE.format(
        documents=index.n_docs, queries=features.groups.n_queries, features=features.groups.n_features,
        methods=len(TEXT_METHODS), folds=len(result.folds),
    )  # fmt: skip
    bm25 = features.groups.X[:, (features.groups.feature_names or ()).index("whole.bm25")]
    hits = [
        f"{hit.rank:>2}. {''.join(piece.text for piece in hit.title)} ({hit.bm25_rank})"
        for hit in Searcher(index, ranker, depth=100).search(QUERY, 3).hits
    ]
    after = TEXT_AFTER.format(
        measure=DEFAULT_MEASURE, query=QUERY, method=METHOD, folder=folder, hits="\n".join(hits),
        bm25=evaluate(features.groups, bm25, measures=DEFAULT_MEASURE)[DEFAULT_MEASURE],
        page=documentation_page("text"),
    )  # fmt: skip
    return Story(result, before, after)
