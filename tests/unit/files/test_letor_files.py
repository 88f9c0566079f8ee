"""The LETOR reader on whole files: options, blocks, the order of rows, what does not fit."""

import re

import numpy as np
import pytest

from directrank.errors import DataError, DataFormatError
from directrank.features.statistics import fill_query_minimum
from directrank.files import opening as blocks
from directrank.files import read_letor
from directrank.files.letor import LetorFiles
from directrank.files.letor_lines import exact_float32 as nearest_float32
from directrank.files.query_sizes import blocks_with_queries
from naive import fill_query_minimum_naive


@pytest.fixture
def written(tmp_path):
    def write(text: bytes, name: str = "file.txt"):
        path = tmp_path / name
        path.write_bytes(text)
        return path

    return write


def test_lines_with_sizes_beside_them_are_read_by_the_kernels_of_other_files(written):
    """numba compiles other code for an array that cannot be written."""
    written(b"2\n", "t.txt.query")
    for path in (written(b"1 1:1\n0 1:2\n", "t.txt"), written(b"1 qid:a 1:1\n")):
        (block,) = blocks_with_queries(path, blocks.ANY_DIGEST)
        assert block.bytes.flags.writeable


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (b"1 1:1\n0  1:x 2:3\n", ":2:6: found 'x'"),
        (b"\t1\t2:1 \t3:y\n0 1:1\n", ":1:11: found 'y'"),
        (b"1 1:1\nz 1:1\n", ":2:1: found 'z'"),
        (b"1 1:1\n0\x0b 1:1\n", ":2:1: found '0\\\\x0b'"),
        (b"# 1:1\n1 1:1\n0 1:1 z\n", ":3:7: found 'z'"),
        (b"1#c\n0 2:x\n", ":2:5: found 'x'"),
    ],
)
def test_faults_are_named_by_the_columns_of_a_file_with_sizes_beside_it(written, text, place):
    written(b"2\n", "t.txt.group")
    with pytest.raises(DataFormatError, match=f"^{re.escape(str(written(text, 't.txt')))}{place}"):
        read_letor(written(text, "t.txt"))


def test_rows_stand_in_the_inner_order_and_come_back_in_the_files(written):
    groups = read_letor(written(b"0 qid:a 1:1\n2 qid:a 1:2\n1 qid:a 1:3\n1 qid:b 1:4\n"))
    np.testing.assert_array_equal(groups.features[:, 0], [2, 3, 1, 4])
    np.testing.assert_array_equal(groups.queries.row, [1, 2, 0, 3])
    np.testing.assert_array_equal(groups.queries.indptr, [0, 3, 4])
    np.testing.assert_array_equal(groups.X[:, 0], [1, 2, 3, 4])
    assert groups.qid.tolist() == ["a", "a", "a", "b"]
    assert groups.features.dtype == np.float32
    assert groups.features.flags.c_contiguous


@pytest.mark.parametrize("size", [16, 17, 64, 1000])
def test_the_size_of_blocks_changes_nothing(written, monkeypatch, size):
    rng = np.random.default_rng(3)
    lines = [
        f"{rng.integers(3)} qid:{q} "
        + " ".join(f"{k}:{rng.normal():.6g}" for k in range(1, 6))
        + f" #docid = D{q}"
        for q in np.repeat(np.arange(7), 9)
    ]
    path = written(("\n".join(lines)).encode())
    whole = read_letor(path)
    monkeypatch.setattr(blocks.blocks_of, "__defaults__", (size,))
    pieces = read_letor(path)
    np.testing.assert_array_equal(whole.features, pieces.features)
    np.testing.assert_array_equal(whole.qid, pieces.qid)
    assert whole.docid.tolist() == pieces.docid.tolist()
    path.write_bytes("\n".join([*lines[:40], lines[40] + " 1:?", *lines[41:], "?"]).encode())
    path.write_bytes(path.read_bytes().replace(b"#docid = D4 1:?", b"1:? #"))
    with pytest.raises(DataFormatError) as caught:
        read_letor(path)
    assert caught.value.line == 41


