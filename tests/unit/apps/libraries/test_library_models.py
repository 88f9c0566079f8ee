"""Models of LightGBM and XGBoost: their own scores, every direction of missing values, and refusals."""

import json
import re
import struct

import lightgbm
import numpy as np
import pandas
import pytest
import xgboost

from directrank import export, load, load_data, read_letor, save, write_letor
from directrank.apps.cli import main
from directrank.apps.libraries.models import ubjson as ubj
from directrank.data.groups import QueryGroups
from directrank.errors import DataError, ModelFormatError
from directrank.scorers.trees import at_most
from naive import contributions_naive

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


@pytest.mark.share(4)
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


@pytest.mark.share(4)
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


@pytest.mark.share(3)
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


# With --first-feature 1 the file leaves out column 0, which a model of XGBoost warns of.
@pytest.mark.filterwarnings("ignore:.*values that lines leave out:UserWarning")
@pytest.mark.filterwarnings("ignore:.*features count from 0:UserWarning")
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


def test_xgboosts_columns_that_are_called_as_lightgbm_calls_features_keep_their_names(tmp_path, capsys):
    """Of LightGBM Column_0 stands for a feature without a name; a model of XGBoost has these from a table."""
    X, y, qid = rows(300)
    frame = pandas.DataFrame(X, columns=[f"Column_{at}" for at in range(X.shape[1])])
    xgboost.XGBRanker(n_estimators=3).fit(frame, y, qid=qid).save_model(tmp_path / "m.json")
    frame.assign(qid=qid, label=y).to_csv(tmp_path / "d.csv", index=False)
    command = ["export", str(tmp_path / "m.json"), "--to", "sql", "-o", str(tmp_path / "m.sql")]
    assert main([*command, "--check", str(tmp_path / "d.csv")]) == 0
    assert "ranks as the ranker does" in capsys.readouterr().out
    assert '"f0"' not in (tmp_path / "m.sql").read_text()


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


def categories_of_pandas(n_docs=600):
    import pandas as pd

    X, y, _ = with_categories(n_docs)
    texts = np.array([f"b{v:.0f}" for v in X[:, 4]], object)
    texts[np.isnan(X[:, 4])] = None
    brand = pd.Categorical(texts, [f"b{v}" for v in range(40)])
    size = pd.Categorical(X[:, 5].astype(int) * 10)
    return pd.DataFrame({"price": X[:, 0], "brand": brand, "size": size}), y


def other_values(frame):
    """The same columns as text and numbers, in another order, with values that training has not seen."""
    other = frame.astype({"brand": object, "size": int})[["size", "price", "brand"]]
    other.loc[3, "brand"] = "new"
    return other


def test_categories_of_pandas_are_read_by_the_lists_of_lightgbm(tmp_path, capsys):
    """LightGBM takes values that are not in its lists, and missing ones, as missing."""
    frame, y = categories_of_pandas()
    booster = of_lightgbm(frame, y, 6, cat_smooth=1.0)
    booster.save_model(tmp_path / "model.txt")
    ranker = load(tmp_path / "model.txt")
    assert "num_cat=1" in booster.model_to_string()
    np.testing.assert_array_equal(ranker.predict(frame), booster.predict(frame))
    codes = np.column_stack([frame["price"], frame["brand"].cat.codes, frame["size"].cat.codes])
    with pytest.warns(UserWarning, match="valid feature names"):
        np.testing.assert_array_equal(ranker.predict(codes.astype(np.float32)), booster.predict(frame))
    unseen = frame.copy()
    unseen.loc[3, "brand"] = None
    expected = booster.predict(unseen)
    np.testing.assert_array_equal(ranker.predict(other_values(frame)), expected)
    save(ranker, tmp_path / "model.dr")
    np.testing.assert_array_equal(load(tmp_path / "model.dr").predict(other_values(frame)), expected)
    other_values(frame).to_csv(tmp_path / "table.csv", index=False)
    for model in ("model.txt", "model.dr"):
        capsys.readouterr()
        assert main(["rank", str(tmp_path / model), str(tmp_path / "table.csv")]) == 0
        printed = capsys.readouterr()
        np.testing.assert_allclose(np.array(printed.out.split(), float), expected, rtol=1e-6)
    assert "brand, size" in printed.err
    strange = frame.assign(brand=[f"c{at % 3}" for at in range(600)])
    with pytest.raises(DataError, match="column 'brand': none of its values, such as 'c0', is a category"):
        ranker.predict(strange)


