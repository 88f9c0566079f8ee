"""The data check on features that leak the labels: agreements by hand, names, and real collections."""

import numpy as np
import pandas as pd
import pytest

from directrank import check_data, from_frame, load_data, load_letor
from directrank.data.columns import outcomes_among
from directrank.diagnostics.data_check import agreements, features_alone

CODE = "features_tell_relevance"


def pairs_by_enumeration(x, grades) -> float:
    """Goodman and Kruskal's gamma, pair by pair."""
    x = [-np.inf if np.isnan(value) else value for value in x]
    signs = [
        int(x[i] > x[j]) - int(x[i] < x[j])
        for i in range(len(x))
        for j in range(len(x))
        if grades[i] > grades[j]
    ]
    return sum(signs) / sum(map(abs, signs)) if any(signs) else np.nan


def shop(n_queries=40, n_docs=12, seed=0):
    """Grades 0 to 2, an honest feature, and what is known only after purchases."""
    rng = np.random.default_rng(seed)
    honest = rng.normal(size=n_queries * n_docs)
    wish = honest + rng.normal(size=len(honest))
    grades = (wish > 0.5).astype(int) + (wish > 1.5)
    return pd.DataFrame({
        "qid": np.repeat(np.arange(n_queries), n_docs), "grade": grades, "honest": honest,
        "opened": (grades >= 1).astype(int), "bought": (grades == 2).astype(int),
        "pagerank": rng.normal(size=len(honest)),
    })  # fmt: skip


def finding_of(groups):
    found = [each for each in check_data(groups).findings if each.code == CODE]
    return found[0] if found else None


class TestAgreements:
    def test_they_are_those_of_all_pairs(self):
        rng = np.random.default_rng(3)
        grades = np.sort(rng.integers(0, 4, 15))[::-1].astype(float)
        X = rng.integers(0, 5, (15, 30)).astype(np.float32)
        X[rng.random(X.shape) < 0.1] = np.nan
        expected = [pairs_by_enumeration(x, grades) for x in X.T.tolist()]
        np.testing.assert_allclose(agreements(X, grades), expected, rtol=0, atol=1e-12)


class TestFeaturesAlone:
    def test_functions_of_the_grade_are_named_first_and_nothing_is_dropped(self):
        groups = from_frame(shop())
        check = check_data(groups)
        assert check.findings[0].code == CODE
        assert check.lines()[0].startswith(
            "Perhaps these features leak the labels: opened, bought alone order"
        )
        assert "--drop opened,bought (in Python, drop=['opened', 'bought'])" in check.lines()[0]
        assert check.findings[0].values == {"opened": 1.0, "bought": 1.0}
        assert groups.feature_names == ("honest", "opened", "bought", "pagerank")

    def test_a_feature_that_orders_against_the_grades_tells_them_too(self):
        frame = shop().drop(columns="bought")
        alone, following = features_alone(from_frame(frame.assign(opened=-frame.opened)))
        assert list(alone) == ["opened"]
        assert following < 0.8

    def test_one_copy_in_fifty_may_be_wrong(self):
        frame = shop(100)
        rng = np.random.default_rng(1)
        noisy = frame.grade + np.where(rng.random(len(frame)) < 0.005, rng.choice([-3, 3], len(frame)), 0)
        alone, _ = features_alone(from_frame(frame.drop(columns=["opened", "bought"]).assign(noisy=noisy)))
        assert list(alone) == ["noisy"]
        assert alone["noisy"] < 1

    def test_features_that_are_all_good_are_no_leak(self):
        frame = shop()
        rng = np.random.default_rng(2)
        good = {f"f{k}": frame.grade + rng.normal(scale=0.35, size=len(frame)) for k in range(6)}
        frame = frame[["qid", "grade"]].assign(**good)
        groups = from_frame(frame)
        assert features_alone(groups)[1] > 0.95
        assert features_alone(from_frame(frame.assign(copy=frame.grade)))[0] == {"copy": 1.0}
        assert finding_of(groups) is None

    def test_a_value_of_a_category_names_its_column(self):
        frame = shop().drop(columns=["opened", "bought"])
        state = np.where(frame.grade >= 1, "kept", "returned")
        finding = finding_of(from_frame(frame.assign(state=state)))
        assert "state=kept, state=returned alone order the queries" in finding.message
        assert "--drop state (in Python, drop=['state'])" in finding.message

    def test_queries_are_thinned_evenly(self, monkeypatch):
        monkeypatch.setattr("directrank.diagnostics.data_check.MOST_CELLS", 1000)
        assert list(features_alone(from_frame(shop()))[0]) == ["opened", "bought"]


class TestNames:
    def test_whole_words_of_outcomes(self):
        names = (
            "click", "clicked", "clicks", "n_clicks", "clickCount", "click_bool", "purchase", "purchased",
            "order", "orders", "n-orders", "add_to_cart", "position", "item_position", "Position", "rank",
            "weight", "sample_weight", "CONVERSION",
        )  # fmt: skip
        assert outcomes_among(names) == names

    def test_readers_warn(self, tmp_path):
        frame = pd.DataFrame({"qid": [1, 1], "label": [1, 0], "weight": [3, 3], "f1": [0.5, 0.1]})
        frame.to_csv(tmp_path / "d.csv", index=False)
        for read in (
            lambda **how: load_data(tmp_path / "d.csv", **how),
            lambda **how: from_frame(frame, **how),
        ):
            with pytest.warns(UserWarning, match="read as features: weight; leave") as caught:
                assert read().feature_names == ("weight", "f1")
            assert caught[0].filename == __file__
            assert read(drop=["weight"]).n_features == 1
            assert read(features=["weight", "f1"]).n_features == 2


@pytest.mark.share(4)
@pytest.mark.golden
@pytest.mark.parametrize("fold", range(1, 6))
@pytest.mark.parametrize("name", ["OHSUMED", "WEB_RAW"])
def test_no_false_alarm(name, fold, collection):
    groups = load_letor(collection(name) / f"Fold{fold}" / "train.txt")
    alone, following = features_alone(groups)
    assert alone == {}
    assert following < 0.7
