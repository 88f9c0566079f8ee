"""Arguments, callbacks and models of other libraries are refused with what to use here."""

from typing import Any

import lightgbm
import pytest
import xgboost.callback

import directrank
from directrank import RankSVM, TreeRanker, make_ranking

GROUPS = make_ranking(20, 8, 3, random_state=0)
#: What type checkers would refuse first.
load: Any = directrank.load
fit: Any = TreeRanker(rounds=2).fit


@pytest.mark.parametrize(
    ("argument", "advice"),
    [
        ("eval_metric", "select_by"), ("eval_at", "select_by"), ("early_stopping_rounds", "patience=…"),
        ("categorical_feature", "data frame"), ("feature_name", "data frame"), ("xgb_model", "init_model"),
        ("base_margin", "init_model"), ("sample_weight_eval_set", "sample_weight"), ("group_id", "qid"),
        ("num_leaves", "give leaves=… to the constructor"), ("nonsense", "omit it"),
    ],
)  # fmt: skip
def test_arguments_of_fit(argument, advice):
    with pytest.raises(TypeError, match=f"^TreeRanker.fit has no argument {argument}: ") as refused:
        fit(GROUPS, **{argument: None})
    assert advice in str(refused.value)


def test_models_of_others_are_saved_first(tmp_path):
    sizes = GROUPS.queries.sizes
    theirs = lightgbm.LGBMRanker(n_estimators=2, verbose=-1).fit(GROUPS.X, GROUPS.relevance, group=sizes)
    with pytest.raises(
        TypeError, match=r"not LGBMRanker: write one by \.booster_\.save_model\('model\.txt'\)$"
    ):
        load(theirs)
    theirs.booster_.save_model(tmp_path / "model.txt")  # as it says
    assert load(tmp_path / "model.txt").n_features_in_ == 3
    with pytest.raises(TypeError, match=r"not Booster: write one by \.save_model\('model\.txt'\)$"):
        load(theirs.booster_)
    other = xgboost.XGBRanker(n_estimators=2).fit(GROUPS.X, GROUPS.relevance, qid=GROUPS.qid)
    with pytest.raises(TypeError, match=r"not XGBRanker: write one by \.save_model\('model\.json'\)$"):
        load(other)
    with pytest.raises(TypeError, match=r"not RankSVM: it is a ranker already$"):
        load(RankSVM())
    with pytest.raises(TypeError, match=r"not NoneType$"):
        load(None)
