"""Categorical columns: equal to one-hot features by hand, in every reader, saved, learned in training."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from directrank import (
    AutoRanker,
    CoordinateAscent,
    ListNet,
    RankSVM,
    Regression,
    TreeRanker,
    compare,
    convert_data,
    evaluate,
    from_frame,
    load,
    load_data,
    save,
)
from directrank.apps.engines import export
from directrank.data.encoding import LEAST_QUERIES, encoded, encoding_of
from directrank.errors import DataError, ExportError
from directrank.scorers import Trees
from directrank.scorers.set_trees import SetTrees
from groups import first_group
from naive import contributions_naive


def catalogue(n_queries: int = 40, seed: int = 0, n_docs: int = 6) -> pd.DataFrame:
    """Return documents with a price, a brand and a language; some brands are rare, some values missing."""
    rng, n = np.random.default_rng(seed), n_queries * n_docs
    brands, shares = ["Acme", "Bolt, Ltd", "Özen", "other", "rare", None], [0.3, 0.3, 0.2, 0.1, 0.02, 0.08]
    frame = pd.DataFrame({
        "qid": np.repeat(np.arange(n_queries), n_docs),
        "price": rng.normal(size=n).astype(np.float32).round(3),
        "brand": rng.choice(np.array(brands, object), n, p=shares),
        "language": rng.choice(["de", "en"], n),
    })  # fmt: skip
    frame["label"] = ((frame.brand == "Acme") + (frame.language == "de") + (frame.price > 0)).astype(int)
    return frame


COLUMNS = ["price", "brand", "language"]
TRAIN, TEST = catalogue(), catalogue(30, seed=1)
TEST.loc[0, "brand"] = "never seen"


def fitted(ranker, frame: pd.DataFrame = TRAIN):
    return ranker.fit(frame[COLUMNS], frame.label, qid=frame.qid)


def by_hand(train: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Return columns of `pandas.get_dummies`: of values that 10 training queries have, and of all others."""
    columns = [frame[["price"]]]
    for name in ("brand", "language"):
        n_queries = train.groupby(name).qid.nunique()
        common = set(n_queries[n_queries >= 10].index) - {"other"}
        values = pd.Categorical(
            frame[name].where(frame[name].isin(common), "other"), [*sorted(common), "other"]
        )
        columns.append(pd.get_dummies(pd.Series(values, frame.index), prefix=name, prefix_sep="="))
    return pd.concat(columns, axis=1).astype(np.float32)


class TestTheorem:
    @pytest.mark.parametrize("ranker", [RankSVM(), ListNet(scaling="standard"), CoordinateAscent("AP")])
    def test_scores_are_those_of_features_made_by_hand(self, ranker):
        theirs = by_hand(TRAIN, TRAIN)
        expected = ranker.fit(theirs, TRAIN.label, qid=TRAIN.qid).predict(by_hand(TRAIN, TEST))
        ours = fitted(ranker)
        assert ours.encoding_.feature_names == tuple(theirs.columns)
        assert ours.feature_names_in_.tolist() == COLUMNS
        assert ours.n_features_in_ == 3
        assert (ours.predict(TEST[COLUMNS]) == expected).all()
        assert len(ours.coef_) == len(theirs.columns)

    def test_a_value_needs_queries_not_documents(self):
        frame = catalogue(LEAST_QUERIES)
        frame["brand"] = ["in all", *["in one"] * 5] * (LEAST_QUERIES - 1) + ["in one", *["often"] * 5]
        frame.loc[frame.qid != 1, "brand"] = frame.brand.where(frame.brand != "in one", "in all")
        frame.loc[frame.qid == LEAST_QUERIES - 1, "brand"] = ["in all", *["often"] * 5]
        assert fitted(Regression(), frame).encoding_.values["brand"] == ("in all",)

    def test_rows_in_another_order_give_the_same_model(self):
        ours, turned = fitted(RankSVM()), fitted(RankSVM(), TRAIN.sample(frac=1, random_state=3))
        assert ours.encoding_ == turned.encoding_
        assert np.allclose(ours.coef_, turned.coef_, atol=1e-9)

    def test_unseen_rare_and_missing_values_are_other(self):
        ranker = fitted(RankSVM())
        brands = ["never seen", "rare", None, "other", "", "Acme"]
        X = pd.DataFrame({"language": "de", "price": np.float32(0.5), "brand": brands})
        scores = ranker.predict(X)
        assert len(set(scores[:-1])) == 1 != len(set(scores))
        nothing = pd.DataFrame({"price": [0.5], "brand": pd.Series([None], dtype=object), "language": ["de"]})
        assert ranker.predict(nothing) == scores[0]


