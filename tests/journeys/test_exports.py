"""What `export --to sql` writes, run by SQLite on the table as it is, beside rankers and libraries."""

import json
from pathlib import Path

import lightgbm
import numpy as np
import pytest
import xgboost

from journeys.shop import COLUMNS, NUMBERS, by_query, rows_of, scored_by_sqlite, turned

#: Splits on single categories, which engines have; other models weigh columns.
MODELS = {
    "trees": f"fit trees-lambdarank shop.csv {COLUMNS} --set categories=single",
    "logarithms": f"fit ranksvm shop.csv {COLUMNS}",
}
#: What the libraries call the columns of an array, and so the columns of a table that their files rank.
ARRAY = {"x.json": ("f0", "f1", "f2", "f3"), "l.txt": ("Column_0", "Column_1", "Column_2", "Column_3")}


def scores_of(directrank, model, data):
    directrank(f"rank {model} {data} -o scores.txt --format scores -q")
    return np.loadtxt("scores.txt")


@pytest.mark.parametrize("name", MODELS)
def test_sql_ranks_the_table_as_the_ranker_does(name, directrank):
    directrank(f"{MODELS[name]} -o {name}.dr -q")
    printed = directrank(f"export {name}.dr --to sql -o {name}.sql --check next.csv") + directrank.said
    assert "ranks as the ranker does" in printed
    rows = rows_of("next.csv")
    sql = Path(f"{name}.sql").read_text("utf-8")
    by_sqlite = scored_by_sqlite(sql, rows, ("brand", "department"), NUMBERS)
    assert turned(scores_of(directrank, f"{name}.dr", "next.csv"), by_sqlite, by_query(rows)) == 0


@pytest.fixture(scope="module")
def arrays(folder):
    """Write a table of numbers and models that other libraries trained on its array; return their scores."""
    rows = rows_of("shop.csv")
    lines = [",".join([row["search_id"], row["relevance"], *(row[name] for name in NUMBERS)]) for row in rows]
    for file, names in ARRAY.items():
        head = ",".join(["qid", "relevance", *names])
        Path(f"{file}.csv").write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    X = np.array([[float(row[name] or "nan") for name in NUMBERS] for row in rows])
    y = np.array([int(row["relevance"]) for row in rows])
    qid = np.unique([int(row["search_id"]) for row in rows], return_inverse=True)[1]
    data = xgboost.DMatrix(X, label=y, qid=qid)
    given = {"objective": "rank:ndcg", "max_depth": 4, "seed": 1, "nthread": 1}
    one = xgboost.train(given, data, 30)
    one.save_model("x.json")
    quiet = {"objective": "lambdarank", "verbose": -1, "num_threads": 1, "deterministic": True}
    other = lightgbm.train(quiet, lightgbm.Dataset(X, y, group=np.bincount(qid)), 30)
    other.save_model("l.txt")
    return {
        "x.json": one.predict(data, output_margin=True),
        "l.txt": np.asarray(other.predict(X)),
        "explained": np.asarray(other.predict(X, pred_contrib=True)),
    }


@pytest.mark.parametrize("file", ["x.json", "l.txt"])
def test_a_model_of_another_library_ranks_as_the_library_itself(file, arrays, directrank):
    np.testing.assert_allclose(scores_of(directrank, file, f"{file}.csv"), arrays[file], rtol=1e-5, atol=1e-5)
    directrank(f"export {file} --to sql -o other.sql --check {file}.csv")
    rows = rows_of(f"{file}.csv")
    found = scored_by_sqlite(Path("other.sql").read_text("utf-8"), rows, (), ARRAY[file])
    assert turned(arrays[file], found, by_query(rows, "qid")) == 0


def test_contributions_against_training_documents_are_those_of_lightgbm(arrays, directrank):
    query = rows_of("l.txt.csv")[0]["qid"]
    line = f"explain l.txt l.txt.csv --query {query} --docs 1 --training --json"
    found = {each["feature"]: each["adds"] for each in json.loads(directrank(line))["contributions"]}
    wanted = dict(zip(ARRAY["l.txt"], arrays["explained"][0], strict=False))
    assert found == pytest.approx({name: adds for name, adds in wanted.items() if adds}, abs=1e-5)
