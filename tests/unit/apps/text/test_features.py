"""Features: equal to their definitions in plain Python, to bm25s, and to sums by hand."""

import bm25s
import numpy as np
import pandas as pd
import pytest

from directrank.apps.text import Analysis, build_index, open_index, own_feature
from directrank.apps.text.features import matches
from directrank.apps.text.features.candidates import Ranking, bm25_top, candidates_of, parse_rule
from directrank.apps.text.features.definitions import DEFINITIONS, parse_features
from directrank.apps.text.index.analysis import terms_of
from directrank.errors import DataError
from text_examples import QUERIES, naive_features, texts, write_smart


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    build_index(write_smart(folder, texts()), folder / "index")
    return open_index(folder / "index")


def computed(index, names, queries):
    """Return features of all documents for each query."""
    terms = [index.terms(query) for query in queries]
    documents = [np.arange(index.n_docs)] * len(terms)
    features = parse_features(names, index.fields)
    found = matches.feature_matrix(index, terms, documents, features)
    return found.reshape(len(terms), index.n_docs, len(features))


@pytest.fixture(scope="module", params=["title", "body", "whole"])
def defined(request, index):
    """A field, and for each query the features of each document in it by definition."""
    field = request.param
    return field, [naive_features(texts(), field, query, index.analysis) for query in QUERIES.values()]


@pytest.mark.share(6)
@pytest.mark.parametrize("name", DEFINITIONS)
def test_features_are_those_by_definition(index, defined, name):
    field, by_query = defined
    found = computed(index, [f"{field}.{name}"], QUERIES.values())[:, :, 0]
    for row, expected in zip(found, by_query, strict=True):
        np.testing.assert_allclose(row, [each[name] for each in expected.values()], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.9, 0.4), (2.0, 0.0)])
def test_bm25_is_that_of_bm25s(index, k1, b):
    tokens = [terms_of(f"{title} {body}", index.analysis) for title, body in texts().values()]
    other = bm25s.BM25(k1=k1, b=b, method="lucene", dtype="float64")
    other.index(tokens, show_progress=False)
    found = computed(index, [f"whole.bm25(k1={k1},b={b})"], QUERIES.values())[:, :, 0]
    for row, query in zip(found, QUERIES.values(), strict=True):
        known = [term for term in terms_of(query, index.analysis) if index.terms(term).size]
        np.testing.assert_allclose(row, other.get_scores(known), rtol=1e-6, atol=1e-6)


def test_proximity_by_hand(tmp_path):
    frame = pd.DataFrame({"id": ["a", "b"], "text": ["red x blue blue red y y y red", "green"]})
    build_index(frame, tmp_path / "index", analysis=Analysis("none", "none"))
    names = ["window", "window_share", "phrases", "ordered_pairs(window=4)", "unordered_pairs(window=4)"]
    features = [f"whole.{name}" for name in names]
    found = computed(
        open_index(tmp_path / "index"), features, ["red gone blue green", "red red", "yy red", ""]
    )
    # One-letter words are no terms: red blue blue red red. Unknown words separate nothing.
    assert found[:, 0].tolist() == [
        [2, 1, 1, 2, 6], [1, 1, 1, 2, 2], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0],
    ]  # fmt: skip
    assert found[:, 1].tolist() == [[1, 1, 0, 0, 0], *[[0] * 5] * 3]


def test_own_features(index):
    own = own_feature("body.root_tf", lambda m: m.sum(m.tf**0.5))
    found = computed(index, [own, "body.tf"], QUERIES.values())
    assert (found[:, :, 0] <= found[:, :, 1]).all()
    assert found[:, :, 0].any()
    for wrong, problem in ((lambda m: m.tf, "has shape"), (lambda m: m.length / 0.0, "is infinite")):
        with (
            pytest.raises(DataError, match=f"body.wrong: {problem}"),
            np.errstate(divide="ignore", invalid="ignore"),
        ):
            computed(index, [own_feature("body.wrong", wrong)], QUERIES.values())
    with pytest.raises(ValueError, match="expected a field first"):
        own_feature("wrong", lambda m: m.tf)


def test_first_documents_of_bm25(index):
    for query in QUERIES.values():
        scores = computed(index, ["whole.bm25"], [query])[0, :, 0].astype(np.float64)
        for depth in (1, 5, 1000):
            found, values = bm25_top(index, index.terms(query), depth)
            assert len(found) == min(depth, (scores > 0).sum())
            np.testing.assert_allclose(values, scores[found], rtol=1e-6)
            np.testing.assert_allclose(values, -np.sort(-scores)[: len(found)], rtol=1e-6)
    assert not len(bm25_top(index, index.terms("unknownword"), 5)[0])


def test_equal_scores_are_in_the_order_of_the_collection(tmp_path):
    frame = pd.DataFrame({"id": list("abcde"), "text": ["heat", "heat wing", "heat", "wing", "heat"]})
    build_index(frame, tmp_path / "index")
    index = open_index(tmp_path / "index")
    assert bm25_top(index, index.terms("heat"), 2)[0].tolist() == [0, 2]
    assert bm25_top(index, index.terms("heat"), 9)[0].tolist() == [0, 2, 4, 1]


def test_rules_of_candidates(index):
    judged, first = np.array([0, 3]), Ranking(*bm25_top(index, index.terms("heat"), 5))
    found = candidates_of([first, Ranking(np.array([3]), np.array([0.5]))], judged)
    assert found.documents.tolist() == sorted({*first.documents.tolist(), 0, 3})
    of_bm25 = dict(zip(first.documents.tolist(), first.scores.tolist(), strict=True))
    for document, scores in zip(found.documents.tolist(), found.scores.tolist(), strict=True):
        assert np.array_equal(scores, [of_bm25.get(document, np.nan), 0.5 if document == 3 else np.nan], True)
    for text in ("bm25:5+judged", "bm25:5,judged", " judged , bm25:5"):
        assert parse_rule(text) == (5, True, ())
    assert parse_rule("run:a+b:c.txt:7,judged,run:x:1") == (0, True, (("a+b:c.txt", 7), ("x", 1)))
    assert str(parse_rule("bm25:5,run:x:7")) == "the first 5 documents of BM25 and the first 7 documents of x"
    assert str(parse_rule("bm25:5+judged")) == "the first 5 documents of BM25 and the judged documents"
    for wrong in (
        "",
        "bm25",
        "bm25:0",
        "bm25:5judged",
        "+judged",
        "bm25:5+",
        "all",
        "run:x",
        "run:x:0",
        "judged,",
    ):
        with pytest.raises(ValueError, match="expected bm25:200, judged or"):
            parse_rule(wrong)
