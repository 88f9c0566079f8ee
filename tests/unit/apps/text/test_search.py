"""Search: contributions add up to scores, snippets hold the terms, hits are in the order of the scores."""

import numpy as np
import pandas as pd
import pytest

from directrank import Regression, load, save
from directrank.apps.text import Searcher, build_index, make_features, open_index
from directrank.errors import DataError
from text_examples import QUERIES, texts, write_queries, write_smart


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    build_index(write_smart(folder, texts()), folder / "index")
    write_queries(folder)
    return open_index(folder / "index")


def trained(index, features="xu2008"):
    folder = index.folder.parent
    return Regression().fit(
        make_features(index, folder / "queries.csv", folder / "qrels", features=features).groups
    )


@pytest.fixture(scope="module")
def ranker(index):
    return trained(index)


def test_hits_are_those_of_the_ranker(index, ranker, tmp_path):
    save(ranker, tmp_path / "model.dr")
    searcher = Searcher(index, load(tmp_path / "model.dr"), depth=30)
    for qid, text in QUERIES.items():
        found = searcher.search(text, n=7)
        queries = pd.DataFrame({"qid": [qid], "text": [text]})
        groups = make_features(index, queries, features="xu2008", candidates="bm25:30").groups
        scores = ranker.predict(groups)
        order = np.argsort(-scores, kind="stable")
        np.testing.assert_allclose([hit.score for hit in found.hits], scores[order][:7])
        assert [hit.rank for hit in found.hits] == list(range(1, 8))
        assert [hit.bm25_rank for hit in found.bm25] == list(range(1, 8))
        assert found.n_candidates == groups.n_docs
        by_name = {hit.docid: hit for hit in found.hits}
        for docid, score in zip(groups.docid, scores, strict=True):
            if hit := by_name.get(docid):
                assert hit.score == pytest.approx(score)
                total = sum(value for _, value in hit.contributions)
                assert found.mean_score + total == pytest.approx(score, abs=1e-6)
                sizes = [abs(value) for _, value in hit.contributions]
                assert sizes == sorted(sizes, reverse=True)
                assert "".join(piece.text for piece in hit.title) == " ".join(texts()[docid][0].split())


@pytest.mark.parametrize("cosine", [False, True])
def test_vectors_in_a_search(index, cosine):
    """A search computes what training read: inner products with the vector of the query's text."""
    rng, folder = np.random.default_rng(0), index.folder.parent
    documents = pd.DataFrame({"docid": list(texts()), "vector": list(rng.normal(size=(len(texts()), 4)))})
    of_texts = {text: rng.normal(size=4) for text in QUERIES.values()}
    by_qid = pd.DataFrame({"qid": list(QUERIES), "vector": list(of_texts.values())})
    by_text = pd.DataFrame({"text": list(of_texts), "vector": list(of_texts.values())})
    more = ["cosine"] * cosine
    made = make_features(
        index, folder / "queries.csv", folder / "qrels", features=["whole.bm25"], candidates="bm25:30",
        embeddings={"dense": (documents, by_qid, *more)},
    ).groups  # fmt: skip
    ranker = Regression().fit(made)
    scores = dict(
        zip(zip(made.qid.tolist(), made.docid.tolist(), strict=True), ranker.predict(made), strict=True)
    )

    def embedded(texts):
        return np.array([of_texts[text] for text in texts])

    for queries in (embedded, by_text):
        searcher = Searcher(index, ranker, depth=30, embeddings={"dense": (documents, queries, *more)})
        for qid, text in QUERIES.items():
            for hit in searcher.search(text, n=30).hits:
                assert hit.score == pytest.approx(scores[qid, hit.docid], rel=1e-6, abs=1e-7)
                assert {name for name, _ in hit.contributions} == {"whole.bm25", "dense"}
    with pytest.raises(DataError, match=r"no feature 'dense'.*--embed NAME=DOCUMENTS,MODULE:FUNCTION"):
        Searcher(index, ranker)
    with pytest.raises(DataError, match="has no vector of the text 'wing heat'"):
        searcher.search("wing heat")
    with pytest.raises(DataError, match=r"the vector of the query has shape \(1, 3\)"):
        Searcher(index, ranker, embeddings={"dense": (documents, lambda _: np.ones((1, 3)))}).search("heat")
    with pytest.raises(DataError, match="embeddings other: the model has no feature of this name"):
        Searcher(index, ranker, embeddings={"other": (documents, by_text)})
