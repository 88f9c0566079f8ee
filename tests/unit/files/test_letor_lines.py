"""Every rule of the LETOR reader: a line, and the values or the place of the fault it must give."""

import gzip

import numpy as np
import pytest

from directrank.errors import DataFormatError
from directrank.files import read_letor

MIDDLE = "1.000000059604644775390625"  # between 1 and the next float32, 1 + 2⁻²³

# text, relevance, qid, rows of X (columns up to the largest id)
GOOD = [
    (b"1 qid:3 1:0.5 2:2\n", [1], [3], [[0.5, 2]]),
    (b"1 qid:3 1:0.5 2:2", [1], [3], [[0.5, 2]]),
    (b"1 qid:3 1:0.5 2:2\r\n", [1], [3], [[0.5, 2]]),
    (b"1 qid:3 1:0.5\r\n0 qid:3 1:1\n", [1, 0], [3, 3], [[0.5], [1]]),
    (b"\t1\tqid:3  1:0.5 \t 2:2 \t\n", [1], [3], [[0.5, 2]]),
    (b"0.25 qid:1 1:1\n", [0.25], [1], [[1]]),
    (b"2.50 qid:1 1:1\n", [2.5], [1], [[1]]),
    (b"1e1 qid:1 1:1\n", [10], [1], [[1]]),
    (b"+1 qid:1 1:1\n", [1], [1], [[1]]),
    (b"-0 qid:1 1:1\n", [0], [1], [[1]]),
    (b"0 qid:9223372036854775807 1:1\n", [0], [2**63 - 1], [[1]]),
    (b"0 qid:9223372036854775808 1:1\n", [0], ["9223372036854775808"], [[1]]),
    (b"0 qid:-9223372036854775808 1:1\n", [0], [-(2**63)], [[1]]),
    (b"0 qid:007 1:1\n0 qid:7 1:1\n", [0, 0], ["007", "7"], [[1], [1]]),
    (b"0 qid:a:b 1:1\n", [0], ["a:b"], [[1]]),
    ("0 qid:Straße 1:1\n".encode(), [0], ["Straße"], [[1]]),
    (b"0 qid:5 1:1\n0 qid:x 1:2\n", [0, 0], ["5", "x"], [[1], [2]]),
    (b"0 qid:1 3:7\n", [0], [1], [[0, 0, 7]]),
    (b"0 qid:1\n0 qid:1 2:1\n", [0, 0], [1, 1], [[0, 0], [0, 1]]),
    (b"0 qid:1 01:7\n", [0], [1], [[7]]),
    (b"0 qid:1 1:-4.6914\n", [0], [1], [[-4.6914]]),
    (b"0 qid:1 1:.5 2:5.\n", [0], [1], [[0.5, 5]]),
    (b"0 qid:1 1:-.5\n", [0], [1], [[-0.5]]),
    (b"0 qid:1 1:1e3 2:1E-2 3:1e+1\n", [0], [1], [[1000, 0.01, 10]]),
    (b"0 qid:1 1:0e999999999999\n", [0], [1], [[0]]),
    (b"0 qid:1 1:1e-999999999999\n", [0], [1], [[0]]),
    (b"0 qid:1 1:123456789012345678901234567890e-30\n", [0], [1], [[0.12345678901234568]]),
    (b"0 qid:1 1:0.000000000000000000000000000000000000000001\n", [0], [1], [[1e-42]]),
    (b"0 qid:1 1:3.4028235e38\n", [0], [1], [[3.4028234663852886e38]]),
    (b"0 qid:1 1:16777217\n", [0], [1], [[16777216]]),
    (b"0 qid:1 1:16777219\n", [0], [1], [[16777220]]),
    (f"0 qid:1 1:{MIDDLE}\n".encode(), [0], [1], [[1.0]]),
    (f"0 qid:1 1:{MIDDLE}1\n".encode(), [0], [1], [[1.0 + 2.0**-23]]),
    (f"0 qid:1 1:-{MIDDLE} 2:-{MIDDLE}1\n".encode(), [0], [1], [[-1.0, -1.0 - 2.0**-23]]),
    (f"0 qid:1 1:{MIDDLE}{'0' * 30}1 2:3\n".encode(), [0], [1], [[1.0 + 2.0**-23, 3]]),
    (b"# a header\n\n  \n0 qid:1 1:1 # x\n   # y\n", [0], [1], [[1]]),
    (b"0 qid:1 1:1#tight\n", [0], [1], [[1]]),
    (b"0 qid:a#b 1:1\n0 qid:a 1:2\n", [0, 0], ["a", "a"], [[0], [2]]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "relevance", "qid", "X"), GOOD, ids=lambda v: repr(v)[:50])
