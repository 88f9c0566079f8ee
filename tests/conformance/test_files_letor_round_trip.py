"""What is written reads back bit for bit; what is damaged is refused; where others read, values agree."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchmarks.kernels.web30k import make_web30k, write_web30k
from directrank import make_ranking
from directrank.data import QueryGroups
from directrank.errors import DataError
from directrank.files import read_letor, write_letor

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
WORDS = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="#"), min_size=1, max_size=8)
NOT_INTEGERS = WORDS.filter(lambda word: not word.lstrip("-").isdecimal())
GRADES = st.one_of(st.integers(0, 31).map(float), st.floats(0, 1e6))


@st.composite
def collections(draw):
    n = draw(st.integers(1, 12))
    X = draw(arrays(np.float32, (n, draw(st.integers(1, 4))), elements=FLOATS))
    relevance = draw(st.lists(GRADES, min_size=n, max_size=n))
    names = st.integers(-(2**63), 2**63 - 1) if draw(st.booleans()) else NOT_INTEGERS
    qid = draw(
        st.lists(st.sampled_from(draw(st.lists(names, min_size=1, max_size=3))), min_size=n, max_size=n)
    )
    docid = draw(st.one_of(st.none(), st.lists(WORDS, min_size=n, max_size=n)))
    return QueryGroups(X, relevance, qid, docid=docid)


def same(one: QueryGroups, other: QueryGroups) -> None:
    np.testing.assert_array_equal(one.features.view(np.uint32), other.features.view(np.uint32))
    for name in ("relevance", "qid", "docid"):
        a, b = getattr(one, name), getattr(other, name)
        assert (a is None) == (b is None)
        assert a is None or a.tolist() == b.tolist()
    np.testing.assert_array_equal(one.queries.indptr, other.queries.indptr)
    np.testing.assert_array_equal(one.queries.row, other.queries.row)


@settings(max_examples=80, deadline=None)
@given(collections())
def test_written_and_read_back_bit_for_bit(tmp_path_factory, groups):
    path = tmp_path_factory.getbasetemp() / "round_trip.txt"
    write_letor(groups, path)
    same(groups, read_letor(path))


def test_every_kind_of_float32_reads_back_and_is_short(tmp_path):
    rng = np.random.default_rng(1)
    bits = np.concatenate([
        rng.integers(0, 0x7F800000, 20_000, dtype=np.uint32),  # any size
        np.arange(0, 200, dtype=np.uint32),  # the least
        np.arange(0x7F7FFF00, 0x7F800000, dtype=np.uint32),  # the largest
        np.arange(1, 0xFE, dtype=np.uint32) << 23,  # powers of two
    ])  # fmt: skip
    bits = np.concatenate([bits, bits | np.uint32(0x80000000)])
    groups = QueryGroups(
        bits.view(np.float32).reshape(-1, 2), np.zeros(len(bits) // 2), np.zeros(len(bits) // 2, int)
    )
    write_letor(groups, tmp_path / "bits.txt")
    same(groups, read_letor(tmp_path / "bits.txt"))
    line = (tmp_path / "bits.txt").read_text().splitlines()[0].split()[2:]
    shortest = [np.format_float_scientific(x, trim="-") for x in groups.X[0]]
    for token, other in zip(line, shortest, strict=True):
        digits = [c for c in token.split(":")[1].split("e")[0] if c.isdigit()]
        assert len("".join(digits).strip("0")) <= len([c for c in other.split("e")[0] if c.isdigit()])


def test_numbers_are_written_as_people_write_them(tmp_path):
    values = [0, 1, -1, 0.5, 0.1, 57950, 1e9, 123456790, 1e-5, 0.000123, 1e-12, 3.4028235e38, -0.0, 2.5e20]
    groups = QueryGroups([values], [1.5], ["q"], docid=["a b"])
    write_letor(groups, tmp_path / "numbers.txt")
    expected = [
        "0",
        "1",
        "-1",
        "0.5",
        "0.1",
        "57950",
        "1000000000",
        "123456790",
        "1e-05",
        "0.000123",
        "1e-12",
        "3.4028235e+38",
        "-0",
        "2.5e+20",
    ]
    text = " ".join(f"{k}:{value}" for k, value in enumerate(expected, 1))
    assert (tmp_path / "numbers.txt").read_text() == f"1.5 qid:q {text} # a b\n"


@pytest.mark.parametrize("qid", ["a b", "a#b", "", "a\tb", "a\nb", "a\0b"])
def test_a_qid_that_would_not_read_back_is_not_written(tmp_path, qid):
    with pytest.raises(DataError, match=r"cannot be written"):
        write_letor(QueryGroups([[1]], [0], np.array([qid], dtype=object)), tmp_path / "file.txt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("docid", ["a\nb", " a", "a ", "a\r", "docid = a"])
def test_a_docid_that_would_not_read_back_is_not_written(tmp_path, docid):
    path = tmp_path / "file.txt"
    path.write_text("before")
    with pytest.raises(DataError, match=r"cannot be written"):
        write_letor(QueryGroups([[1]], [0], [1], docid=[docid]), path)
    assert [each.name for each in tmp_path.iterdir()] == ["file.txt"]
    assert path.read_text() == "before"


def test_synthetic_text_is_the_synthetic_array(tmp_path):
    write_web30k(tmp_path / "web.txt", 0.0005, random_state=4)
    same(make_web30k(0.0005, random_state=4), read_letor(tmp_path / "web.txt"))


def mutant(text: bytes, rng: np.random.Generator) -> bytes:
    """Damage a text in one to three places."""
    alphabet = b"0123456789:.-+eE \t\n\r#qidNULxn_\0\xff\xef\xbb\xbf,"
    for _ in range(rng.integers(1, 4)):
        at, kind = rng.integers(len(text) + 1), rng.integers(5)
        letter = bytes([alphabet[rng.integers(len(alphabet))]])
        if kind == 0:
            text = text[:at] + letter + text[at + 1 :]
        elif kind == 1:
            text = text[:at] + letter + text[at:]
        elif kind == 2:
            text = text[:at] + text[at + rng.integers(1, 6) :]
        elif kind == 3:
            other = rng.integers(len(text) + 1)
            text = text[:at] + text[other : other + rng.integers(1, 12)] + text[at:]
        else:
            text = text[: max(at, 1)]
    return text


def test_where_scikit_learn_reads_values_agree(tmp_path):
    sklearn = pytest.importorskip("sklearn.datasets")
    rng = np.random.default_rng(2)
    path = tmp_path / "file.txt"
    groups = make_ranking(20, 8, 6, random_state=rng)
    write_letor(groups, path)
    lines = path.read_bytes().splitlines(keepends=True)
    compared = 0
    for _ in range(300):
        path.write_bytes(b"".join(mutant(line, rng) if rng.random() < 0.006 else line for line in lines))
        try:
            X, y, qid = sklearn.load_svmlight_file(path, query_id=True, dtype=np.float32, zero_based=False)
            ours = read_letor(path)
        except (ValueError, OverflowError):
            continue
        compared += 1
        assert len(qid) == len(y)
        np.testing.assert_array_equal(ours.relevance, y)
        np.testing.assert_array_equal(ours.X, X.toarray())
        if ours.qid.dtype == np.int64:
            np.testing.assert_array_equal(ours.qid, qid)
    assert compared > 30