@pytest.mark.parametrize("onehot", [1, 100])
def test_categories_of_xgboost_score_as_its_own(onehot, tmp_path):
    """Codes with missing values on both sides, unseen ones, negative ones and fractions."""
    X, y, _ = with_categories()
    kinds = {"feature_types": ["q"] * 4 + ["c"] * 2, "enable_categorical": True}
    parameters = {"max_cat_to_onehot": onehot, "max_depth": 5, "nthread": 1, "objective": "rank:pairwise"}
    data = xgboost.DMatrix(X, y, qid=np.arange(len(y)) // 20, **kinds)
    booster = xgboost.train(parameters, data, 12)
    booster.save_model(tmp_path / "model.json")
    trees = json.loads((tmp_path / "model.json").read_text())["learner"]["gradient_booster"]["model"]["trees"]
    on_sets = [
        d for tree in trees for d, k in zip(tree["default_left"], tree["split_type"], strict=True) if k
    ]
    assert set(on_sets) == {0, 1}
    unseen = np.repeat(X[:1], 9, axis=0)
    unseen[:, 4] = [np.nan, 0.9, 3.5, 39.99, 40, 63, 64, 1000, 16_000_000]
    every = np.concatenate((X, unseen, unseen[:, [0, 1, 2, 3, 5, 4]]))
    ranker = load(tmp_path / "model.json")
    expected = booster.predict(xgboost.DMatrix(every, **kinds), output_margin=True)
    np.testing.assert_allclose(ranker.predict(every), expected, rtol=1e-6, atol=1e-6)
    save(ranker, tmp_path / "model.dr")
    np.testing.assert_array_equal(load(tmp_path / "model.dr").predict(every), ranker.predict(every))
    assert main(["export", str(tmp_path / "model.json"), "--to", "sql", "-o", "-"]) == 2
    edits = {
        r'"categories_sizes":\[\d+': '"categories_sizes":[999',
        r'"categories":\[\d+': '"categories":[-1',
    }
    for pattern, replacement in edits.items():
        content, count = re.subn(pattern, replacement, (tmp_path / "model.json").read_text(), count=1)
        assert count == 1
        assert "set of categories that does not exist" in refused(tmp_path / "edited", content.encode())
    huge = re.sub(r'"categories":\[-1', '"categories":[16000000', content)
    assert "category 16000000" in refused(tmp_path / "edited", huge.encode())


def test_categories_of_pandas_are_read_by_the_lists_of_xgboost(tmp_path):
    frame, y = categories_of_pandas()
    data = xgboost.DMatrix(frame, y, enable_categorical=True)
    booster = xgboost.train({"max_depth": 4, "nthread": 1}, data, 8)
    expected = booster.predict(data)
    for name in ("model.json", "model.ubj"):
        booster.save_model(tmp_path / name)
        ranker = load(tmp_path / name)
        for each in (frame, frame.astype({"brand": object, "size": int})[["size", "brand", "price"]]):
            np.testing.assert_allclose(ranker.predict(each), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("objective", ["rank:ndcg", "reg:squarederror", "binary:logistic"])
def test_linear_models_of_xgboost_score_as_its_own(objective, tmp_path):
    X, y, qid = rows(600)
    data = xgboost.DMatrix(X, y > 0, qid=qid)
    booster = xgboost.train({"booster": "gblinear", "objective": objective, "nthread": 1}, data, 9)
    expected = booster.predict(data, output_margin=True)
    for name in ("model.json", "model.ubj"):
        booster.save_model(tmp_path / name)
        ranker = load(tmp_path / name)
        np.testing.assert_allclose(ranker.predict(X), expected, rtol=1e-5, atol=1e-5)
    save(ranker, tmp_path / "model.dr")
    np.testing.assert_array_equal(load(tmp_path / "model.dr").predict(X), ranker.predict(X))
    found = export(ranker, "python", check=QueryGroups(X, y, qid)).check
    assert found is not None
    assert found.inversions == 0
    with pytest.raises(ValueError, match="gblinear"):
        load(tmp_path / "model.json", rounds=3)
    text = (tmp_path / "model.json").read_text()
    assert "7" in refused(tmp_path / "edited", text.replace('"weights":[', '"weights":[1,').encode())


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
    boosters = {
        "several values": of_xgboost(Z, y, 2, objective="multi:softprob", num_class=3),
    }  # fmt: skip
    for words, booster in boosters.items():
        message = refused(path, bytes(booster.save_raw("json")))
        assert words in message
        assert "cut or edited" not in message
    assert "several values" in refused(path, bytes(booster.save_raw("ubj")))
    assert "save_model" in refused(path, b"binf" + bytes(100))
    for objective in ("binary:logistic", "rank:pairwise"):
        text = of_xgboost(Z, y > 0, 2, objective=objective).save_raw("json").decode()
        assert "booster 'gbnew'" in refused(path, text.replace('"name":"gbtree"', '"name":"gbnew"').encode())


@pytest.mark.filterwarnings("always:the model has no names of features")
@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_columns_for_models_without_names_are_read_by_name_or_by_place_and_it_is_said(
    library, tmp_path, capsys
):
    import pandas as pd

    X, y, _ = rows(300)
    path = tmp_path / ("model.txt" if library == "lightgbm" else "model.json")
    (of_lightgbm if library == "lightgbm" else of_xgboost)(X, y, 3).save_model(path)
    ranker, expected = load(path), load(path).predict(X)
    form = "Column_{}" if library == "lightgbm" else "f{}"
    frames = {
        "place": pd.DataFrame(X, columns=list("badcfe")),
        "name": pd.DataFrame(X, columns=[form.format(k) for k in range(6)]).iloc[:, ::-1].assign(extra=0.0),
    }
    for how, frame in frames.items():
        if how == "place":
            with pytest.warns(UserWarning, match=r"by their places, 'b' as (Column_0|f0), 'e' as"):
                np.testing.assert_array_equal(ranker.predict(frame), expected)
        else:
            np.testing.assert_array_equal(ranker.predict(frame), expected)
        frame.assign(qid=1).to_csv(tmp_path / "table.csv", index=False)
        capsys.readouterr()
        assert main(["rank", str(path), str(tmp_path / "table.csv")]) == 0
        printed = capsys.readouterr()
        np.testing.assert_allclose(np.array(printed.out.split(), float), expected, rtol=1e-6)
        assert ("by their places, 'b' as" in printed.err) == (how == "place")


def without_sizes(text, version):
    """Return a text as LightGBM 2 wrote it."""
    text = re.sub("tree_sizes=.*\n", "", text)
    return text.replace("version=v4\n", f"version={version}\n" if version else "")


@pytest.mark.parametrize("version", ["v2", ""])
def test_texts_of_lightgbm_2_score_as_lightgbm_reads_them(version, tmp_path):
    X, y, _ = rows(600)
    old = without_sizes(of_lightgbm(X, y, 6).model_to_string(), version)
    assert "tree_sizes" not in old
    (tmp_path / "model.txt").write_text(old)
    booster = lightgbm.Booster(model_str=old)
    np.testing.assert_array_equal(load(tmp_path / "model.txt").predict(X), booster.predict(X))
    with_importances = old.replace("end of trees\n", "").replace(
        "feature_importances:", "feature importances:"
    )
    (tmp_path / "model.txt").write_text(with_importances)
    np.testing.assert_array_equal(load(tmp_path / "model.txt").predict(X), booster.predict(X))
    end = old.index("end of trees")
    for place in range(30, end, 97):
        refused(tmp_path / "model.txt", old[:place].encode())
    assert "LightGBM 2.0 or older" in refused(tmp_path / "model", old.replace("num_cat=0\n", "").encode())


def ubjson(value) -> bytes:
    """Return a value as UBJSON, by https://ubjson.org: no optimised containers."""
    if isinstance(value, dict):
        return b"{" + b"".join(ubjson(k)[1:] + ubjson(v) for k, v in value.items()) + b"}"
    if isinstance(value, list):
        return b"[" + b"".join(map(ubjson, value)) + b"]"
    if isinstance(value, str):
        return b"SL" + struct.pack(">q", len(value.encode())) + value.encode()
    return b"D" + struct.pack(">d", value) if isinstance(value, float) else b"L" + struct.pack(">q", value)


def test_ubjson_is_read_as_json(texts, tmp_path):
    X, y, _ = rows(600)
    for parameters in (
        {},
        {"booster": "dart"},
        {"num_parallel_tree": 2},
        {"tree_method": "exact", "gamma": 2.0},
    ):
        booster = of_xgboost(X, y, 6, **parameters)
        for name in ("model.json", "model.ubj"):
            booster.save_model(tmp_path / name)
        expected = booster.predict(xgboost.DMatrix(X), output_margin=True)
        found = load(tmp_path / "model.ubj").predict(X)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(found, load(tmp_path / "model.json").predict(X), rtol=1e-6, atol=1e-6)
    assert ubj.parse(ubjson(json.loads(texts["json"]))) == json.loads(texts["json"])


@pytest.mark.filterwarnings("always")
def test_features_that_text_leaves_out_are_missing_to_xgboost_and_a_warning_says_so(tmp_path, capsys):
    X = np.array([[1.0, 0.0], [1.0, 5.0], [2.0, np.nan], [2.0, np.nan]] * 5)
    model = of_xgboost(X, np.nan_to_num(X[:, 1], nan=9.0), 3)
    model.save_model(tmp_path / "m.json")
    of_nan, of_0 = model.predict(xgboost.DMatrix([[1.0, np.nan], [1.0, 0.0]]))
    assert of_nan > of_0 + 1
    for line, score, warned in (
        ("0 qid:1 1:1", of_0, True),
        ("0 qid:1 1:1 # 2:7", of_0, True),
        ("0 qid:1 1:1 2:nan", of_nan, False),
        ("0 qid:1 1:1 2:0", of_0, False),
    ):
        file = tmp_path / "some.txt"
        file.write_text(f"{line}\n0 qid:1 1:1 2:0\n")
        assert main(["rank", str(tmp_path / "m.json"), str(file)]) == 0
        out, err = capsys.readouterr()
        assert float(out.split()[0]) == pytest.approx(score, abs=1e-5)
        assert (f"{file}: values that lines leave out (1) are read as 0" in err) == warned
    of_lightgbm(X, X[:, 0], 3).save_model(tmp_path / "m.txt")
    file.write_text("0 qid:1 2:1\n0 qid:1 1:1 2:0\n")
    assert main(["rank", str(tmp_path / "m.txt"), str(file)]) == 0
    assert "leave out" not in capsys.readouterr().err