def test_a_line_in_order_gives_its_values(tmp_path, text, relevance, qid, X):
    path = tmp_path / "good.txt"
    path.write_bytes(text)
    groups = read_letor(path)
    np.testing.assert_array_equal(groups.relevance, relevance)
    np.testing.assert_array_equal(groups.qid, qid)
    np.testing.assert_array_equal(groups.X, np.array(X, np.float32))


# text, line, column, a part of what is said
BAD = [
    (b"x qid:1 1:1\n", 1, 1, "found 'x', expected a label"),
    (b"q1 0 d1 1\n", 1, 1, "0 or more; qrels and runs have no features"),
    (b"q1 Q0 d1 1 0.5 tag\n", 1, 1, "0 or more; qrels and runs have no features"),
    (b"\x40\0\0\0\0\0\0\0{}", 0, 0, "is a model, where documents"),
    (b"\x40\0\0\0\0\0\0\0\1\2\3\4", 0, 0, "is TFRecord, which is not read"),
    (b"nan qid:1 1:1\n", 1, 1, "label"),
    (b"1e400 qid:1 1:1\n", 1, 1, "label"),
    (b"1_0 qid:1 1:1\n", 1, 1, "label"),
    (b"1e qid:1 1:1\n", 1, 1, "label"),
    (b". qid:1 1:1\n", 1, 1, "label"),
    (b"qid:1 1:1\n", 1, 1, "label"),
    (b"-1 qid:1 1:1\n", 1, 1, "0 or more"),
    (b"1 1:1\n", 1, 3, "found '1:1', expected qid:<query>"),
    (b"1\n", 1, 2, "qid:<query>"),
    (b"1 # qid:1 1:1\n", 1, 3, "qid:<query>"),
    (b"1 qid: 1:1\n", 1, 3, "a query after qid:"),
    (b"1 qid:#5 1:1\n", 1, 3, "a query after qid:"),
    (b"1 qid:\xff\xfe 1:1\n", 1, 7, "not UTF-8"),
    (b"1 qid:1 1:1 qid:2\n", 1, 13, "<feature id>:<number>"),
    (b"1 qid:1 1\n", 1, 9, "found '1', expected <feature id>"),
    (b"1 qid:1 a:1\n", 1, 9, "<feature id>"),
    (b"1 qid:1 :1\n", 1, 9, "<feature id>"),
    (b"1 qid:1 1.0:1\n", 1, 9, "<feature id>"),
    (b"1 qid:1 1 :1\n", 1, 9, "<feature id>"),
    (b"1 qid:1 1\xc2\xa0:1\n", 1, 9, "<feature id>"),
    (b"1 qid:1\x0b1:1\n", 1, 8, "control character"),
    (b"1 qid:1 0:1\n", 1, 9, "count from 1"),
    (b"1 qid:1 2:1 2:1\n", 1, 13, "has a value already"),
    (b"1 qid:1 2:1 1:1\n", 1, 13, "ids ascend"),
    (b"1 qid:1 1:1 0:1\n", 1, 13, "count from 1"),
    (b"1 qid:1 2147483648:1\n", 1, 9, "at most 2147483647"),
    (b"1 qid:1 18446744073709551617:1\n", 1, 9, "at most 2147483647"),
    (b"1 qid:1 1:\n", 1, 11, "found the end of the line's data, expected a finite decimal"),
    (b"1 qid:1 1:x\n", 1, 11, "found 'x'"),
    (b"1 qid:1 1:1_0\n", 1, 11, "finite decimal"),
    (b"1 qid:1 1:1:2\n", 1, 11, "finite decimal"),
    (b"1 qid:1 1:1e+\n", 1, 11, "finite decimal"),
    (b"1 qid:1 1:.\n", 1, 11, "finite decimal"),
    (b"1 qid:1 1:null\n", 1, 11, "finite decimal"),
    (b"1 qid:1 1:NULLS\n", 1, 11, "finite decimal"),
    (b"1 qid:1 1:1e39\n", 1, 11, "float32"),
    (b"1 qid:1 1:3.4028236e38\n", 1, 11, "float32"),
    (b"1 qid:1 1:1\x00\n", 1, 12, "NUL"),
    (b"1 qid:1 1:1 # a\x00b\n", 1, 16, "NUL"),
    (b"1 qid:1 1:1\r2 qid:1 1:1\n", 1, 12, "carriage return"),
    (b"1 qid:1 1:1 # a\r2 qid:1 1:1\r", 1, 16, "carriage return"),
    ("1 qid:1 1:1\n".encode("utf-16")[:-1], 0, 0, "UTF-16"),
    ("1 qid:1 1:1\n".encode("utf-16-le"), 1, 2, "NUL"),
    (b"1 qid:1 1:1\n\n# c\n0 qid:1 1:1 1:2\nx\n", 4, 13, "has a value already"),
    (b"1 qid:1 1:1\r\n0 qid:1 1:?\r\n", 2, 11, "found '?'"),
    (b"1 qid:1 1:1\n1 qid:1 1:2 junk", 2, 13, "found 'junk'"),
    (b"", 0, 0, "holds no document"),
    (b"# only a comment\n", 0, 0, "holds no document"),
    (b"1 qid:1\n", 0, 0, "no line has a feature"),
    (gzip.compress(b"1 qid:1 1:1\n" * 99, mtime=0)[:-9], 0, 0, "gzip"),
    (gzip.compress(b"1 qid:1 1:1\n" * 99, mtime=0)[:20], 0, 0, "gzip"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "column", "message"), BAD, ids=lambda v: repr(v)[:50])