class TestReaders:
    def frames(self, frame: pd.DataFrame):
        """Return the same documents in several libraries and kinds of columns."""
        plain = frame.reset_index(drop=True)
        kinds = plain.astype({"brand": "category", "language": "category"})
        coded = pa.Table.from_pandas(kinds, preserve_index=False)
        strings = plain.astype({"language": "string"})
        return [frame, kinds, strings, pl.from_pandas(plain), pl.from_pandas(kinds), coded]

    def test_all_give_the_same_bits(self, tmp_path):
        ranker = fitted(RankSVM())
        scores = ranker.predict(TEST[COLUMNS])
        odd = TEST.set_index(np.zeros(len(TEST), int))
        for frame in self.frames(odd):
            rows = frame[COLUMNS] if not isinstance(frame, pa.Table) else frame.select(COLUMNS)
            assert (ranker.predict(rows) == scores).all()
            assert (ranker.predict(from_frame(frame)) == scores).all()
        TEST.to_csv(tmp_path / "t.csv", index=False)
        table = pa.Table.from_pandas(TEST.astype({"brand": "category", "language": "category"}))
        parquet.write_table(table, tmp_path / "t.parquet")
        feather.write_feather(table, tmp_path / "t.arrow", chunksize=7)
        parquet.write_table(pa.Table.from_pandas(TEST), tmp_path / "text.parquet")
        for name in ("t.csv", "t.parquet", "t.arrow", "text.parquet"):
            told = {} if name.startswith("t.") and name != "t.csv" else {"categorical": ["brand", "lang*"]}
            groups = load_data(tmp_path / name, **told)
            assert (ranker.predict(groups) == scores).all()
            assert (
                ranker.predict(convert_data(tmp_path / name, tmp_path / f"{name}.store", **told)) == scores
            ).all()

    def test_documents_by_name(self):
        ranker = fitted(RankSVM())
        some = TEST[COLUMNS].iloc[:6]
        best = np.argsort(-ranker.predict(some), kind="stable")
        assert (ranker.rank(some.to_dict("records")) == best).all()
        assert (ranker.rank(some.to_dict("list")) == best).all()
        with pytest.raises(DataError, match="'brand' is categorical in the model and numbers in the data"):
            ranker.rank(np.zeros((2, 3)))

    def test_whole_numbers_as_categories(self, tmp_path):
        frame = TRAIN.assign(brand=np.arange(len(TRAIN)) % 3 + 2**60)
        expected = ("1152921504606846976", "1152921504606846977", "1152921504606846978")
        frame.to_parquet(tmp_path / "t.parquet")
        frame.to_csv(tmp_path / "t.csv")
        for groups in (
            from_frame(frame, categorical=["brand", "language"]),
            from_frame(pl.from_pandas(frame), categorical=["brand", "language"]),
            load_data(tmp_path / "t.parquet", categorical=["brand", "language"]),
            load_data(tmp_path / "t.csv", categorical=["brand", "language"]),
        ):
            assert groups.categories["brand"] == expected

    def test_naming_one_column_leaves_others_that_are_categories_by_their_type(self, tmp_path):
        frame = TRAIN.assign(brand=np.arange(len(TRAIN)) % 3, language=TRAIN.language.astype("category"))
        frame.to_parquet(tmp_path / "t.parquet")
        for groups in (
            from_frame(frame, categorical=["brand"]),
            from_frame(frame.astype({"language": object}), categorical=["brand"]),
            from_frame(pl.from_pandas(frame), categorical=["brand"]),
            load_data(tmp_path / "t.parquet", categorical=["brand"]),
        ):
            assert groups.categories == {"brand": ("0", "1", "2"), "language": ("de", "en")}
        with pytest.raises(DataError, match="column 'language'"):
            load_data(tmp_path / "t.parquet", categorical=[])

    def test_a_model_says_which_columns_are_categories(self, tmp_path):
        numbers = TRAIN.assign(language=np.arange(len(TRAIN)) % 2)
        ranker = fitted(RankSVM(), numbers)
        frame = numbers.assign(language=numbers.language.astype(str).astype("category"))
        frame.to_parquet(tmp_path / "t.parquet")
        groups = load_data(tmp_path / "t.parquet", ranker=ranker)
        assert list(groups.categories) == ["brand"]
        np.testing.assert_array_equal(ranker.predict(groups), ranker.predict(numbers[COLUMNS]))


