"""What columns hold: text that is no number, second labels, ids, and tables that are hard to read."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from directrank import RankSVM, from_frame
from directrank.data import QueryGroups
from directrank.data.columns import known_column
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


class TestHardToRead:
    def test_a_row_of_megabytes(self, tmp_path):
        (tmp_path / "t.csv").write_text(HEAD + f"1,0,a,1\n1,1,{'z' * 5_000_000},2\n2,1,b,3\n")
        groups = load_data(tmp_path / "t.csv")
        assert groups.X[:, 0].tolist() == [1, 2, 3]
        assert len(groups.docid[1]) == 5_000_000


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


@pytest.mark.parametrize(
    ("name", "hint"),
    [("brands", "did you mean 'brand'?"), ("lable", "did you mean 'label'?"), ("grade", "the columns are")],
)
def test_only_a_name_that_is_much_alike_is_proposed(name, hint):
    """Of 'grade' and 'brand' three letters of five are in one order."""
    with pytest.raises(DataError, match=f"no column '{name}'; {re.escape(hint)}"):
        known_column(name, ["qid", "label", "brand"], "t.csv")
