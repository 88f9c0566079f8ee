"""Rows to queries: every kind of qid, the inner order, and what is refused."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from directrank import make_ranking
from directrank.data import QueryGroups, grouping
from directrank.data.grouping import descending_order, query_codes, sorted_order
from directrank.errors import DataError
from directrank.estimators import ListNet
from directrank.files import read_letor, write_letor
from directrank.kernels.aligned import LINE_BYTES

QIDS = {
    "integers": np.array([5, 5, 2, 2, 9]),
    "negative": np.array([-5, -5, 2, 2, -9]),
    "beyond int64": np.array([2**64 - 1, 2**64 - 1, 2**63, 2**63, 1], dtype=np.uint64),
    "list beyond int64": [2**63, 2**63, -1, -1, 7],
    "huge integers": [2**70, 2**70, 2**70 + 1, 2**70 + 1, 0],
    "close floats": np.array([2.0**52, 2.0**52, 2.0**52 + 1, 2.0**52 + 1, 0.5]),
    "text": np.array(["b", "b", "a", "a", "c"]),
    "list of text": ["b", "b", "a", "a", "c"],
    "bytes": np.array([b"b", b"b", b"a", b"a", b"c"]),
    "booleans and more": [True, True, "True", "True", 0.5],
    "a number and its text": [1, 1, "1", "1", "x"],
    "pairs": [("a", 1), ("a", 1), ("a", 2), ("a", 2), ("b", 1)],
    "objects": np.array(["b", "b", 3, 3, (1, 2)], dtype=object),
    "days": np.array(["2020-01-02", "2020-01-02", "2020-01-01", "2020-01-01", "2021-01-01"], dtype="M8[D]"),
    "categorical": pd.Series(["b", "b", "a", "a", "c"], dtype="category"),
    "pandas": pd.Series(["b", "b", "a", "a", "c"]),
    "pandas with other labels": pd.Series([5, 5, 2, 2, 9], index=[4, 3, 2, 1, 0]),
    "nullable": pd.Series([5, 5, 2, 2, 9], dtype="Int64"),
    "polars": pl.Series(["b", "b", "a", "a", "c"]),
    "arrow": pa.array(["b", "b", "a", "a", "c"]),
}


@pytest.mark.parametrize("qid", QIDS.values(), ids=QIDS)
def test_queries_are_numbered_as_they_first_appear(qid):
    groups = QueryGroups(np.arange(5).reshape(5, 1), [0, 1, 0, 1, 1], qid)
    np.testing.assert_array_equal(groups.queries.indptr, [0, 2, 4, 5])
    np.testing.assert_array_equal(groups.queries.row, [1, 0, 3, 2, 4])
    given = list(qid.to_pylist() if isinstance(qid, pa.Array) else qid)
    assert list(groups.qid) == given
    assert list(groups.queries.qid) == [given[0], given[2], given[4]]


@pytest.mark.parametrize(
    "qid",
    [
        [1.0, float("nan"), 2.0],
        np.array([1.0, np.nan, 2.0]),
        ["a", None, "b"],
        pd.Series(["a", None, "b"]),
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series(["a", None, "b"], dtype="category"),
        np.array(["2020-01-01", "NaT", "2020-01-02"], dtype="M8[D]"),
        pa.array(["a", None, "b"]),
        [("a", 1), None, ("b", 1)],
    ],
    ids=str,
)
def test_a_missing_qid_is_refused_by_its_row(qid):
    with pytest.raises(DataError, match=r"qid of row 1 is missing"):
        QueryGroups(np.zeros((3, 1)), [0, 1, 0], qid)


rows = st.lists(st.tuples(st.integers(0, 5), st.sampled_from([0.0, 0.5, 1.0, 2.0])), min_size=1, max_size=60)


@settings(deadline=None, max_examples=200)
@given(rows)
def test_the_inner_order_is_the_stable_one(rows):
    qid, relevance = np.array([q for q, _ in rows]), np.array([y for _, y in rows])
    codes, names = query_codes(qid)
    first = [np.flatnonzero(qid == name)[0] for name in names]
    assert first == sorted(first)
    np.testing.assert_array_equal(names[codes], qid)
    order, indptr = sorted_order(codes, relevance, len(names))
    assert order.tolist() == sorted(range(len(codes)), key=lambda row: (codes[row], -relevance[row], row))
    np.testing.assert_array_equal(np.diff(indptr), np.bincount(codes))


@settings(deadline=None, max_examples=100)
@given(rows)
def test_what_is_public_is_in_the_callers_order(rows):
    qid, relevance = [f"q{q}" for q, _ in rows], [y for _, y in rows]
    X = np.arange(2 * len(rows), dtype=np.float32).reshape(-1, 2)
    groups = QueryGroups(X, relevance, qid, docid=[f"d{k}" for k in range(len(rows))])
    np.testing.assert_array_equal(groups.X, X)
    assert groups.relevance.tolist() == relevance
    assert groups.qid.tolist() == qid
    assert groups.docid.tolist() == [f"d{k}" for k in range(len(rows))]
    np.testing.assert_array_equal(groups.to_inner(X), groups.features)
    for a, b in zip(groups.queries.indptr[:-1], groups.queries.indptr[1:], strict=True):
        assert (np.diff(groups.queries.relevance[a:b]) <= 0).all()


def test_rows_that_are_apart_are_grouped_without_a_warning(caplog):
    with caplog.at_level("DEBUG", "directrank"):
        QueryGroups(np.zeros((4, 1)), [0, 0, 0, 0], ["b", "b", "a", "a"])
        assert not caplog.records
        QueryGroups(np.zeros((4, 1)), [0, 0, 0, 0], ["b", "a", "b", "a"], name="the file")
    assert caplog.messages[0].startswith("the file: rows of the same query")
    assert "qid b" in caplog.messages[0]


class TestFeatures:
    @pytest.mark.parametrize("value", [np.inf, -np.inf, 1e39])
    def test_the_first_value_that_is_not_finite_is_named(self, value):
        X = np.zeros((4, 3))
        X[1, 2] = np.nan
        X[2, 1] = value
        X[3, 0] = np.inf
        with pytest.raises(DataError, match=rf"^F: X holds {re.escape(str(value))} in row 2, column 1"):
            QueryGroups(X, [0] * 4, [1] * 4, name="F")

    @pytest.mark.parametrize("form", ["csr_matrix", "csc_matrix", "coo_array", "csr_array"])
    def test_sparse_matrices_become_dense(self, form):
        import scipy.sparse

        X = getattr(scipy.sparse, form)(np.array([[0, 1.5], [2, 0]]))
        groups = QueryGroups(X, [0, 1], [1, 1])
        assert groups.X.tolist() == [[0, 1.5], [2, 0]]
        assert groups.features.dtype == np.float32

    def test_the_callers_array_is_not_changed_nor_kept_in_another_order(self):
        X = np.arange(6, dtype=np.float64).reshape(3, 2)
        before = X.copy()
        groups = QueryGroups(X, [0, 1, 2], [1, 1, 1])
        groups.features[:] = 0
        np.testing.assert_array_equal(X, before)

    def test_an_array_that_may_be_overwritten_is_not_copied(self):
        rng = np.random.default_rng(0)
        X, y, qid = rng.normal(size=(40, 19)).astype(np.float32), rng.integers(0, 3, 40), np.arange(40) % 6
        copied = QueryGroups(X.copy(), y, qid)
        groups = QueryGroups(X, y, qid, overwrite_X=True)
        assert groups.features.base is X or groups.features is X
        np.testing.assert_array_equal(groups.features, copied.features)
        np.testing.assert_array_equal(groups.X, copied.X)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda X: X.astype(np.float64), "not an array of float64:"),
            (lambda X: np.frombuffer(X.tobytes(), np.float32).reshape(X.shape), "float32 that is read-only:"),
            (np.asfortranarray, "float32 in another order:"),
            (lambda X: X.tolist(), "not list"),
            (lambda X: QueryGroups(X, np.arange(3), [1, 1, 1]), "not QueryGroups"),
        ],
        ids=["another type", "read-only", "another order", "no array", "a store"],
    )
    def test_what_cannot_be_overwritten_is_refused(self, change, words):
        X = change(np.arange(6, dtype=np.float32).reshape(3, 2))
        with pytest.raises(DataError, match=f"overwrite_X needs .*{words}"):
            QueryGroups(X, [0, 1, 2], [1, 1, 1], overwrite_X=True)
        with pytest.raises(DataError, match=f"overwrite_X needs .*{words}"):
            ListNet().fit(X, [0, 1, 2], qid=[1, 1, 1], overwrite_X=True)

    @pytest.mark.parametrize("is_in_order", [True, False])
    def test_a_fit_that_overwrites_has_the_same_bits(self, is_in_order):
        groups = make_ranking(40, 30, 20, random_state=0)
        X, y, qid = groups.X, groups.relevance, groups.qid
        X *= np.geomspace(0.01, 100.0, 20, dtype=np.float32)
        if is_in_order:
            order = sorted_order(query_codes(qid)[0], y, 40)[0]
            X, y, qid = X[order], y[order], qid[order]
        usual, before = ListNet().fit(X, y, qid=qid), X.copy()
        assert usual.scaling_ == "standard"
        np.testing.assert_array_equal(X, before)
        overwriting = ListNet().fit(X, y, qid=qid, overwrite_X=True)
        np.testing.assert_array_equal(usual.coef_, overwriting.coef_)
        np.testing.assert_array_equal(usual.feature_deviations_, overwriting.feature_deviations_)
        assert abs(X.mean(axis=0)).max() < 1e-4  # they are the scaled features

    def test_data_that_would_change_with_the_overwritten_are_refused(self):
        groups = make_ranking(10, 5, 3, random_state=0)
        X, y, qid = groups.X, groups.relevance, groups.qid
        for others in (
            {"eval_set": (X, y, qid)}, {"sample_weight": X[:, 0]}, {"eval_set": (list(X), y, qid)},
        ):  # fmt: skip
            with pytest.raises(DataError, match="share their memory"):
                ListNet().fit(X, y, qid=qid, overwrite_X=True, **others)
        frame = pd.DataFrame(X, copy=False)
        for others in (
            {"eval_set": (frame, y, qid)},
            {"sample_weight": frame[0]},
            {"sample_weight": [frame[0]]},
        ):
            with pytest.raises(DataError, match="as arrays, lists of numbers or QueryGroups"):
                ListNet().fit(X, y, qid=qid, overwrite_X=True, **others)
        half = len(X) // 2
        ListNet().fit(
            X[:half], y[:half], qid=qid[:half], overwrite_X=True, eval_set=(X[half:], y[half:], qid[half:])
        )

    def test_lists_of_numbers_share_no_memory_with_the_overwritten(self):
        groups = make_ranking(10, 5, 3, random_state=0)
        X, y, qid = groups.X, groups.relevance, groups.qid.tolist()
        weights = np.linspace(0.5, 1.5, 10).tolist()
        validation = {"eval_set": [(X.tolist(), y.tolist())], "eval_group": [[20, 22]]}
        usual, overwriting = (
            ListNet().fit(X.copy(), y, qid=qid, sample_weight=weights, overwrite_X=overwrite_X, **validation)
            for overwrite_X in (False, True)
        )
        np.testing.assert_array_equal(usual.coef_, overwriting.coef_)


class TestSelect:
    @pytest.fixture
    def groups(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return QueryGroups(
                np.arange(6).reshape(6, 1), [0, 1, 2, 0, 1, 0], list("abacbc"), docid=list("uvwxyz"), name="N"
            )

    def test_by_number_and_by_mask(self, groups):
        for queries in ([2, 0], [-1, 0], np.array([True, False, True])):
            part = groups.select(queries)
            assert part.qid.tolist() == ["a", "a", "c", "c"]
            assert part.X[:, 0].tolist() == [0, 2, 3, 5]
            assert part.relevance.tolist() == [0, 2, 0, 0]
            assert part.docid.tolist() == ["u", "w", "x", "z"]
            assert part.queries.indptr.tolist() == [0, 2, 4]
            assert part.queries.relevance.tolist() == [2, 0, 0, 0]
            assert part.name == "N"


def test_features_begin_at_a_cache_line(tmp_path):
    made = make_ranking(40, 7, 5, random_state=0)
    write_letor(made, tmp_path / "some.txt")
    sorted_anew = QueryGroups(made.X, made.to_caller(made.queries.relevance), np.repeat(1, made.n_docs))
    for groups in (made, read_letor(tmp_path / "some.txt"), sorted_anew, made.select(np.arange(3, 30))):
        assert groups.features.ctypes.data % LINE_BYTES == 0
        assert groups.features.flags.c_contiguous


def test_names_of_documents_in_a_list_stay_numbers_and_texts():
    groups = QueryGroups(np.zeros((2, 1)), [1, 0], ["q", "q"], docid=[1, "1"])
    assert groups.docid is not None
    assert groups.docid.tolist() == [1, "1"]


@pytest.mark.parametrize("at_once", [1, 8, 2**17])
def test_lists_of_any_length_are_sorted_each_for_itself_and_stably(monkeypatch, at_once):
    monkeypatch.setattr(grouping, "SORTED_AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    sizes = [0, 1, 7, 2, 0, 3, 40, 5, 4, 1, 0]
    indptr = np.append(0, np.cumsum(sizes))
    scores = rng.integers(-3, 3, indptr[-1]).astype(float)
    expected = [
        row for first, last in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True)
        for row in sorted(range(first, last), key=lambda row: -scores[row])
    ]  # fmt: skip
    assert descending_order(scores, indptr).tolist() == expected
    found = descending_order(scores, indptr, stable=False)
    assert sorted(found.tolist()) == sorted(expected)
    np.testing.assert_array_equal(scores[found], scores[expected])
