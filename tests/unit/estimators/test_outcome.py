"""How fits end: converged only with a certificate, in an error if numbers are not finite, with a remedy."""

import numpy as np
import pandas as pd
import pytest

from directrank import QueryGroups, make_ranking
from directrank.errors import DataError
from directrank.estimators import (
    ConsistentRank,
    ListNet,
    PermuRank,
    Regression,
)
from directrank.estimators.ranker import remedy


def scaled(factor, n_queries=30):
    groups = make_ranking(n_queries, 12, 4, random_state=0)
    X = np.array(groups.X)
    X[:, 0] *= np.float32(factor)
    return QueryGroups(X, groups.relevance, groups.qid)


def test_a_feature_of_another_unit_delays_no_convex_loss():
    for ranker in (ListNet(scaling="none"), ConsistentRank(scaling="none")):
        ranker.fit(scaled(1e6))
        assert ranker.status_ == "converged"
        assert len(ranker.history_) < 40


def test_working_sets_whose_last_problem_is_not_solved_have_not_converged():
    with pytest.warns(RuntimeWarning, match="PermuRank stopped early.*scale the features, or lower C"):
        ranker = PermuRank("AP", scaling="none").fit(scaled(1e30))
    assert ranker.certificate_["duality_gap"] > 0.5 * ranker.certificate_["bound"]


def test_a_run_of_few_iterations_names_the_parameter_to_raise():
    ranker = ListNet(max_iterations=1).fit(scaled(1.0))
    assert ranker.status_ == "budget"
    assert remedy(ranker).startswith("raise max_iterations, or scale the features")


def test_sizes_of_value_counts_and_columns_of_ids_are_warned_of():
    """LightGBM#6814: value_counts() sorts sizes, here 9, 5, 3 of rows that are 3, 9, 5."""
    qid = np.repeat([1, 2, 3], [3, 9, 5])
    X, y = np.arange(34.0).reshape(17, 2), np.arange(17) % 2
    sizes = pd.Series(qid).value_counts()
    with pytest.warns(UserWarning, match=r"as value_counts\(\) sorts them"):
        Regression().fit(X, y, group=sizes)
    for right in (sizes.sort_index(), pd.Series(qid).groupby(qid, sort=False).size(), [3, 9, 5], [9, 5, 3]):
        Regression().fit(X, y, group=right)
    for wrong in (sizes.to_numpy()[None], sizes.to_numpy() / 1.0, np.array([-1, 18])):
        with pytest.raises(DataError, match=r"group has shape .*, expected the number of rows of each query"):
            Regression().fit(X, y, group=wrong)
    table = pd.DataFrame(X, columns=["a", "Query_ID"])
    with pytest.warns(UserWarning, match="X has a column 'Query_ID', which is taken as a feature"):
        Regression().fit(table, y, qid=qid)
    Regression().fit(table.rename(columns={"Query_ID": "query"}), y, qid=qid)


def test_a_fit_removes_what_an_earlier_one_has_set_and_it_does_not():
    ranker = Regression()
    ranker.rounds_, ranker.library_ = 3, "LightGBM"
    ranker.fit(scaled(1.0))
    assert not hasattr(ranker, "rounds_")
    assert not hasattr(ranker, "library_")
