"""A model in use: ranked, explained, exported and continued, beside XGBoost and what the shop was made of."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import xgboost

from journeys.shop import COLUMNS, NUMBERS, rows_of

#: Splits on single categories, which engines have; other models weigh columns.
MODELS = {
    "trees": f"fit trees-lambdarank shop.csv {COLUMNS} --set categories=single",
    "logarithms": f"fit ranksvm shop.csv {COLUMNS}",
}


@pytest.fixture(scope="module")
def trained(directrank):
    for name, line in MODELS.items():
        directrank(f"{line} -o {name}.dr -q")


def scores_of(directrank, model, data="next.csv"):
    directrank(f"rank {model} {data} -o scores.txt --format scores -q")
    return np.loadtxt("scores.txt")


@pytest.mark.parametrize("name", MODELS)
def test_contributions_add_up_to_the_difference_of_the_scores(name, trained, directrank):
    rows, scores = rows_of("next.csv"), scores_of(directrank, f"{name}.dr")
    query = rows[20]["search_id"]
    inside = [i for i, row in enumerate(rows) if row["search_id"] == query][:2]
    documents = ",".join(rows[i]["product_id"] for i in inside)
    found = json.loads(directrank(f"explain {name}.dr next.csv --query {query} --docs {documents} --json"))
    adds = [each["adds"] for each in found["contributions"]]
    assert sum(adds) == pytest.approx(scores[inside[0]] - scores[inside[1]], abs=1e-6)


def test_a_shuffled_feature_costs_what_the_table_says(trained, directrank):
    found = json.loads(directrank("importance trees.dr next.csv --measure nDCG@10 --json"))
    losses = {each["feature"]: each["loss"] for each in found["features"]}
    assert set(losses) == {*NUMBERS, "brand", "department"}
    # The grades are made of these two most of all.
    assert {*sorted(losses, key=losses.get)[-2:]} <= {"text_match", "brand", "price"}


def test_a_column_of_noise_is_dropped_and_one_that_decides_is_kept(directrank):
    rng, lines = np.random.default_rng(0), Path("shop.csv").read_text("utf-8").splitlines()
    noisy = [lines[0] + ",noise", *(f"{line},{rng.normal():.4f}" for line in lines[1:])]
    for name, part in (("train", noisy[:1121]), ("valid", [noisy[0], *noisy[1121:]])):
        Path(f"{name}.csv").write_text("\n".join(part) + "\n", encoding="utf-8")
    printed = directrank("select ranksvm train.csv --valid valid.csv --drop day,brand,department -q")
    (kept,) = re.findall(r"features kept: (\S+)", printed)
    assert "text_match" in kept.split(",")
    assert "noise" not in kept.split(",")


def test_python_source_and_the_file_for_xgboost_score_as_the_ranker(trained, directrank):
    directrank("export trees.dr --to python -o trees.py --check next.csv")
    assert "import directrank" not in Path("trees.py").read_text("utf-8")
    directrank("export trees.dr --to xgboost -o trees.json --check next.csv")
    booster = xgboost.Booster(model_file="trees.json")
    rows, names = rows_of("next.csv"), booster.feature_names
    of = {name: np.array([float(row[name] or "nan") for row in rows]) for name in NUMBERS}
    for column in ("brand", "department"):
        for name in names:
            if name.startswith(f"{column}="):
                of[name] = np.array([float(f"{column}={row[column]}" == name) for row in rows])
    X = np.column_stack([of[name] for name in names]).astype(np.float32)
    predicted = booster.predict(xgboost.DMatrix(X, feature_names=names), output_margin=True)
    np.testing.assert_allclose(predicted, scores_of(directrank, "trees.dr"), atol=1e-4)


def test_a_store_trains_the_model_of_its_table(directrank):
    drop = "--drop day,brand,department"
    directrank(f"convert shop.csv {drop} -o shop.store -q")
    directrank("fit listnet shop.store -o stored.dr -q")
    directrank(f"fit listnet shop.csv {drop} -o direct.dr -q")
    found = (scores_of(directrank, name) for name in ("stored.dr", "direct.dr"))
    np.testing.assert_array_equal(*found)