class TestMissing:
    TEXT = b"1 qid:1 1:NULL 2:5\n0 qid:1 1:-2 2:NULL\n0 qid:1 1:3\n1 qid:2 1:NULL 2:NULL\n"

    def test_the_least_value_within_the_query(self, written):
        groups = read_letor(written(self.TEXT), missing="query_min")
        # A feature that a line does not name is 0, and counts as a value.
        np.testing.assert_array_equal(groups.X, [[-2, 5], [-2, 0], [3, 0], [0, 0]])

    def test_the_naive_twin(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(40, 6)).astype(np.float32)
        X[rng.random(X.shape) < 0.4] = np.nan
        twin, indptr = X.copy(), np.array([0, 1, 10, 30, 40])
        fill_query_minimum(X, indptr)
        fill_query_minimum_naive(twin, indptr)
        np.testing.assert_array_equal(X, twin)


class TestUnlabelled:
    def test_labels_are_not_read(self, written):
        groups = read_letor(written(b"0 qid:1 1:1\n-1 qid:1 1:2\n7 qid:1 1:3\n"), labelled=False)
        assert not groups.labelled
        np.testing.assert_array_equal(groups.relevance, [0, 0, 0])
        np.testing.assert_array_equal(groups.features[:, 0], [1, 2, 3])

    def test_a_line_may_begin_with_its_query(self, written):
        groups = read_letor(written(b"qid:1 1:1 #docid = a\n0 qid:2 1:2\n"), labelled=False)
        np.testing.assert_array_equal(groups.qid, [1, 2])
        np.testing.assert_array_equal(groups.X[:, 0], [1, 2])


class TestWidth:
    def test_more_columns_than_the_file_names(self, written):
        assert read_letor(written(b"1 qid:1 2:1\n"), n_features=4).X.tolist() == [[0, 1, 0, 0]]
        assert read_letor(written(b"1 qid:1\n"), n_features=2).X.tolist() == [[0, 0]]

    def test_what_does_not_fit_when_dense_is_refused_before_it_is_allocated(self, written):
        path = written(b"1 qid:1 1:1\n" * 500 + b"1 qid:1 2147483647:1\n")
        with pytest.raises(
            DataError, match=r"file.txt: X of 501 documents × 2147483647 features needs 4008.0 GiB"
        ):
            read_letor(path)


@pytest.mark.parametrize("after", [b"1 qid:1 1:1\n", b"1 qid:1 1:1\n" * 9])
def test_a_file_that_changes_between_the_passes_is_noticed(written, monkeypatch, after):
    path = written(b"1 qid:1 1:1\n" * 3)
    fill = LetorFiles.fill

    def change_then_fill(*args, **kwargs):
        path.write_bytes(after)
        return fill(*args, **kwargs)

    monkeypatch.setattr(LetorFiles, "fill", change_then_fill)
    with pytest.raises(DataFormatError, match=r"changed while it was read"):
        read_letor(path)


class TestRounding:
    def test_the_reader_rounds_as_the_exact_one_does(self, written):
        rng = np.random.default_rng(5)
        bits = rng.integers(0, 0x7F7FFFFF, 400, dtype=np.uint32)
        values = bits.view(np.float32).astype(np.float64)
        above = (bits + 1).view(np.float32).astype(np.float64)
        texts = [
            f"{(a + b) / 2:.{d}e}" for a, b, d in zip(values, above, rng.integers(6, 40, 400), strict=True)
        ]
        texts += [f"{v:.{d}g}" for v, d in zip(rng.normal(size=300), rng.integers(1, 20, 300), strict=True)]
        line = "0 qid:1 " + " ".join(f"{k}:{text}" for k, text in enumerate(texts, 1))
        X = read_letor(written(line.encode())).X[0]
        np.testing.assert_array_equal(
            X.view(np.uint32), np.array([nearest_float32(t) for t in texts]).view(np.uint32)
        )
