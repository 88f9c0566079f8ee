"""Rows of features with categories: rankers read them as the frame that they came from."""

import numpy as np
import pandas as pd
import pytest

from directrank import DataError, QueryGroups, RankSVM, Regression, TreeRanker, from_frame

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "qid": np.repeat(np.arange(30), 8),
        "label": RNG.integers(0, 3, 240),
        "brand": pd.Categorical(RNG.choice(["b", "a", "7"], 240)),
        "price": RNG.normal(size=240),
        "shop": RNG.choice(["x", None, "<y>"], 240),
    }
)
GROUPS = from_frame(FRAME)
TRAIN, TEST = GROUPS.select(range(20)), GROUPS.select(range(20, 30))
FEATURES = ["brand", "price", "shop"]
FIRST = FRAME[160:168][FEATURES]


@pytest.fixture(scope="module", params=[RankSVM(), TreeRanker(rounds=5)], ids=["linear", "trees"])
def ranker(request):
    return request.param.fit(TRAIN)


def test_readme_s_idiom_works_with_categories(ranker):
    """README: load(…).rank(test.X[:20])."""
    assert ranker.rank(TEST.X[:8]).tolist() == ranker.rank(FIRST).tolist()
    assert ranker.rank(TEST.X[[3, 1]]).tolist() == ranker.rank(FIRST.iloc[[3, 1]]).tolist()
    np.testing.assert_array_equal(ranker.predict(TEST.X), ranker.predict(TEST))
    np.testing.assert_array_equal(ranker.explain(TEST.X[:8], rows=0), ranker.explain(FIRST, rows=0))


def test_codes_of_other_data_are_read_by_their_texts(ranker):
    """Without a document of brand 7, a is 0 and not 1."""
    others = from_frame(FRAME[160:].query("brand != '7'"))
    assert others.categories["brand"] == ("a", "b") != GROUPS.categories["brand"]
    expected = ranker.predict(FRAME[160:].query("brand != '7'")[FEATURES])
    np.testing.assert_array_equal(ranker.predict(others.X), expected)


def test_fit_reads_them_as_categories():
    fitted = Regression().fit(TRAIN.X, TRAIN.relevance, qid=TRAIN.qid)
    np.testing.assert_array_equal(fitted.predict(TEST), Regression().fit(TRAIN).predict(TEST))
    groups = QueryGroups(TRAIN.X, TRAIN.relevance, TRAIN.qid)
    assert groups.categories == TRAIN.categories
    np.testing.assert_array_equal(groups.X, TRAIN.X)


def test_parts_of_columns_and_what_is_computed_are_numbers(ranker):
    X = TEST.X
    for part in (X[:, :2], X + 1, X[0], X[:, 1], X[None], X[X > 0], X.T, X[:, ::-1], X[:3, [2, 0, 1]]):
        assert not hasattr(part, "columns")
    for part in (X[:4], X[[0, 2]], X[2:][:3], X[X[:, 1] > 0], X[:4, :], X[[1], ...]):
        assert part.columns == tuple(FEATURES)
    assert X[:4].texts("shop") == [None if pd.isna(shop) else shop for shop in FIRST.shop[:4]]
    with pytest.raises(DataError, match="column 'brand' is categorical in the model and numbers"):
        ranker.rank(np.asarray(X[:8]))