class TestRefusals:
    @pytest.mark.parametrize("day", ["%Y-%m-%d", "%d/%m/%Y", "%Y-%m-%d %H:%M"])
    def test_dates_are_no_categories_unless_told(self, day):
        days = pd.date_range("2026-01-01", periods=6).strftime(day).to_list()
        frame = TRAIN.assign(listed=[days[row % 6] for row in range(len(TRAIN))])
        with pytest.raises(DataError, match=r"column 'listed', row 0: found .*--drop listed"):
            from_frame(frame)
        assert "listed" in from_frame(frame, categorical=["brand", "language", "listed"]).categories
        assert "listed" in from_frame(frame.assign(listed=[*frame.listed[:-1], "unknown"])).categories


class TestModels:
    @pytest.mark.parametrize("target", ["xgboost", "python", "elasticsearch"])
    def test_trees_of_categories_are_exported(self, target):
        ranker = fitted(TreeRanker(rounds=5, leaf_share=0.01, categories="single"))
        made = export(ranker, target, check=from_frame(TEST))
        assert made.check.beyond_float32 == 0
        assert made.check.difference < 1e-6
        sets = fitted(TreeRanker(rounds=5, leaf_share=0.01, categories="sets"))
        assert isinstance(sets.scorer_, SetTrees)
        if target == "xgboost":
            message = r"^xgboost takes no splits on sets.*export to sql.*categories='single'.*members of auto"
            with pytest.raises(ExportError, match=message):
                export(sets, target)
        else:
            made = export(sets, target, check=from_frame(TEST))
            assert (made.check.inversions, made.check.difference < 1e-6) == (0, True)