def test_a_malformed_line_is_refused_by_its_place(tmp_path, text, line, column, message):
    path = tmp_path / "bad.txt"
    path.write_bytes(text)
    with pytest.raises(DataFormatError) as caught:
        read_letor(path)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert message in caught.value.problem
    assert str(caught.value).startswith(str(path) + (f":{line}:{column}: " if line else ": "))
    assert "\n" not in str(caught.value)


COMMENTS = [
    (b"#docid = 57950", "57950"),
    (b"# docid = 57950", "57950"),
    (b"#docid=57950", "57950"),
    (b"#docid = GX008-86-4444840 inc = 1 prob = 0.086622", "GX008-86-4444840"),
    (b"# some page # two", "some page # two"),
    (b"#docidx = 7", "docidx = 7"),
    (b"# docid", "docid"),
    (b"#docid =", ""),
    (b"#", ""),
    (b"", ""),
    ("# Füße".encode(), "Füße"),
    (b"# odd \xff\xfe bytes", "odd \\xff\\xfe bytes"),
    (b"# " + b"x" * 300, "x" * 300),
]


@pytest.mark.parametrize(("comment", "docid"), COMMENTS, ids=lambda v: repr(v)[:40])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b" \n", b""])
def test_a_comment_names_the_document(tmp_path, comment, docid, end):
    path = tmp_path / "comments.txt"
    path.write_bytes(b"0 qid:1 1:1 #docid = first\n0 qid:1 1:2 " + comment + end)
    assert read_letor(path).docid.tolist() == ["first", docid]


def test_without_a_comment_there_is_no_docid(tmp_path):
    path = tmp_path / "plain.txt"
    path.write_bytes(b"0 qid:1 1:1\n")
    assert read_letor(path).docid is None


def test_docids_follow_their_rows_into_the_inner_order_and_back(tmp_path):
    path = tmp_path / "docids.txt"
    path.write_bytes(b"0 qid:1 1:1 #docid = a\n2 qid:1 1:2 #docid = b\n1 qid:1 1:3 #docid = c\n")
    groups = read_letor(path)
    assert groups.docid.tolist() == ["a", "b", "c"]
    assert groups.queries.docid.tolist() == ["b", "c", "a"]
    np.testing.assert_array_equal(groups.features[:, 0], [2, 3, 1])
