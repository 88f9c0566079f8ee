"""What columns hold: text that is no number, second labels, ids, and tables that are hard to read."""

import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from directrank import RankSVM, from_frame
from directrank.data import QueryGroups
from directrank.errors import DataError
from directrank.files import load_data
from directrank.files.scores import score_columns, trec_text

HEAD = "qid,label,docid,x\n"
NO_NUMBERS = {
    "brand": ["acme", "bolt"],
    "comma": ["0,5", "0,7"],
    "thousands": ["1,234", "2,345"],
    "percent": ["50%", "60%"],
    "dollars": ["$50", "$60"],
    "date": ["2020-01-01", "2021-01-01"],
}


def table(name, cells) -> pd.DataFrame:
    return pd.DataFrame({"qid": [1, 1], "label": [0, 1], "x": [1.0, 2.0], name: cells, "word": ["u", "5"]})


def problem_of(function) -> str:
    with pytest.raises(DataError) as caught:
        function()
    return str(caught.value)


class TestNoNumbers:
    @pytest.mark.parametrize("name", NO_NUMBERS)
    def test_files_and_frames_say_the_same(self, name, tmp_path):
        frame, path = table(name, NO_NUMBERS[name]), tmp_path / "t.csv"
        frame.to_csv(path, index=False)
        found = problem_of(lambda: load_data(path))
        words = found.split(": ", 2)[2]
        assert found.startswith(
            f"{path}: column {name!r}, row 1: found '{NO_NUMBERS[name][0]}', expected a number"
        )
        assert f"--drop {name},word (in Python, drop=['{name}', 'word']" in words
        assert ("decimal point" in words) == (name in ("comma", "thousands", "percent", "dollars"))
        if name == "brand":  # a data frame says that it is text
            words = words.replace(f"{name},word", "word").replace(f"{name}', 'word", "word")
            words = words.replace(repr(NO_NUMBERS[name][0]), "'u'")
            assert from_frame(frame, drop=["word"]).categories == {name: tuple(NO_NUMBERS[name])}
        features = frame.drop(columns=["qid", "label"])
        for make in (pd.DataFrame, pl.DataFrame, pa.Table.from_pandas):
            assert problem_of(lambda make=make: from_frame(make(frame))).endswith(f"row 0: {words}")
        for fit in (RankSVM().fit, QueryGroups):
            assert problem_of(lambda fit=fit: fit(features, frame.label, qid=frame.qid)).endswith(words)
        assert load_data(path, drop=[name, "w*"]).feature_names == ("x",)
        assert from_frame(frame, drop=[name, "w*"]).feature_names == ("x",)

    def test_times_are_no_numbers(self, tmp_path):
        frame = table("when", pd.to_datetime(["2020-01-01", "2021-01-01"])).drop(columns="word")
        frame.to_parquet(tmp_path / "t.parquet")
        assert "column 'when', row 1: found 2020-01-01" in problem_of(
            lambda: load_data(tmp_path / "t.parquet")
        )
        for features in (frame[["x", "when"]], frame[["when"]], pl.DataFrame(frame[["when"]])):
            for fit in (RankSVM().fit, QueryGroups):
                problem = problem_of(lambda fit=fit, X=features: fit(X, frame.label, qid=frame.qid))
                assert "column 'when', row 0: found 2020-01-01" in problem

    def test_numbers_as_text_and_missing_words_are_read(self, tmp_path):
        cells = [" 1.5 ", "+2", "NA", "", "1e3"]
        frame = pd.DataFrame({"qid": [1] * 5, "label": [0, 1, 0, 1, 0], "x": cells})
        frame.to_csv(tmp_path / "t.csv", index=False)
        frame.to_parquet(tmp_path / "t.parquet")
        for groups in (load_data(tmp_path / "t.csv"), load_data(tmp_path / "t.parquet"), from_frame(frame)):
            np.testing.assert_array_equal(groups.X[:, 0], [1.5, 2, np.nan, np.nan, 1000])

    def test_columns_to_drop_must_exist_and_have_no_role(self):
        frame = table("brand", ["a", "b"])
        assert "no column 'brnd'; did you mean 'brand'?" in problem_of(
            lambda: from_frame(frame, drop=["brnd"])
        )
        assert "'qid' is to be dropped" in problem_of(lambda: from_frame(frame, qid="qid", drop=["qid"]))
        assert from_frame(frame, features=["x", "word"], drop=["word"]).feature_names == ("x",)

    def test_a_second_label_is_no_feature(self, tmp_path):
        frame = table("relevance", [0, 1]).drop(columns="word")
        frame.to_csv(tmp_path / "t.csv", index=False)
        for read in (
            lambda **how: load_data(tmp_path / "t.csv", **how),
            lambda **how: from_frame(frame, **how),
        ):
            assert "column 'label' would be a feature, and 'relevance' is" in problem_of(read)
            assert "column 'relevance' would be" in problem_of(lambda read=read: read(label="label"))
            assert read(drop=["label"]).feature_names == ("x",)
            assert read(label="label", features=["x", "relevance"]).n_features == 2

    def test_frames_and_files_guess_the_same_columns(self, tmp_path):
        frame = pd.DataFrame({"query_id": [3.0, 3.0], "grade": [0, 2], "item_id": ["a", "b"], "x": [1, 2]})
        frame.to_parquet(tmp_path / "t.parquet")
        file, memory = load_data(tmp_path / "t.parquet"), from_frame(frame)
        for name in ("qid", "relevance", "docid", "X"):
            assert getattr(file, name).tolist() == getattr(memory, name).tolist()
        assert file.qid.dtype == memory.qid.dtype == np.int64
        assert not load_data(tmp_path / "t.parquet", labelled=False).labelled


