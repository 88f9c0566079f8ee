"""The guide Recommenders: its data, a comparison by time, the whole catalogue, a sample and cold items."""

import json
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from directrank import leave_last_out, load, load_data

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "movies.py"
MEASURES = "--measures Success@10,AP@12,RR"
MODEL = "films/models/last-1/ranksvm.dr"


@pytest.fixture(scope="module")
def compared(directrank):
    runpy.run_path(str(EXAMPLE))
    directrank(
        "compare movies.csv --split-by timestamp --split-last 1 --categorical genre --methods ranksvm "
        f"--set penalty=1 {MEASURES} --keep-models --out films --json"
    )
    return json.loads(Path("films/results.json").read_text())["cells"][0]


def last_films() -> pd.DataFrame:
    """Return the rows that test, by pandas alone: the last film of each user, and those without a rating."""
    table = pd.read_csv("movies.csv")
    rated = table[table.rating > 0].sort_values("timestamp").groupby("user_id")
    return pd.concat([rated.tail(1), table[table.rating == 0]]).sort_index()


def by_hand(table: pd.DataFrame, scores) -> dict[str, np.ndarray]:
    """Return hit rate, average precision and reciprocal rank of each user's one film, ties in expectation."""
    values = {"Success@10": [], "AP@12": [], "RR": []}
    for _, rows in table.assign(score=scores).groupby("user_id"):
        (film,) = rows.score[rows.rating > 0]
        first = 1 + int((rows.score > film).sum())
        ranks = np.arange(first, first + int((rows.score == film).sum()))
        values["Success@10"].append(np.mean(ranks <= 10))
        values["AP@12"].append(np.mean(np.where(ranks <= 12, 1 / ranks, 0)))
        values["RR"].append(np.mean(1 / ranks))
    return {name: np.array(each) for name, each in values.items()}


def test_the_last_film_of_each_user_is_ranked_among_all_that_the_user_has_not_rated(compared):
    table = last_films()
    assert compared["parts"]["test"]["documents"] == len(table) == len(pd.read_csv("test.csv"))
    model = load(MODEL)
    expected = by_hand(table, model.predict(table[list(model.feature_names_in_)]))
    for name, values in compared["values"]["standard"]["test"].items():
        assert values == pytest.approx(expected[name].mean(), abs=1e-12)
    # Features know nothing of what validates and tests: others who had rated the film before their last two.
    whole = pd.read_csv("movies.csv")
    rated = whole[whole.rating > 0].sort_values("timestamp")
    known = rated.drop(rated.groupby("user_id").tail(2).index)
    others = whole.item_id.map(known.item_id.value_counts()).fillna(0) - whole.index.isin(known.index)
    assert whole.raters.tolist() == others.tolist()


def test_python_has_the_same_sets(compared):
    whole, frame = (
        load_data("movies.csv", drop=["timestamp"], categorical=["genre"]),
        pd.read_csv("movies.csv"),
    )
    train, vali, test = leave_last_out(whole, frame.timestamp)
    for part, name in ((train, "train"), (vali, "vali"), (test, "test")):
        assert part.n_docs == compared["parts"][name]["documents"]
    expected = last_films()
    assert test.qid.tolist() == expected.user_id.tolist()
    assert test.docid.tolist() == expected.item_id.astype(str).tolist()


def test_a_sample_of_the_catalogue_has_higher_figures_and_a_note(compared, directrank):
    of_all = json.loads(directrank(f"evaluate test.csv --model {MODEL} {MEASURES} --json"))
    assert of_all["measures"] == pytest.approx(compared["values"]["standard"]["test"], abs=1e-12)
    assert of_all["notes"] == []
    sampled = json.loads(directrank(f"evaluate sampled.csv --model {MODEL} {MEASURES} --json"))
    assert "Each of 100 queries has one relevant document among 100." in sampled["notes"][0]
    for name, value in sampled["measures"].items():
        assert value > 1.2 * of_all["measures"][name]


def test_cold_films_are_those_that_fewer_than_ten_had_rated(compared, directrank):
    line = f"evaluate test.csv --model {MODEL} {MEASURES} --by last_film --queries users.csv --json"
    rows = json.loads(directrank(line))["categories"]
    model, table = load(MODEL), last_films()
    expected = by_hand(table, model.predict(table[list(model.feature_names_in_)]))
    cold = (table[table.rating > 0].raters < 10).to_numpy()
    for row in rows:
        which = cold if row["category"] == "cold" else ~cold
        assert row["queries"] == which.sum()
        assert row["mean"] == pytest.approx(expected[row["measure"]][which].mean(), abs=1e-12)


def test_a_run_of_another_recommender_needs_no_names_of_columns(compared, directrank):
    table = last_films()
    table.assign(score=table.raters)[["user_id", "item_id", "score"]].to_csv("popular.csv", index=False)
    printed = json.loads(directrank(f"evaluate test.csv popular.csv {MEASURES} --json"))
    for name, values in by_hand(table, table.raters).items():
        assert printed["measures"][name] == pytest.approx(values.mean(), abs=1e-12)
