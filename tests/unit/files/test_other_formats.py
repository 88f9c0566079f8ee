"""Files and folders that are not read: the message names what they are, and what to do."""

import struct

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from directrank import evaluate_runs, from_frame, load_data
from directrank.errors import DataError

RECORD = b"\x0a\x10" + bytes(20)
STARTS = {
    "LZ4": b"\x04\x22\x4d\x18\x64\x40\xa7", "Snappy": b"\xff\x06\0\0sNaPpY", "7-Zip": b"7z\xbc\xaf\x27\x1c",
    "TFRecord": struct.pack("<Q", len(RECORD)) + b"\x01\x02\x03\x04" + RECORD,
    "an array of NumPy": b"\x93NUMPY\x01\0", "HDF5": b"\x89HDF\r\n\x1a\n", "a pickle": b"\x80\x04\x95\0",
    "an archive of tar": b"a.txt".ljust(257, b"\0") + b"ustar\0",
}  # fmt: skip


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "part-r-00000"])
@pytest.mark.parametrize("kind", STARTS)
def test_a_file_that_is_no_text_is_called_what_it_is(kind, name, tmp_path):
    (tmp_path / name).write_bytes(STARTS[kind] + bytes(40))
    with pytest.raises(
        DataError, match=f"is {kind}, which is not read; (unpack it|write its documents)"
    ) as refused:
        load_data(tmp_path / name)
    assert "\n" not in str(refused.value)


def test_a_folder_names_a_file_in_it(tmp_path):
    (tmp_path / "ds" / "qrels").mkdir(parents=True)
    (tmp_path / "ds" / "corpus.jsonl").write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match=r"is a folder, expected a file; name one$"):
        evaluate_runs(tmp_path / "ds", {"r": {"q": {"d": 1.0}}})
    (tmp_path / "ds" / "qrels" / "dev.tsv").write_text("", encoding="utf-8")
    for name in ("dev.tsv", "test.tsv"):  # BEIR's judgments of test queries are meant, where there are any
        (tmp_path / "ds" / "qrels" / name).write_text("", encoding="utf-8")
        for folder in ("ds", "ds/qrels"):
            with pytest.raises(DataError, match=f"name one, such as .*ds/qrels/{name}$"):
                evaluate_runs(tmp_path / folder, {"r": {"q": {"d": 1.0}}})
    (tmp_path / "spark").mkdir()
    (tmp_path / "spark" / "part-00000.csv").write_text("", encoding="utf-8")
    with pytest.raises(DataError, match=r"save its parts, such as those of Spark, as one"):
        evaluate_runs(tmp_path / "spark", {"r": {"q": {"d": 1.0}}})


def test_a_column_of_lists_needs_a_column_for_each_element(tmp_path):
    table = pa.table({"qid": [1, 1], "label": [1, 0], "features": [[1.0, 2.0], [2.0, 3.0]]})
    parquet.write_table(table, tmp_path / "a.parquet")
    for read in (lambda: load_data(tmp_path / "a.parquet"), lambda: from_frame(table.to_pandas())):
        with pytest.raises(
            DataError, match=r"give each element a column of its own, such as features_0, feat"
        ) as refused:
            read()
        assert "--drop" not in str(refused.value)
    X = np.stack(table.to_pandas()["features"].tolist())
    assert X.shape == (2, 2)  # the remedy's columns


def test_a_document_without_a_grade_has_the_remedy(tmp_path):
    (tmp_path / "a.csv").write_text("query,docid,rating\nq,1,0\nq,2,\n", encoding="utf-8")
    with pytest.raises(
        DataError, match=r"row 2: has no value, .*leave out the rows of documents that are not judged"
    ):
        evaluate_runs(tmp_path / "a.csv", {"r": {"q": {"1": 1.0}}})
