"""CatBoost as a row of a comparison."""

import numpy as np
import pytest

from directrank import compare, evaluate, make_ranking

pytest.importorskip("catboost")
NAME = "catboost:YetiRank"
OPTIONS = {
    "settings": {"iterations": 12, "learning_rate": 0.3}, "grids": {"depth": (2, 3), "l2_leaf_reg": (3.0,)},
    "audit": False, "measures": ("AP",), "seeds": [0, 1],
}  # fmt: skip

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def parts():
    data = make_ranking(45, 8, 4, random_state=1)
    return [data.select(piece) for piece in np.array_split(np.arange(data.n_queries), 3)]


def test_yetirank_keeps_the_best_round_and_repeats_itself(parts, capfd):
    result = compare(parts, NAME, **OPTIONS)
    assert not result.failed
    cell = result.cell(NAME, "fold")
    assert cell["seeds"][0]["validation"] == max(row["monitor"] for row in cell["training"]["history"])
    constant = evaluate(parts[2], np.zeros(parts[2].n_docs), measures=["AP"])["AP"]
    assert result.mean(NAME, "AP", "standard") > constant + 0.05
    assert "catboost" in result.summary["environment"]
    assert compare(parts, NAME, **OPTIONS).to_csv("standard") == result.to_csv("standard")
    assert capfd.readouterr().out == ""


def test_a_ranker_of_ones_own_gets_its_queries(parts, tmp_path):
    from catboost import CatBoostRanker

    ranker = CatBoostRanker(loss_function="QueryRMSE", iterations=10, depth=2)
    result = compare(parts, [ranker], out=tmp_path / "run", audit=False, measures=("AP",))
    assert not result.failed
    assert [run["seed"] for run in result.cell("CatBoostRanker", "fold")["seeds"]] == [0, 1, 2]
    assert not ranker.is_fitted()