class TestTrees:
    """Trees split sets of the values of a column."""

    def frames(self):
        """Return training and validation queries in which every third of thirty brands is good."""
        rng, parts = np.random.default_rng(5), []
        for _ in range(2):
            n = 60 * 12
            frame = pd.DataFrame({
                "qid": np.repeat(np.arange(60), 12), "price": rng.normal(size=n).astype(np.float32),
                "brand": rng.choice([f"b{k:02}" for k in range(30)], n),
                "language": rng.choice(["de", "en"], n),
            })  # fmt: skip
            good = frame.brand.str[1:].astype(int) % 3 == 0
            frame["label"] = (good & (frame.price > -0.5)) + (good & (frame.language == "de")).astype(int)
            parts.append(frame)
        parts[1].loc[::9, "brand"] = "never seen"
        parts[1].loc[1::9, "brand"] = None
        return parts

    def fitted(self, **parameters):
        train, vali = self.frames()
        ranker = TreeRanker(rounds=12, leaves=6, select_by="AP", n_jobs=1, **parameters)
        return ranker.fit(
            train[COLUMNS], train.label, qid=train.qid, eval_set=(vali[COLUMNS], vali.label, vali.qid)
        )

    def test_scores_are_those_in_training(self):
        """The monitor judges scores of bins, and the ranker those of features."""
        ranker, (_, vali) = self.fitted(), self.frames()
        found = evaluate(vali.label, ranker.predict(vali[COLUMNS]), vali.qid, measures="AP")["AP"]
        assert isinstance(ranker.scorer_, SetTrees)
        assert found == pytest.approx(max(row["monitor"] for row in ranker.history_), abs=1e-12)

    def test_one_split_divides_a_set(self):
        ranker, (train, _) = self.fitted(), self.frames()
        first, (start, end) = ranker.scorer_, ranker.scorer_.start[:2]
        inside = np.unpackbits(first.words[start:end].view(np.uint8), bitorder="little")
        good = [int(brand[1:]) % 3 == 0 for brand in ranker.encoding_.values["brand"]]
        assert first.source[0] == 1
        assert len(good) == train.brand.nunique() == first.width[0] - 1
        assert inside[: len(good)].astype(bool).tolist() in (good, [not each for each in good])

    def test_unseen_and_missing_values_are_other_and_models_are_read_again(self, tmp_path):
        ranker = self.fitted()
        X = pd.DataFrame({"price": 0.5, "brand": ["never seen", None, "other", "b00"], "language": "de"})
        scores = ranker.predict(X)
        assert len(set(scores[:3])) == 1 != len(set(scores))
        save(ranker, tmp_path / "model.dr")
        assert (load(tmp_path / "model.dr").predict(X) == scores).all()
        assert ranker.feature_importances_.sum() == pytest.approx(1.0)
        assert ranker.feature_importances_[1:32].sum() > 0.5

    def test_what_a_column_adds_is_said_of_its_value(self):
        """As of trees of the codes, in which a column is one feature."""
        ranker, (_, vali) = self.fitted(), self.frames()
        X = vali[COLUMNS][:12]
        groups, scorer = from_frame(vali[:12].assign(qid=0)), ranker.scorer_
        features = groups.to_caller(encoded(groups, ranker.encoding_).features)
        found = ranker.explain(X, against=[3, 4])
        first, size = ranker.encoding_.places
        columns = SetTrees(source=first, width=size)
        codes, places = columns.coded(features)
        assert places.tolist() == [0, 1, 32]
        of_code = replace(scorer, source=np.searchsorted(places, scorer.source), width=0 * scorer.width)
        of_code.feature = np.searchsorted(places, scorer.feature).astype(np.int32)
        sets = scorer.feature >= features.shape[1]
        of_code.feature[sets] = len(places) + scorer.feature[sets] - features.shape[1]
        assert (of_code.scores(codes) == ranker.predict(X)).all()
        for row in range(12):
            each = [contributions_naive(of_code.scores, codes[row], codes[b]) for b in (3, 4)]
            np.testing.assert_allclose(np.add.reduceat(found[row], places), np.mean(each, axis=0), atol=1e-12)
            assert (np.flatnonzero(found[row, 1:]) + 1).tolist() == [
                k for k in np.flatnonzero(found[row]) if k and features[row, k] == 1
            ]
        rest = ranker.predict(X) - ranker.explain(X, against="training").sum(axis=1)
        assert np.ptp(rest) < 1e-9

    def test_an_ensemble_and_its_held_out_queries_split_sets(self, tmp_path):
        train, _ = self.frames()
        ranker = AutoRanker("AP", members="ranksvm,trees-xendcg(rounds=5),trees-consistent-ndcg(rounds=5)")
        ranker.fit(train[COLUMNS], train.label, qid=train.qid)
        kinds = [type(term) for term in getattr(ranker.scorer_, "terms", [ranker.scorer_])]
        assert SetTrees in kinds
        assert Trees not in kinds
        save(ranker, tmp_path / "model.dr")
        X = train[COLUMNS][:24]
        assert (load(tmp_path / "model.dr").predict(X) == ranker.predict(X)).all()

    def test_parts_of_encoded_queries_keep_the_encoding(self):
        groups = from_frame(TRAIN)
        whole = encoded(groups, encoding_of(groups))
        assert whole.select([0, 2]).encoding is whole.encoding


class TestComparison:
    @pytest.mark.parametrize("kfold", first_group([None, 3], lambda kfold: kfold is None))
    def test_the_encoding_is_learned_in_the_training_fold(self, tmp_path, kfold):
        parts = [catalogue(40, seed=seed) for seed in range(3)]
        for number, part in enumerate(parts):
            part["qid"] += 1000 * number
        # A value of the validation and the test set alone has no feature.
        parts[1].loc[::2, "brand"] = parts[2].loc[::2, "brand"] = "new"
        groups = [from_frame(part) for part in parts]
        if kfold:
            with pytest.raises(DataError, match="the sets have different values in categorical columns"):
                compare(groups, methods=["ranksvm"], kfold=kfold)
        result = compare(
            from_frame(pd.concat(parts)) if kfold else groups,
            methods=["ranksvm", "regression"],
            kfold=kfold,
            audit=False,
            out=tmp_path / "out",
            keep_models=True,
        )
        assert not result.failures
        for path in (tmp_path / "out" / "models").glob("*/*.dr"):
            model = load(path)
            assert model.encoding_.columns == ("price", "brand", "language")
            assert kfold or "new" not in model.encoding_.values["brand"]
            assert np.isfinite(model.predict(groups[2])).all()
        if kfold is None:
            expected = encoding_of(groups[0])
            assert encoding_of(encoded(groups[0], expected)) is None
            assert model.encoding_ == expected
