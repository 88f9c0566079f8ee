"""Tables as data: formats, the roles of columns, and what is refused."""

import bz2
import contextlib
import gzip
from dataclasses import fields
from inspect import signature

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

from directrank import make_ranking
from directrank.errors import DataError
from directrank.files import ReadOptions, columns_line, find_folds, load_data, tables, write_letor
from directrank.files.scores import FORMATS, format_of_scores

HEAD = "qid,relevance,doc,f1,f2\n"
ROWS = "7,0,a,1,2\n9,1,b,3,4\n7,2,c,5,6\n"


@pytest.fixture
def written(tmp_path):
    def write(text, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def as_table(groups) -> pa.Table:
    columns = {f"f{i}": pa.array(column.astype(float)) for i, column in enumerate(groups.X.T, 1)}
    return pa.table({"query_id": groups.qid, "label": groups.relevance, "docno": groups.docid} | columns)


def write_csv(table, path, separator=","):
    lines = [table.column_names, *zip(*(column.to_pylist() for column in table.columns), strict=True)]
    path.write_text("".join(separator.join(map(str, line)) + "\n" for line in lines))


def write_arrow(table, path):
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table, 7)


WRITERS = {
    ".csv": write_csv,
    ".tsv": lambda table, path: write_csv(table, path, "\t"),
    ".parquet": lambda table, path: parquet.write_table(table, path, row_group_size=11),
    ".arrow": write_arrow,
    ".feather": lambda table, path: feather.write_feather(table, str(path), compression="zstd"),
}