class TestIds:
    def test_names_that_look_missing_are_names_and_a_missing_one_is_the_row(self, tmp_path):
        (tmp_path / "t.csv").write_text(HEAD + "NA,0,NA,1\nNA,1,,2\nnull,1,null,3\n")
        groups = load_data(tmp_path / "t.csv")
        assert groups.qid.tolist() == ["NA", "NA", "null"]
        columns = score_columns(groups, np.arange(3.0))
        assert columns["docid"].tolist() == ["NA", "2", "null"]
        assert [line.split()[2] for line in trec_text(groups, np.zeros(3), "t").splitlines()] == [
            "NA",
            "2",
            "null",
        ]

    def test_first_words_of_comments_name_documents(self, tmp_path):
        path = tmp_path / "es.txt"
        path.write_text("1 qid:1 1:1 # 7555\trambo\n0 qid:1 1:2 # 1370\trambo\n0 qid:2 1:2 # 7555\trocky\n")
        words = [line.split()[2] for line in trec_text(load_data(path), np.zeros(3), "t").splitlines()]
        assert words == ["7555", "1370", "7555"]
        path.write_text("1 qid:1 1:1 # page 1\n0 qid:1 1:2 # page 2\n")
        with pytest.raises(DataError, match="docid 'page 1' of document 1 is not one word"):
            trec_text(load_data(path), np.zeros(2), "t")


class TestHardToRead:
    def test_a_row_of_megabytes(self, tmp_path):
        (tmp_path / "t.csv").write_text(HEAD + f"1,0,a,1\n1,1,{'z' * 5_000_000},2\n2,1,b,3\n")
        groups = load_data(tmp_path / "t.csv")
        assert groups.X[:, 0].tolist() == [1, 2, 3]
        assert len(groups.docid[1]) == 5_000_000

    def test_archives_and_other_encodings_end_in_one_line(self, tmp_path):
        text = HEAD + "1,0,a,1\n"
        with zipfile.ZipFile(tmp_path / "z.csv.zip", "w") as archive:
            archive.writestr("z.csv", text)
        assert "is a zip archive; unpack it" in problem_of(lambda: load_data(tmp_path / "z.csv.zip"))
        (tmp_path / "u.csv").write_bytes(text.encode("utf-16-le"))
        assert "save it as UTF-8" in problem_of(lambda: load_data(tmp_path / "u.csv"))


class TestRecommenders:
    HEAD = "user_id,item_id,{},popular\n1,a,5,3\n1,b,0,2\n2,a,0,3\n2,c,1,1\n"

    @pytest.mark.parametrize("label", ["rating", "interaction", "Interactions", "relevance"])
    def test_a_user_is_the_query_and_an_item_the_document(self, label, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text(self.HEAD.format(label))
        groups = load_data(path)
        assert groups.qid.tolist() == [1, 1, 2, 2]
        assert groups.docid.tolist() == ["a", "b", "a", "c"]
        assert groups.relevance.tolist() == [5, 0, 0, 1]
        assert groups.feature_names == ("popular",)
        assert from_frame(pd.read_csv(path)).relevance.tolist() == [5, 0, 0, 1]

    def test_a_query_of_a_search_comes_first_and_a_rating_of_its_products_is_a_feature(self):
        frame = pd.DataFrame({"search_id": [1, 1], "user_id": [7, 8], "relevance": [0, 1], "rating": [3, 4]})
        groups = from_frame(frame)
        assert groups.qid.tolist() == [1, 1]
        assert groups.feature_names == ("user_id", "rating")
        assert "no column is called like a label" in problem_of(
            lambda: from_frame(frame.drop(columns="relevance"))
        )

    def test_a_rating_and_an_interaction_are_refused(self):
        frame = pd.DataFrame({"user_id": [1, 1], "rating": [0, 3], "interaction": [0, 1], "x": [1, 2]})
        assert "'rating' and 'interaction' are both called like grades" in problem_of(
            lambda: from_frame(frame)
        )
        assert from_frame(frame, label="rating", drop=["interaction"]).relevance.tolist() == [0, 3]
