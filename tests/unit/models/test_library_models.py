"""Models of LightGBM and XGBoost: their own scores, every direction of missing values, and refusals."""

import json
import random
import re

import lightgbm
import numpy as np
import pytest
import xgboost

from benchmarks.naive import contributions_naive
from directrank import load, load_data, read_letor, save, write_letor
from directrank.cli import main
from directrank.data.groups import QueryGroups
from directrank.errors import DataError, ModelFormatError
from directrank.scorers.trees import at_most, needs_float64

QUIET = {
    "verbose": -1,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
    "min_data_in_leaf": 5,
}
N_DOCS = 10_000
TINY = float(np.nextafter(np.float32(0), np.float32(1)))


def rows(n_docs=N_DOCS):
    """Numbers with ties, zeros and missing values, and grades that depend on two of them together."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_docs, 6)).astype(np.float32)
    X[:, 3] = X[:, 3].round()
    X[rng.random(X.shape) < 0.15] = np.nan
    X[:, 5] = rng.integers(0, 3, n_docs)
    y = np.digitize(np.nan_to_num(X[:, 0] * X[:, 1] + X[:, 2]) + rng.normal(size=n_docs), [0.5, 1.5])
    return X, y, np.repeat(np.arange(n_docs // 50), 50)


def of_lightgbm(X, y, rounds=20, **parameters):
    given = {"objective": "regression", **QUIET, **parameters}
    categories = given.pop("categorical_feature", "auto")
    return lightgbm.train(given, lightgbm.Dataset(X, y, categorical_feature=categories), rounds)


def of_xgboost(X, y, rounds=20, **parameters):
    given = {"objective": "reg:squarederror", "nthread": 1, "verbosity": 0, "max_depth": 4, **parameters}
    return xgboost.train(given, xgboost.DMatrix(X, y), rounds)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """A small model of each library as it writes it."""
    X, y, _ = rows(300)
    folder = tmp_path_factory.mktemp("libraries")
    of_lightgbm(X, y, 3).save_model(folder / "model.txt")
    of_xgboost(X, y, 3).save_model(folder / "model.json")
    return {name: (folder / f"model.{name}").read_bytes() for name in ("txt", "json")}


def test_thresholds_by_hand():
    """LightGBM sends x ≤ t to the left in float64, XGBoost x < t in float32."""
    one = np.float32(1.0)
    below = np.nextafter(one, np.float32(0.0))
    given = np.array([1.0, 1.0 + 1e-12, 1.0 - 1e-12, 1e300, -1e300, np.inf])
    largest = np.finfo(np.float32).max
    expected = [one, one, below, largest, -largest, largest]
    assert at_most(given, or_equal=True).tolist() == list(map(float, expected))
    assert at_most(np.array([1.0, 0.0], np.float32), or_equal=False).tolist() == [float(below), -1.0 * TINY]


@pytest.mark.parametrize(
    "parameters",
    [
        {}, {"zero_as_missing": True}, {"use_missing": False}, {"boosting": "dart", "drop_rate": 0.5},
        {"num_leaves": 2, "max_bin": 15}, {"reg_sqrt": True}, {"extra_trees": True},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_scores_of_lightgbm_are_ours(parameters, kind, tmp_path):
    X, y, _ = rows()
    X = X.astype(kind) * kind(1.1)  # in float64, numbers that float32 does not hold
    booster = of_lightgbm(X, y, **parameters)
    booster.save_model(tmp_path / "model.txt")
    ranker = load(tmp_path / "model.txt")
    np.testing.assert_array_equal(ranker.predict(X), booster.predict(X, raw_score=True))
    save(ranker, tmp_path / "model.dr")
    assert load(tmp_path / "model.dr").predict(X).tobytes() == ranker.predict(X).tobytes()
    X = X.astype(np.float32)
    groups = QueryGroups(X, y, np.arange(len(y)))
    np.testing.assert_array_equal(ranker.predict(groups), booster.predict(X, raw_score=True))


@pytest.mark.parametrize("objective", ["regression", "binary"])
def test_a_random_forest_of_lightgbm_is_a_mean(objective, tmp_path):
    X, y, _ = rows()
    booster = of_lightgbm(X, y > 0, objective=objective, boosting="rf", bagging_freq=1, bagging_fraction=0.5)
    booster.save_model(tmp_path / "model.txt")
    for rounds in (None, 7):
        scores = load(tmp_path / "model.txt", rounds=rounds).predict(X)
        predicted = scores if objective == "regression" else 1 / (1 + np.exp(-scores))
        np.testing.assert_allclose(predicted, booster.predict(X, num_iteration=rounds), rtol=1e-12)


def times(n_docs=2000):
    """Seconds of one day as a feature in float64, and grades that depend on them."""
    X, y, qid = rows(n_docs)
    X = X.astype(np.float64)
    X[:, 0] = 1.7e9 + np.random.default_rng(1).integers(0, 40_000, n_docs) + 0.25
    X[::50, 0] = 0.0
    return X, y + 3 * np.sin((X[:, 0] - 1.7e9) / 500), qid


def test_numbers_too_fine_for_float32_are_compared_in_float64_or_refused(tmp_path, capsys):
    from scipy.sparse import csr_matrix

    X, y, qid = times()
    booster = of_lightgbm(X, y, 60)
    booster.save_model(tmp_path / "model.txt")
    save(load(tmp_path / "model.txt"), tmp_path / "model.dr")
    groups = QueryGroups(np.nan_to_num(X), qid * 0.0, qid)
    write_letor(groups, tmp_path / "data.txt")
    for name in ("model.txt", "model.dr"):
        ranker = load(tmp_path / name)
        np.testing.assert_array_equal(ranker.predict(X), booster.predict(X))
        Z = np.nan_to_num(X)
        np.testing.assert_array_equal(ranker.predict(csr_matrix(Z)), booster.predict(Z))
        with pytest.raises(DataError, match=r"feature 1: .* float32 cannot tell apart.*float64 array"):
            ranker.predict(groups)
        assert main(["rank", str(tmp_path / name), str(tmp_path / "data.txt")]) == 3
        assert "feature 1: the model was trained on float64" in capsys.readouterr().err


@pytest.mark.parametrize("low", [1.0, -1.5, 16_000_000.0, -1.7e9, 0.0])
def test_models_of_float32_numbers_never_need_float64(low):
    """Neighbouring float32 numbers, and whole ones, as the values of training."""
    rng = np.random.default_rng(2)
    values = np.float32(low) + np.arange(300, dtype=np.float32) * np.spacing(np.float32(abs(low) + 1))
    x = rng.choice(values, (3000, 1))
    booster = of_lightgbm(x, rng.normal(size=3000), 30, min_data_in_bin=1, max_bin=400)
    threshold = booster.trees_to_dataframe().threshold.dropna().to_numpy(float)
    assert len(threshold) > 100
    assert not needs_float64(threshold)
    # From 0 on the values lie between many powers of two, and float32 is fine enough there.
    assert needs_float64(threshold + 0.3 * np.spacing(np.float32(low))) == (low != 0.0)


@pytest.mark.parametrize(
    "parameters",
    [
        {}, {"booster": "dart", "rate_drop": 0.5}, {"objective": "count:poisson"}, {"num_parallel_tree": 2},
        {"objective": "binary:logistic", "base_score": 0.2}, {"grow_policy": "lossguide", "max_leaves": 12},
        {"objective": "binary:logitraw", "base_score": 0.3}, {"objective": "binary:hinge"},
        {"objective": "reg:tweedie"}, {"objective": "reg:quantileerror", "quantile_alpha": 0.4},
        {"tree_method": "exact", "gamma": 3.0}, {"scale_pos_weight": 3.0},
    ],
    ids=str,
)  # fmt: skip
def test_scores_of_xgboost_are_ours(parameters, tmp_path):
    X, y, _ = rows()
    booster = of_xgboost(X, y > 0, **parameters)
    booster.save_model(tmp_path / "model.json")
    expected = booster.predict(xgboost.DMatrix(X), output_margin=True)
    # XGBoost adds in float32.
    np.testing.assert_allclose(load(tmp_path / "model.json").predict(X), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("parameters", [{}, {"num_parallel_tree": 3, "subsample": 0.7}, {"booster": "dart"}])
def test_the_best_round_of_early_stopping_is_the_last_that_is_used(parameters, tmp_path, capsys):
    X, y, qid = rows(1000)
    ranker = xgboost.XGBRanker(
        n_estimators=60, n_jobs=1, early_stopping_rounds=5, learning_rate=0.5, **parameters
    )
    ranker.fit(
        X[:500], y[:500], qid=qid[:500], eval_set=[(X[500:], y[500:])], eval_qid=[qid[500:]], verbose=False
    )
    best, n_rounds = ranker.best_iteration + 1, ranker.get_booster().num_boosted_rounds()
    path, data = tmp_path / "model.json", tmp_path / "data.txt"
    ranker.save_model(path)
    assert 1 < best < n_rounds
    np.testing.assert_allclose(load(path).predict(X), ranker.predict(X), rtol=1e-5, atol=1e-5)
    for rounds in (2, n_rounds):
        expected = ranker.predict(X, iteration_range=(0, rounds))
        np.testing.assert_allclose(load(path, rounds=rounds).predict(X), expected, rtol=1e-5, atol=1e-5)
    write_letor(QueryGroups(np.nan_to_num(X), y, qid), data)
    capsys.readouterr()
    assert main(["rank", str(path), str(data)]) == 0
    assert f"{best} of {n_rounds} rounds, the best by early stopping\n" in capsys.readouterr().err
    assert main(["rank", str(path), str(data), "--rounds", "2"]) == 0
    assert f"2 of {n_rounds} rounds\n" in capsys.readouterr().err
    assert main(["rank", str(path), str(data), "--rounds", "999"]) == 2
    assert f"from 1 to {n_rounds}" in capsys.readouterr().err
    save(load(path), tmp_path / "model.dr")
    with pytest.raises(ValueError, match="no model of another library"):
        load(tmp_path / "model.dr", rounds=2)


def test_rounds_of_lightgbm(tmp_path):
    X, y, _ = rows(600)
    booster = of_lightgbm(X, y, 9)
    booster.save_model(tmp_path / "model.txt")
    scores = load(tmp_path / "model.txt", rounds=4).predict(X)
    np.testing.assert_array_equal(scores, booster.predict(X, num_iteration=4))


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_features_that_count_from_zero(library, tmp_path, capsys):
    """A model with a column 0 that the file does not have is refused, or ranks as its library does."""
    X, y, qid = rows(600)
    X = np.nan_to_num(X)
    with_0 = np.column_stack((np.zeros(600, np.float32), X))
    model, data, from_0 = (str(tmp_path / name) for name in ("model.json", "data.txt", "from_0.txt"))
    booster = (of_lightgbm if library == "lightgbm" else of_xgboost)(with_0, y)
    booster.save_model(model)
    expected = booster.predict(with_0 if library == "lightgbm" else xgboost.DMatrix(with_0))
    write_letor(QueryGroups(X, y, qid), data)
    lines = [
        f"{a} qid:{b} " + " ".join(f"{k}:{v!r}" for k, v in enumerate(x))
        for a, b, x in zip(y, qid, with_0.tolist(), strict=True)
    ]
    (tmp_path / "from_0.txt").write_text("\n".join(lines) + "\n")
    save(load(model), tmp_path / "model.dr")
    for name in (model, str(tmp_path / "model.dr")):
        assert main(["rank", name, data]) == 3
        assert "6 features, and the model has 7; " in (message := capsys.readouterr().err)
        assert "--first-feature 0" in message
        for file in (data, from_0):
            assert main(["rank", name, file, "--first-feature", "0"]) == 0
            np.testing.assert_allclose(
                np.array(capsys.readouterr().out.split(), float), expected, rtol=1e-5, atol=1e-5
            )
            groups = load_data(file, first_feature=0)
            np.testing.assert_allclose(load(name).predict(groups), expected, rtol=1e-5, atol=1e-5)
        assert main(["rank", name, data, "--first-feature", "1"]) == 0
        with pytest.raises(ValueError, match=r"6 features, .* expecting 7 .*first_feature=0"):
            load(name).predict(load_data(data))
    capsys.readouterr()
    assert main(["rank", model, from_0]) == 3
    assert "--first-feature 0" in capsys.readouterr().err
    np.testing.assert_array_equal(read_letor(from_0, first_feature=0).X, with_0)
    with pytest.raises(ValueError, match="first_feature must be one of 0, 1"):
        load_data(data, first_feature=2)


def with_categories(n_docs=2_000):
    """Rows whose features 4 and 5 are 40 and 5 categories; grades depend on sets of both."""
    X, _, qid = rows(n_docs)
    rng = np.random.default_rng(1)
    X[:, 4], X[:, 5] = rng.integers(0, 40, n_docs), rng.integers(0, 5, n_docs)
    gain = rng.normal(size=40)[X[:, 4].astype(int)] * rng.normal(size=5)[X[:, 5].astype(int)]
    X[rng.random(n_docs) < 0.05, 4] = np.nan
    return X, np.digitize(gain + np.nan_to_num(X[:, 0]), [0.0, 1.0]), qid


@pytest.mark.parametrize("parameters", [{}, {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}])
def test_sets_of_categories_score_as_lightgbm_does(parameters, tmp_path):
    X, y, qid = with_categories()
    booster = of_lightgbm(X, y, 15, categorical_feature=[4, 5], cat_smooth=1.0, **parameters)
    assert "cat_threshold=" in booster.model_to_string()
    booster.save_model(tmp_path / "model.txt")
    unseen = np.repeat(X[:1], 14, axis=0)
    unseen[:, 4] = [np.nan, -0.5, -1, -7.5, 0.9, 3.5, 39.99, 40, 63, 64, 65, 69, 1000, 1e9]
    every = np.concatenate((X, unseen, unseen[:, [0, 1, 2, 3, 5, 4]]))
    exact = (
        np.testing.assert_array_equal if not parameters
        else lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12)
    )  # fmt: skip
    ranker = load(tmp_path / "model.txt")
    for features in (every, every.astype(np.float64)):
        exact(ranker.predict(features), booster.predict(features))
    exact(load(tmp_path / "model.txt", rounds=4).predict(X), booster.predict(X, num_iteration=4))
    save(ranker, tmp_path / "model.dr")
    np.testing.assert_array_equal(load(tmp_path / "model.dr").predict(every), ranker.predict(every))
    gains = booster.feature_importance("gain")
    np.testing.assert_allclose(ranker.feature_importances_, gains / gains.sum(), rtol=1e-5)
    groups = QueryGroups(X, y, qid)
    np.testing.assert_array_equal(ranker.predict(groups), ranker.predict(X))


def test_sets_of_categories_are_not_exported(tmp_path, capsys):
    X, y, _ = with_categories(600)
    model = str(tmp_path / "model.txt")
    of_lightgbm(X, y, 5, categorical_feature=[4, 5], cat_smooth=1.0).save_model(model)
    assert main(["export", model, "--to", "lightgbm", "-o", "-"]) in (2, 3)
    assert "splits on sets of categories" in capsys.readouterr().err.splitlines()[-1]


def test_sets_of_categories_are_explained_as_by_lightgbm(tmp_path):
    X, y, _ = with_categories(600)
    booster = of_lightgbm(X, y, 5, categorical_feature=[4, 5], cat_smooth=1.0)
    booster.save_model(tmp_path / "model.txt")
    ranker = load(tmp_path / "model.txt")
    expected = booster.predict(X[:50], pred_contrib=True)[:, :-1]
    found = ranker.explain(X, rows=np.arange(50), against="training")
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert np.abs(found[:, 4]).max() > 0.1
    scorer = ranker.scorer_
    scores = lambda rows: scorer.scores(rows.astype(np.float32))  # noqa: E731 - as of the kernel
    for row, other in ((0, 1), (2, 3), (4, 5)):
        expected = contributions_naive(scores, X[row], X[other])
        np.testing.assert_allclose(ranker.explain(X, rows=row, against=other)[0], expected, atol=1e-9)


def test_sets_that_do_not_exist_are_refused(tmp_path):
    X, y, _ = with_categories(600)
    booster = of_lightgbm(X[:, 4:], y, 2, categorical_feature=[0, 1], cat_smooth=1.0, num_leaves=7)
    text = booster.model_to_string()
    edits = {
        "cat_boundaries=0": "cat_boundaries=1",
        r"cat_boundaries=0 \d": "cat_boundaries=0 9",
        r"num_cat=\d": "num_cat=0",
        "\nthreshold=0": "\nthreshold=9",
        r"cat_threshold=\d": "cat_threshold=-",
    }
    for pattern, replacement in edits.items():
        content, count = re.subn(pattern, replacement, text, count=1)
        assert count == 1
        assert "cut or edited" in refused(tmp_path / "model", content.encode()), pattern


def test_categories_of_pandas_are_their_codes(tmp_path):
    import pandas as pd

    X, y, _ = with_categories(600)
    frame = pd.DataFrame({"price": X[:, 0], "brand": pd.Categorical([f"b{v:.0f}" for v in X[:, 4]])})
    booster = of_lightgbm(frame, y, 4, cat_smooth=1.0)
    booster.save_model(tmp_path / "model.txt")
    with pytest.warns(UserWarning, match="categories of pandas: its features are their codes"):
        ranker = load(tmp_path / "model.txt")
    codes = np.column_stack((X[:, 0], frame["brand"].cat.codes)).astype(np.float32)
    codes = pd.DataFrame(codes, columns=["price", "brand"])
    np.testing.assert_array_equal(ranker.predict(codes), booster.predict(frame))


def test_names_of_features_come_along(tmp_path):
    import pandas as pd

    X, y, _ = rows(300)
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(6)])
    of_lightgbm(frame, y, 3).save_model(tmp_path / "a.txt")
    of_xgboost(frame, y, 3).save_model(tmp_path / "a.json")
    for name in ("a.txt", "a.json"):
        ranker = load(tmp_path / name)
        np.testing.assert_array_equal(ranker.predict(frame[frame.columns[::-1]]), ranker.predict(frame))
    of_lightgbm(X, y, 3).save_model(tmp_path / "a.txt")
    assert not hasattr(load(tmp_path / "a.txt"), "feature_names_in_")


def test_the_command_line_ranks_with_them(texts, tmp_path, capsys):
    X, y, qid = rows(300)
    groups = QueryGroups(np.nan_to_num(X), y, qid)
    write_letor(groups, tmp_path / "data.txt")
    for name, content in texts.items():
        path = tmp_path / f"model.{name}"
        path.write_bytes(content)
        assert main(["rank", str(path), str(tmp_path / "data.txt")]) == 0
        printed = np.array(capsys.readouterr().out.split(), float)
        np.testing.assert_allclose(printed, load(path).predict(groups), rtol=1e-6)
    capsys.readouterr()
    (tmp_path / "cut.json").write_bytes(texts["json"][:500])
    assert main(["rank", str(tmp_path / "cut.json"), str(tmp_path / "data.txt")]) == 3
    assert "cut.json: the model of XGBoost is cut or edited" in capsys.readouterr().err


def refused(path, content):
    path.write_bytes(content)
    with pytest.raises(ModelFormatError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message


def test_what_is_not_supported_is_refused_by_name(tmp_path):
    X, y, _ = rows(600)
    path, Z = tmp_path / "model", np.nan_to_num(X)
    refusals = {
        "linear functions in its leaves": of_lightgbm(Z, y, 2, linear_tree=True),
        "several classes": of_lightgbm(Z, y, 2, objective="multiclass", num_class=3),
    }
    for words, booster in refusals.items():
        message = refused(path, booster.model_to_string().encode())
        assert words in message
        assert "cut or edited" not in message
    Z[:, 5] = np.arange(600) % 8
    kinds = xgboost.DMatrix(
        Z, (Z[:, 5] % 3).astype(int), feature_types=["q"] * 5 + ["c"], enable_categorical=True
    )
    boosters = {
        "splits on categories": xgboost.train({"max_cat_to_onehot": 1}, kinds, 2),
        "booster 'gblinear'": of_xgboost(Z, y, 2, booster="gblinear"),
        "several values": of_xgboost(Z, y, 2, objective="multi:softprob", num_class=3),
    }  # fmt: skip
    for words, booster in boosters.items():
        message = refused(path, bytes(booster.save_raw("json")))
        assert words in message
        assert "cut or edited" not in message
    assert "save it as .json" in refused(path, bytes(booster.save_raw("ubj")))


def test_what_is_not_known_and_may_change_scores_is_refused_by_name(texts, tmp_path):
    def changed(name, old, new):
        content = texts[name].replace(old.encode(), new.encode(), 1)
        assert content != texts[name]
        return refused(tmp_path / "model", content)

    assert "'score_offset' in its header" in changed("txt", "label_index=0", "label_index=0\nscore_offset=7")
    # The sizes of trees stay as the header says.
    assert "'is_angular' in a tree" in changed("txt", "is_linear=0", "is_angular=")
    for place in ("learner", "gradient_booster", "model", "learner_model_param"):
        assert f"'scale' in {place}" in changed("json", f'"{place}":{{', f'"{place}":{{"scale":"2",')
    assert "'scale' in a tree" in changed("json", '"base_weights":', '"scale":[2],"base_weights":')
    assert "objective 'rank:new'" in changed("json", '"reg:squarederror"', '"rank:new"')
    assert "several values" in changed("json", '"base_score":"[', '"base_score":"[0,')


def test_a_text_that_is_cut_is_refused(texts, tmp_path):
    end = texts["txt"].index(b"end of trees")
    for place in range(20, end, 23):
        refused(tmp_path / "model.txt", texts["txt"][:place])
    for place in range(20, len(texts["json"]), 53):
        refused(tmp_path / "model.json", texts["json"][:place])


def test_edits_are_refused(texts, tmp_path):
    def edited(name, pattern, replacement):
        content, count = re.subn(pattern.encode(), replacement.encode(), texts[name], count=1)
        assert count == 1
        return refused(tmp_path / "model", content)

    assert "not where its header says" in edited("txt", "leaf_count=", "leaf_count=1")
    assert "not where its header says" in edited("txt", "tree_sizes=", "tree_sizes=1")
    assert "does not exist" in edited("txt", r"split_feature=\d", "split_feature=9")
    assert "does not exist" in edited("txt", r"left_child=[1-9]", "left_child=0")
    assert "decision_type" in edited("txt", r"decision_type=\d", "decision_type=3")
    assert "version" in edited("txt", "version=v4", "version=v9")
    assert "twice" in edited("txt", "num_class=1", "label_index=0")
    assert "not finite" in edited("txt", r"leaf_value=-?\d\.\d{3}", "leaf_value=1e999")
    assert "does not exist" in edited("json", r'"left_children":\[1', '"left_children":[0')
    assert "does not exist" in edited("json", r'"right_children":\[2', '"right_children":[99')
    assert "does not exist" in edited("json", r'"split_indices":\[\d', '"split_indices":[-3')
    assert "no numbers" in edited("json", r'"split_indices":\[\d', '"split_indices":["a"')
    assert "beyond float32" in edited("json", r'"split_conditions":\[[^,]*', '"split_conditions":[1E99')
    assert "as many trees" in edited("json", '"num_trees":"3"', '"num_trees":"4"')
    assert "base_score" in edited("json", r'"base_score":"\[[^"]*"', '"base_score":"[nan]"')


@pytest.mark.parametrize("name", ["txt", "json"])
def test_mutants_are_refused_or_score_finitely(name, texts, tmp_path):
    """A changed digit cannot be seen; whatever is read ends every path, and reads features that exist."""
    rng, X = random.Random(3), rows(60)[0]
    for _ in range(250):
        content = bytearray(texts[name])
        for _ in range(rng.randrange(1, 4)):
            content[rng.randrange(len(content))] = rng.choice(b'0123456789-,[]{}"= e.x\n')
        (tmp_path / "model").write_bytes(bytes(content))
        try:
            ranker = load(tmp_path / "model")
        except ModelFormatError:
            continue
        if ranker.n_features_in_ == X.shape[1]:
            assert np.isfinite(ranker.predict(X)).all()


def test_other_json_is_no_model(tmp_path):
    assert "XGBoost" in refused(tmp_path / "model", json.dumps({"a": 1}).encode())
