"""Sparse matrices in `fit`, `predict` and `score`: as their dense twins, up to the size that fits."""

import numpy as np
import pytest
import scipy.sparse

from directrank import ListNet, Regression, make_ranking


@pytest.fixture(scope="module")
def groups():
    return make_ranking(20, 6, 5, random_state=4)


@pytest.mark.parametrize("form", [scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_matrix])
def test_a_sparse_matrix_gives_the_model_of_its_dense_twin(groups, form):
    X = np.where(groups.X > 0, groups.X, 0)
    dense = ListNet().fit(X, groups.relevance, qid=groups.qid, eval_set=(X, groups.relevance, groups.qid))
    part = form(X), groups.relevance, groups.qid
    sparse = ListNet().fit(form(X), groups.relevance, qid=groups.qid, eval_set=part)
    np.testing.assert_array_equal(sparse.coef_, dense.coef_)
    np.testing.assert_array_equal(sparse.predict(form(X)), dense.predict(X))
    assert sparse.score(*part) == dense.score(X, groups.relevance, groups.qid)


def test_copies_of_rows_by_weight(groups):
    times = np.arange(groups.n_docs) % 3
    X, given = groups.X, {"qid": groups.qid, "sample_weight": times}
    dense = Regression().fit(X, groups.relevance, **given)
    sparse = Regression().fit(scipy.sparse.csr_array(X), groups.relevance, **given)
    np.testing.assert_array_equal(sparse.coef_, dense.coef_)
