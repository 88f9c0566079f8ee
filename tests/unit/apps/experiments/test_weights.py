"""The weights of features that a comparison records, and that the page shows."""

import numpy as np

from directrank import QueryGroups, RankBoost, make_ranking
from directrank.apps.experiments import compare, read_results
from directrank.apps.report import render


def test_boosted_models_record_importances(tmp_path):
    """With as many rounds as features, so that the weights of rounds look like those of features."""
    made = make_ranking(36, 6, 3, random_state=0)
    parts = [
        QueryGroups(made.X[part], made.relevance[part], made.qid[part])
        for part in (made.qid % 3 == number for number in range(3))
    ]
    boosted = RankBoost(rounds=3, keep="last")
    result = compare(parts, [boosted, "ranksvm"], measures=["AP"], out=tmp_path)
    of_boosted, of_svm = (result.cells[at]["weights"] for at in (0, 1))
    expected = boosted.fit(parts[0], eval_set=parts[1]).feature_importances_
    assert of_boosted == {"features": ["1", "2", "3"], "importances": expected.tolist()}
    assert sorted(of_svm) == ["coefficients", "features"]
    assert np.isclose(sum(of_boosted["importances"]), 1)
    back = read_results(tmp_path)
    assert back.cells[0]["weights"] == of_boosted
    page = render(back)
    assert all(f"{label}: weights" in page for label in result.methods)
