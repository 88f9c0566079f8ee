"""Parameters as LightGBM, XGBoost, CatBoost and scikit-learn call them."""

import ast
import inspect
from pathlib import Path

import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold

from directrank import AdaRank, ListNet, RankBoost, StructuralSVM, TreeRanker, make_ranking
from directrank.estimators import synonyms
from directrank.estimators.synonyms import _SAME
from estimator_examples import CLASSES


def test_a_name_of_another_library_sets_ours():
    ranker = TreeRanker(
        n_estimators=7, num_leaves=5, early_stopping_rounds=3, max_bin=63, colsample_bytree=0.5, eta=0.2,
        seed=4, nthread=1, eval_metric="AP",
    )  # fmt: skip
    ours = TreeRanker(
        rounds=7, leaves=5, patience=3, bins=63, feature_share=0.5, learning_rate=0.2, random_state=4,
        n_jobs=1, select_by="AP",
    )  # fmt: skip
    assert ranker.get_params() == ours.get_params()
    assert RankBoost(n_estimators=9, eta=0.5, max_depth=2).get_params() == (
        RankBoost(rounds=9, shrinkage=0.5, depth=2).get_params()
    )
    assert ListNet(max_iter=11).max_iterations == 11
    assert StructuralSVM(C=3.0).C == 3.0


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_no_synonym_hides_a_parameter_and_the_signature_has_ours_alone(cls):
    names = set(inspect.signature(cls).parameters)
    assert names == set(cls().get_params(deep=False))
    assert not names & {name for others in _SAME.values() for name in others}


def test_clones_and_searches_take_either_name():
    groups = make_ranking(12, 6, 3, random_state=0)
    ranker = clone(AdaRank(n_estimators=2))
    assert ranker.rounds == 2
    with config_context(enable_metadata_routing=True):
        folds = GroupKFold(2).set_split_request(groups="qid")
        search = GridSearchCV(ranker, {"n_estimators": [1, 3]}, cv=folds)
        search.fit(groups.X, groups.relevance, qid=groups.qid)
    assert search.best_estimator_.rounds == search.best_params_["n_estimators"]
    assert ranker.set_params(n_estimators=5).rounds == 5


def test_type_checkers_read_every_name():
    """The class that only type checkers see has the names that constructors understand."""
    tree = ast.parse(Path(inspect.getsourcefile(synonyms)).read_text(encoding="utf-8"))
    (declared,) = [
        node
        for block in tree.body if isinstance(block, ast.If)
        for node in block.body if isinstance(node, ast.ClassDef)
    ]  # fmt: skip
    names = [line.target.id for line in declared.body if isinstance(line, ast.AnnAssign)]
    assert len(set(names)) == len(names)
    assert set(names) == {name for others in _SAME.values() for name in others}
