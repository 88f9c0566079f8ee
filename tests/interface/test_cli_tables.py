"""Tables on the command line: CSV, Parquet and Arrow beside LETOR text."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from directrank import load, load_letor, make_ranking
from directrank.apps.cli import main
from directrank.apps.cli.demos.shop import write_folds

LINE = "qid: query_id, label: grade, docid: item_id, 4 features (left out: title); set --qid"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The same three folds as LETOR text, as CSV and as Parquet."""
    folder = tmp_path_factory.mktemp("data")
    write_folds(make_ranking(36, 7, 4, random_state=3), folder / "letor")
    for fold in ("Fold1", "Fold2", "Fold3"):
        for kind in ("csv", "parquet"):
            (folder / kind / fold).mkdir(parents=True)
        for part, groups in zip(("train", "vali", "test"), load_letor(folder / "letor" / fold), strict=True):
            table = table_of(groups)
            csv.write_csv(table, folder / "csv" / fold / f"{part}.csv")
            parquet.write_table(table, folder / "parquet" / fold / f"{part}.parquet")
    return folder


def table_of(groups) -> pa.Table:
    names = ["bm25", "length", "visits", "age"]
    features = {name: pa.array(column) for name, column in zip(names, groups.X.T, strict=True)}
    rows = np.arange(groups.n_docs)
    return pa.table(
        {
            "query_id": groups.qid,
            "item_id": [f"i{row}" for row in rows],
            "title": [f"item, number {row}" for row in rows],
            "grade": groups.relevance.astype(int),
            **features,
        }
    )


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def command(*arguments) -> tuple[int, str, str]:
        code = main([str(each) for each in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


@pytest.fixture
def model(run, data):
    fold = data / "csv" / "Fold1"
    code, _, err = run(
        "fit", "regression", fold / "train.csv", "--valid", fold / "vali.csv", "-o", "m.dr", "--drop", "title"
    )
    assert code == 0
    assert LINE in err
    return "m.dr"


def test_rank_finds_columns_by_name(run, data, model, tmp_path):
    assert load(model).feature_names_in_.tolist() == ["bm25", "length", "visits", "age"]
    test = csv.read_csv(data / "csv" / "Fold1" / "test.csv")
    mixed = test.select(["age", "title", "visits", "query_id", "bm25", "length"])
    csv.write_csv(mixed.append_column("more", test["age"]), "mixed.csv")
    scores = [
        run("rank", model, source, "-q")[1]
        for source in (
            "mixed.csv",
            data / "parquet" / "Fold1" / "test.parquet",
            data / "letor" / "Fold1" / "test.txt",
        )
    ]
    assert len(scores[0].splitlines()) == len(test)
    assert scores[0] == scores[1] == scores[2]
    csv.write_csv(mixed.drop_columns(["length"]), "less.csv")
    code, out, err = run("rank", model, "less.csv")
    assert (code, out) == (3, "")
    assert "less.csv: no column 'length', which the model was trained with;" in err


def test_rank_writes_tables_that_carry_names(run, data, model, tmp_path):
    test = data / "csv" / "Fold1" / "test.csv"
    for name in ("s.csv", "s.parquet", "s.run", "s.txt"):
        assert run("rank", model, test, "-o", name)[0] == 0
    scores = [float(line) for line in (tmp_path / "s.txt").read_text().split()]
    for table in (csv.read_csv("s.csv"), parquet.read_table("s.parquet")):
        assert table.column_names == ["qid", "docid", "score", "rank"]
        assert table["score"].to_pylist() == scores
        assert table["docid"].to_pylist() == csv.read_csv(test)["item_id"].to_pylist()
    assert (tmp_path / "s.run").read_text().split()[1] == "Q0"
    assert run("rank", model, test, "--format", "csv")[1] == (tmp_path / "s.csv").read_text()
    for wrong in (("--format", "parquet"), ("--format", "xml")):
        code, out, err = run("rank", model, test, *wrong)
        assert (code, out, len(err.splitlines())) == (2, "", 1)


@pytest.mark.parametrize("kind", ["csv", "parquet", "letor"])
def test_fit_and_rank_read_standard_input(run, data, monkeypatch, kind):
    path = data / kind / "Fold1" / f"train.{'txt' if kind == 'letor' else kind}"
    columns = () if kind == "letor" else ("--drop", "title")
    assert run("fit", "regression", path, *columns, "-o", "file.dr")[0] == 0
    for command in (("fit", "regression", "-", *columns, "-o", "in.dr"), ("rank", "in.dr", "-")):
        with path.open() as file, monkeypatch.context() as patch:
            patch.setattr("sys.stdin", file)
            code, out, _ = run(*command)
        assert code == 0
    assert out == run("rank", "file.dr", path)[1]