class TestFormats:
    @pytest.mark.parametrize("ending", WRITERS)
    def test_a_table_holds_what_the_text_holds(self, tmp_path, monkeypatch, ending):
        monkeypatch.setattr(tables, "BLOCK_ROWS", 5)
        groups = make_ranking(6, 7, 4, random_state=0)
        names = np.array([f"D{row}" for row in range(groups.n_docs)])
        groups = type(groups)(groups.X, groups.relevance, groups.qid, docid=names)
        shuffled = np.random.default_rng(0).permutation(groups.n_docs)  # rows of queries come apart
        groups = type(groups)(
            groups.X[shuffled], groups.relevance[shuffled], groups.qid[shuffled], docid=names[shuffled]
        )
        write_letor(groups, tmp_path / "data.txt")
        WRITERS[ending](as_table(groups), tmp_path / f"data{ending}")
        text, table = load_data(tmp_path / "data.txt"), load_data(tmp_path / f"data{ending}")
        for name in ("features", "X", "qid", "docid", "relevance"):
            np.testing.assert_array_equal(getattr(table, name), getattr(text, name))
        np.testing.assert_array_equal(table.queries.row, text.queries.row)
        assert table.qid.dtype == text.qid.dtype
        assert table.feature_names == ("f1", "f2", "f3", "f4")

    def test_csv_in_many_blocks_compressed_or_not(self, written, monkeypatch):
        monkeypatch.setattr(tables, "BLOCK_BYTES", 64)
        monkeypatch.setattr(tables, "ROW_PER_HEADER", 1)
        text = HEAD + "".join(f"{row // 9},{row % 3},d{row},{row}.5,{-row}\n" for row in range(100))
        for name, content in (
            ("data.csv", text.encode()),
            ("data.csv.gz", gzip.compress(text.encode())),
            ("zipped.csv", gzip.compress(text.encode())),
            ("data.csv.bz2", bz2.compress(text.encode())),
            ("bom.csv", b"\xef\xbb\xbf" + text.encode()),
            ("crlf.csv", text.replace("\n", "\r\n").encode()),
            ("semicolons.csv", text.replace(",", ";").encode()),
        ):
            groups = load_data(written(content, name))
            assert groups.X.tolist() == [[row + 0.5, -row] for row in range(100)]
            assert groups.qid.tolist() == [row // 9 for row in range(100)]
            assert groups.docid.tolist() == [f"d{row}" for row in range(100)]

    def test_a_csv_cell_is_the_nearest_float32(self, written):
        decimals = ["0.1", "16777217.0000001", "1.00000005960464478", "1e-40", "-3.4e38"]
        text = HEAD + "".join(f"1,0,a,{decimal},0\n" for decimal in decimals)
        expected = load_data(written("".join(f"0 qid:1 1:{each}\n" for each in decimals), "data.txt"))
        np.testing.assert_array_equal(load_data(written(text)).X[:, 0], expected.X[:, 0])

    def test_parquet_keeps_its_types(self, tmp_path):
        path = tmp_path / "data.parquet"
        table = {
            "qid": pa.array(["a", "b", "a"]).dictionary_encode(),
            "label": pa.array([True, False, True]),
            "small": pa.array([1, 2, 3], pa.int8()),
            "yes": pa.array([True, False, True]),
            "a.b": pa.array([2**24, 2**40, -1], pa.int64()),
            "price": pa.array([1, 2, 3], pa.int64()).cast(pa.decimal128(30, 2)),
            "word": pa.array(["x", "y", "z"]),
        }
        parquet.write_table(pa.table(table), path)
        groups = load_data(path, drop=["word"])
        assert groups.feature_names == ("small", "yes", "a.b", "price")
        assert groups.X.tolist() == [[1, 1, 2**24, 1], [2, 0, 2**40, 2], [3, 1, -1, 3]]
        assert (groups.qid.tolist(), groups.relevance.tolist()) == (["a", "b", "a"], [1, 0, 1])


class TestColumns:
    def test_the_line_names_every_role(self, written):
        path = written("Query_ID,Relevance,DOC NO,title,bm25\n1,0,a,The,2\n")
        line = columns_line(path, ReadOptions(drop=("ti*",)))
        assert line.startswith(
            "qid: Query_ID, label: Relevance, docid: DOC NO, 1 feature (left out: title); set --qid"
        )
        assert columns_line(written("0 qid:1 1:2\n", "data.txt"), ReadOptions()) == ""
        numbered = columns_line(written(",qid,label,x\n0,1,1,0\n1,1,0,1\n"), ReadOptions())
        assert "(left out: a column without a name)" in numbered

    def test_columns_as_told(self, written):
        path = written("a,b,c,d,e\n1,0,2,3,4\n2,1,5,6,7\n")
        groups = load_data(path, qid="a", label="b", docid="e", features=["d", "c"])
        assert groups.X.tolist() == [[3, 2], [6, 5]]
        assert groups.docid.tolist() == ["4", "7"]
        assert load_data(path, qid="a", label="b", features=["[cd]", "c"]).feature_names == ("c", "d")

    def test_row_numbers_that_other_tools_write_are_no_features(self, written, tmp_path):
        assert load_data(written(",qid,label,x\n0,1,1,5\n1,1,0,6\n")).feature_names == ("x",)
        table = pa.table({"qid": [1], "label": [1], "x": [2], "__index_level_0__": [0]})
        parquet.write_table(table, tmp_path / "a.parquet")
        assert load_data(tmp_path / "a.parquet").feature_names == ("x",)


class TestFaults:
    @pytest.mark.parametrize(
        ("rows", "problem"),
        [
            ("1,0,a,1,2\n1,good,b,1,3\n", r"column 'relevance', row 2: found 'good', expected a grade"),
            ("1,0,a,1,2\n,1,b,1,3\n", r"column 'qid', row 2: has no value"),
            ("1,0,a,1,2\n1,1,b,inf,3\n", r"column 'f1', row 2: found inf, expected a finite number"),
            ("1,0,a,1,2\n1,1,b,1e300,3\n", r"column 'f1', row 2: found inf, expected .* float32"),
            ("1,0,a,1,2\n1,1,b,1\n", r"row 2 holds 4 values, expected 5 as in the header: '1,1,b,1'"),
            ("", r"holds no document"),
        ],
    )
    def test_the_cell_is_named(self, written, rows, problem):
        with pytest.raises(DataError, match=rf"data\.csv: {problem}"):
            load_data(written(HEAD + rows))

    @pytest.mark.parametrize("rows", ["1,0,a,1,2\n", "1,0,a,1\n", "1,0,a,x,2\n"])
    def test_no_thread_of_pyarrow_has_an_object_of_python(self, written, rows, monkeypatch):
        # Where it releases one as the interpreter ends, the process aborts (tests/heavy/test_exits.py).
        handlers, open_csv = [], csv.open_csv

        def spied(file, read, parse, convert):
            handlers.append(parse.invalid_row_handler)
            return open_csv(file, read, parse, convert)

        monkeypatch.setattr(csv, "open_csv", spied)
        with contextlib.suppress(DataError):
            load_data(written(HEAD + rows))
        assert handlers
        assert not any(handlers)


class TestFolders:
    def parts(self, folder, ending=".csv", names=("train", "vali", "test")):
        folder.mkdir(parents=True, exist_ok=True)
        for number, name in enumerate(names):
            (folder / f"{name}{ending}").write_text(HEAD + f"{number},1,a,{number},2\n")

    def test_folds_of_tables(self, tmp_path):
        for k in (1, 2):
            self.parts(tmp_path / f"Fold{k}", names=("train", "valid", "test"))
        assert [fold.vali[0].name for fold in find_folds(tmp_path)] == ["valid.csv"] * 2
        train, vali, test = load_data(tmp_path / "Fold2")
        assert [part.X.tolist() for part in (train, vali, test)] == [[[0, 2]], [[1, 2]], [[2, 2]]]

    def test_features_are_matched_by_name(self, tmp_path):
        self.parts(tmp_path)
        (tmp_path / "test.csv").write_text("f2,more,f1,qid,relevance\n1,2,3,9,0\n")
        assert load_data(tmp_path)[2].X.tolist() == [[3, 1]]
        (tmp_path / "test.csv").write_text("f2,f3,qid,relevance\n1,2,9,0\n")
        with pytest.raises(DataError, match=r"test\.csv: no column 'f1', which the first file has"):
            load_data(tmp_path)


class TestScores:
    @pytest.mark.parametrize("name", ["csv", "tsv", "parquet", "arrow"])
    def test_tables_read_back(self, written, tmp_path, name):
        groups = load_data(written(HEAD + ROWS.replace(",a,", ',"a, b",')))
        scores = np.array([0.1 + 0.2, -1e-300, 5])
        content = format_of_scores(name, None).content(groups, scores, "tag")
        path = written(content, f"scores.{name}")
        back = {
            "csv": lambda: pa.csv.read_csv(path),
            "tsv": lambda: pa.csv.read_csv(path, parse_options=pa.csv.ParseOptions(delimiter="\t")),
            "parquet": lambda: parquet.read_table(path),
            "arrow": lambda: feather.read_table(path),
        }[name]()
        assert back.to_pydict() == {
            "qid": [7, 9, 7],
            "docid": ["a, b", "b", "c"],
            "score": scores.tolist(),
            "rank": [2, 1, 1],
        }

    def test_the_format_goes_by_name_then_by_ending(self, tmp_path):
        assert format_of_scores(None, None).name == "scores"
        assert format_of_scores(None, tmp_path / "a.CSV").name == "csv"
        assert format_of_scores(None, tmp_path / "a.run").name == "trec"
        assert format_of_scores("trec", tmp_path / "a.csv").name == "trec"
        with pytest.raises(ValueError, match=r"expected scores, trec, csv"):
            format_of_scores("xml", None)
        assert len({ending for each in FORMATS for ending in each.endings}) == sum(
            len(each.endings) for each in FORMATS
        )


COMMENTS = '# exported 2026-09-01\n\n# a "quote, and commas,\n'


@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz", "data.tsv"])
def test_comments_above_the_names_of_columns_are_left_out(written, name):
    text = COMMENTS + HEAD + ROWS
    text = text.replace(",", "\t") if name.endswith("tsv") else text
    groups = load_data(written(gzip.compress(text.encode()) if name.endswith("gz") else text, name))
    assert groups.qid.tolist() == [7, 9, 7]
    assert groups.X.tolist() == [[1, 2], [3, 4], [5, 6]]


def test_names_of_columns_may_begin_with_a_hash(written):
    groups = load_data(
        written("# a table\n#note,relevance,qid,f1,f2\n" + ROWS.replace("7,", "x,", 1)),
        qid="qid",
        drop=["#note"],
    )
    assert groups.qid.tolist() == ["a", "b", "c"]


def test_options_of_reading_have_one_default():
    declared = {each.name: each.default for each in fields(ReadOptions)}
    parameters = signature(load_data).parameters
    defaults = {name: parameters[name].default for name in parameters if name in declared}
    assert len(defaults) == 10
    assert defaults == {name: declared[name] for name in defaults}
