"""What a model remembers of how its training table was read, on the command line and in Python."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

import directrank
from commands import run
from directrank import from_frame, load, load_data
from directrank.apps.cli import main
from directrank.data.reading_record import ReadingRecord

QUERIES, DOCS = 30, 8
WORDS = ("red shoes", "lamp")


@pytest.fixture(scope="module")
def shop():
    """A shop's log: 30 searches for two texts; an empty price means 0, which the order depends on."""
    rng = np.random.default_rng(0)
    n = QUERIES * DOCS
    search = np.repeat([f"s{number}" for number in range(QUERIES)], DOCS)
    price = rng.integers(-3, 7, n).astype(float)
    text = rng.normal(size=n)
    wish = price + 3 * text
    grade = (wish > 2).astype(int) + (wish > 4)
    return pd.DataFrame({
        "query": np.repeat([WORDS[number % 2] for number in range(QUERIES)], DOCS), "search_id": search,
        "sku": [f"p{number}" for number in range(n)], "relevance": grade,
        "price": np.where(price == 0, np.nan, price), "text": text,
    })  # fmt: skip


@pytest.fixture(scope="module")
def place(shop, tmp_path_factory):
    """The table, a model of it that reads 0 for an empty cell, and the record that is expected."""
    folder = tmp_path_factory.mktemp("shop")
    shop.to_csv(folder / "shop.csv", index=False)
    words = ["--docid", "sku", "--drop", "query", "--missing", "0"]
    command = ["fit", "regression", folder / "shop.csv", "--qid", "search_id", *words, "-o", folder / "m.dr"]
    assert main(list(map(str, command))) == 0
    return folder


RECORD = ReadingRecord(qid="search_id", label="relevance", docid="sku", drop=("query",), missing=0.0)


def filled(shop):
    return shop.assign(price=shop.price.fillna(0.0))


def expected_ranks(shop, scores):
    """The rank of each row in its search: 1 and how many of the search have a larger score."""
    frame = pd.DataFrame({"search": shop.search_id, "score": scores})
    return frame.groupby("search").score.rank(ascending=False, method="min").astype(int).tolist()


def scores_by_hand(ranker, shop):
    """The linear scores of the table with 0 in place of empty cells, up to a constant."""
    return filled(shop)[["price", "text"]].to_numpy() @ ranker.coef_


def ranks_in(path):
    with path.open(newline="") as file:
        return [int(row["rank"]) for row in csv.DictReader(file)]


class TestCommands:
    def test_rank_reads_the_table_as_in_training(self, place, shop, capsys):
        code, _, err = run(capsys, "rank", place / "m.dr", place / "shop.csv", "-o", place / "ranks.csv")
        assert code == 0
        assert f"{QUERIES * DOCS} documents of {QUERIES} queries" in err
        line = err.splitlines()[0]
        assert line.startswith(
            "qid: search_id, label: relevance, docid: sku, 2 features; as in training: qid, "
        )
        assert "missing values (0.0)" in line
        assert ranks_in(place / "ranks.csv") == expected_ranks(
            shop, scores_by_hand(load(place / "m.dr"), shop)
        )

    def test_options_override(self, place, capsys):
        code, _, err = run(
            capsys, "rank", place / "m.dr", place / "shop.csv", "--qid", "query", "--missing", "nan", "-o",
            place / "other.csv",
        )  # fmt: skip
        assert code == 0
        assert f"{QUERIES * DOCS} documents of 2 queries" in err
        assert "missing values" not in err
        by_search = ranks_in(place / "other.csv")
        assert max(by_search) > DOCS
        code, _, _ = run(
            capsys, "rank", place / "m.dr", place / "shop.csv", "--missing", "error", "-o", place / "o.csv"
        )
        assert code == 3

    def test_every_command_with_a_model(self, place, capsys):
        model, table = place / "m.dr", place / "shop.csv"
        code, out, err = run(capsys, "explain", model, table, "--query", "s1", "--json")
        assert code == 0, err
        assert json.loads(out)["query"] == "s1"
        for words in (
            ["importance", model, table], ["audit", model, table],
            ["export", model, "--to", "python", "-o", place / "m.py", "--check", table],
        ):  # fmt: skip
            code, out, err = run(capsys, *words)
            assert code == 0, err
            # The check of an export keeps gaps, which an engine meets: the file has to read them as 0.
            rule = "" if words[0] == "export" else ", missing values (0.0)"
            assert f"as in training: qid, label, docid{rule}" in err
        assert "checked" in out
        assert "0 inverted pairs" in out

    def test_a_store_hands_the_record_on(self, place, capsys):
        words = ["--qid", "search_id", "--docid", "sku", "--drop", "query", "--missing", "0"]
        code, _, err = run(capsys, "convert", place / "shop.csv", *words, "-o", place / "shop.store")
        assert code == 0, err
        assert directrank.open_store(place / "shop.store").reading == RECORD
        model = place / "of-store.dr"
        assert run(capsys, "fit", "regression", place / "shop.store", "-o", model)[0] == 0
        assert load(model).reading_ == RECORD

    @pytest.mark.filterwarnings("default:.*test queries have a text")
    def test_models_of_a_comparison_have_it(self, place, capsys):
        words = ["--qid", "search_id", "--docid", "sku", "--drop", "query", "--missing", "0", "--kfold", "3"]
        code, _, err = run(
            capsys, "compare", place / "shop.csv", "--methods", "regression", *words, "--keep-models",
            "--no-audit", "--out", place / "run",
        )  # fmt: skip
        assert code == 0, err
        assert "test queries have a text (column 'query')" in err
        models = sorted((place / "run" / "models").rglob("*.dr"))
        assert len(models) == 3
        assert {load(model).reading_ for model in models} == {RECORD}


class TestPython:
    def test_files_and_frames(self, place, shop):
        ranker = load(place / "m.dr")
        expected = scores_by_hand(ranker, shop)
        for given in (
            shop,
            load_data(place / "shop.csv", qid="search_id", drop=["query", "sku"]),
            load_data(place / "shop.csv", ranker=ranker),
            from_frame(shop, ranker=ranker),
        ):
            scores = ranker.predict(given)
            np.testing.assert_allclose(scores - scores[0], expected - expected[0], rtol=0, atol=1e-5)
        groups = load_data(place / "shop.csv", ranker=ranker)
        assert (groups.n_queries, groups.labelled, groups.feature_names) == (QUERIES, True, ("price", "text"))
        assert ranker.score(shop, shop.relevance) == pytest.approx(ranker.score(groups))
        told = load_data(place / "shop.csv", ranker=ranker, missing="nan")
        assert not np.allclose(ranker.predict(told), ranker.predict(groups))


class TestIds:
    """A column called like an id wins over one that may be the query; two are an error, as two labels are."""

    FRAME = pd.DataFrame({"query": ["a", "a", "a"], "x": [1.0, 2.0, 3.0], "label": [0, 1, 1]})

    @pytest.mark.parametrize(
        "name", ["qid", "query_id", "query-id", "search_id", "searchid", "srch_id", "topic_id"]
    )
    def test_ids_win_and_the_line_names_the_other(self, name, tmp_path, capsys):
        frame = self.FRAME.assign(**{name: [1, 1, 2]})
        assert from_frame(frame, features=["x"]).n_queries == 2
        frame.to_csv(tmp_path / "t.csv", index=False)
        code, _, err = run(
            capsys, "fit", "regression", tmp_path / "t.csv", "--features", "x", "-o", tmp_path / "m.dr"
        )
        assert (code, err.splitlines()[0].split(",")[0]) == (0, f"qid: {name} (not query)")
