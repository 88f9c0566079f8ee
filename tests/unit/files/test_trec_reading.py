"""Qrels and TREC runs: what is read, how a run joins judgments, and what is refused."""

import gzip
import re

import numpy as np
import pytest

from directrank import QueryGroups
from directrank.errors import DataError, DataFormatError
from directrank.files.forms import form_of
from directrank.files.runs import read_run
from directrank.files.trec import judgments_of, match_run, read_qrels
from directrank.files.words import numbered, read_rows

QRELS = "a 0 d1 1\na 0 d2 0\nb 0 d1 2\nb 0 d9 -1\n"


@pytest.fixture
def written(tmp_path):
    def write(text: str, name: str = "file"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_a_run_joins_its_judgments(written):
    run = written("b Q0 d1 1 0.5 t\na Q0 d7 1 3 t\n\na\tQ0 d1 2 -1e1 t\nz Q0 d1 1 1 t\n", "run")
    found = match_run(read_qrels(written(QRELS, "qrels")), read_run(run))
    queries, row = found.queries, found.queries.row
    assert queries.qid.tolist() == ["a", "b"]
    assert queries.docid.tolist() == [b"d1", b"d2", b"d7", b"d1", b"d9"]
    assert queries.relevance.tolist() == [1, 0, 0, 2, 0]
    np.testing.assert_array_equal(found.scores[row], [-10, np.nan, 3, 0.5, np.nan])
    assert found.retrieved[row].tolist() == [True, False, True, True, False]
    assert [note.partition("run: ")[2] for note in found.notes] == [
        f"left out queries that are not in {run.parent / 'qrels'}: 1, such as z",
        "1 of 3 documents have no judgment and count as not relevant",
    ]


def test_queries_that_a_run_does_not_hold_stay_and_are_counted(written):
    qrels = read_qrels(written(QRELS, "qrels"))
    found = match_run(qrels, read_run(written("b Q0 d1 1 0.5 t\n", "run")))
    assert found.queries.qid.tolist() == ["a", "b"]
    assert "1 of 2 queries of" in found.notes[0]
    assert "count 0, such as a" in found.notes[0]


def test_labelled_documents_are_judgments_by_docid_or_row(written):
    groups = QueryGroups(np.zeros((3, 1)), [0, 1, 1], [7, 7, 8], docid=["x", "y", "x"])
    found = match_run(judgments_of(groups), read_run(written("7 Q0 y 1 2 t\n8 Q0 x 1 4 t\n")))
    assert found.scores.tolist()[1:] == [2, 4]
    assert found.queries.qid.tolist() == [7, 8]
    rows = match_run(
        judgments_of(QueryGroups(groups.X, [0, 1, 1], [7, 7, 8])), read_run(written("8 Q0 3 1 4 t\n"))
    )
    assert rows.retrieved.tolist() == [False, False, True]


def test_docids_that_repeat_within_a_query_are_refused():
    groups = QueryGroups(np.zeros((3, 1)), [0, 1, 1], [7, 8, 8], docid=["x", "y", "y"])
    with pytest.raises(DataError, match="row 3: docid 'y' names another document of query 8"):
        judgments_of(groups)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a 0\n", "qrels:1:1: found 2 words, expected four: query, iteration, document and grade"),
        ("a 0 d1 1\na 0 d2 x\n", "qrels:2:8: found 'x', expected a grade"),
        (
            "a 0 d1 1\nb 0 d1 1\na 0 d1 0\n",
            "qrels:3:5: document 'd1' of query 'a' is judged twice, first in line 1",
        ),
        ("# of\n\n# a b c d\na 0 d1 1\na 0 1\n", "qrels:5:1: found 3 words, expected four"),
        ("a 0 d1 1\na 0 d2 1 sure\n", "qrels:2:1: found 5 words, expected four"),
        ("# a 0 d1 1\n", "qrels: holds no line with words"),
        ("", "qrels: is empty, expected four"),
        ("\n \n", "qrels: holds no line with words"),
    ],
)
def test_qrels_that_are_refused(written, text, problem):
    with pytest.raises(DataFormatError) as error:
        read_qrels(written(text, "qrels"))
    assert problem in str(error.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a x d1 1 0.5\n", "run:1:1: found 5 words, expected six"),
        ("a Q0 d1 1 nan t\n", "run:1:11: found 'nan', expected a score"),
        ("a Q0 d1 1 1e999 t\n", "run:1:11: found '1e999', expected a score"),
        ("a Q0 d1 1 1_0 t\n", "run:1:11: found '1_0', expected a score"),
        ("a Q0 d1 1 1 t\n# d1\na Q0 d1 1 1 u\n", "run:3:6: document 'd1' of query 'a' is listed twice"),
        ("a Q0 d1 1 1 t\na Q0 d1 2 0 t\n", "run:2:6: document 'd1' of query 'a' is listed twice"),
        ("x Q0 d1 1 1 t\n", "run: none of its queries is in "),
    ],
)  # fmt: skip
def test_runs_that_are_refused(written, text, problem):
    qrels = read_qrels(written(QRELS, "qrels"))
    with pytest.raises(DataFormatError) as error:
        match_run(qrels, read_run(written(text, "run")))
    assert problem in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "# comment here\na 0 d#1 1\nb 0 d2 0\n",
        "#comment\n# a 0 d3 1\na 0 d#1 1 # sure\n\n   # 1 2\nb 0 d2 0 #\n#",
        "# a b\na d#1 1\nb d2 0\n",
    ],
)
def test_comments_of_qrels_are_left_out_and_a_hash_in_a_name_stays(written, text):
    """Comment lines as in the tests of trec_eval 10.0: 301 0 CR#93E-1860 0 is a document."""
    judgments = read_qrels(written(text, "qrels"))
    assert judgments.by_name() == {("a", "d#1"): 1.0, ("b", "d2"): 0.0}


@pytest.mark.parametrize("text", ["# BM25 k1=0.9 b=0.4 run 7 x\n", "#1 Q0 d1 1 7 t\n", ""])
def test_comments_of_runs_are_left_out(written, text):
    path = written(f"{text}a Q0 d#1 1 2 t\n# x\na Q0 d2 2 1 t\n", "run")
    assert form_of(path) == "run"
    run = read_run(path)
    assert [run.rows.text(row, 2) for row in range(2)] == ["d#1", "d2"]
    assert run.scores.tolist() == [2, 1]
    assert not run.notes


def test_the_tag_of_a_run_may_differ_by_line_and_a_note_says_so(written):
    run = read_run(written("a Q0 d1 1 2 t\n\na Q0 d2 2 1 u\n", "run"))
    assert run.scores.tolist() == [2, 1]
    assert "the tag differs by line, 't' and 'u' for example; all lines are one run" in run.notes[0]


def test_names_of_documents_hold_blanks_where_tabs_separate(written):
    run = read_run(written("a\tQ0\tWindows 10\t1\t9.0\tt\na\tQ0\tUbuntu 22\t2\t8.0\tt\n", "run"))
    assert [run.rows.text(row, 2) for row in range(2)] == ["Windows 10", "Ubuntu 22"]
    assert run.scores.tolist() == [9, 8]
    qrels = written("a\t0\tWindows 10\t1\na\t0\tmac\t0\n", "qrels")
    assert form_of(qrels) == "qrels"
    assert read_qrels(qrels).by_name() == {("a", "Windows 10"): 1.0, ("a", "mac"): 0.0}
    found = match_run(read_qrels(qrels), run)
    assert found.queries.docid.tolist() == [b"Windows 10", b"mac", b"Ubuntu 22"]


def test_blanks_beside_tabs_separate_words(written):
    run = read_run(written("a Q0\td1 1\t9.0 t\na Q0\td2 2\t8.0 t\n", "run"))
    assert [run.rows.text(row, 2) for row in range(2)] == ["d1", "d2"]


def test_a_last_number_without_a_line_end_is_noted(written):
    (note,) = read_qrels(written("a 0 d1 1\na 0 d2 1", "qrels")).notes
    assert (
        "the last line has no line end: if the file was cut short, its last number, '1', may be too" in note
    )
    (note,) = read_run(written("a Q0 d1 1 0.75\na Q0 d2 2 0.5", "run")).notes
    assert "its last number, '0.5', may be too" in note
    # The end of a tag decides nothing, nor does a line end of Windows.
    assert not read_run(written("a Q0 d1 1 0.75 bm25\na Q0 d2 2 0.5 bm25", "run")).notes
    assert not read_qrels(written("a 0 d1 1\r\na 0 d2 1\r\n", "qrels")).notes


def test_prels_are_refused_by_their_name(written):
    with pytest.raises(DataFormatError, match=r"prels:1:1: prels, with .* write qrels: query, 0, document"):
        form_of(written("1 a 1 1 0.5\n1 b 0 1 0.25\n", "prels"))


def test_scores_are_rounded_as_python_rounds(written):
    rng = np.random.default_rng(0)
    texts = [f"{x:.{n}g}" for x, n in zip(rng.normal(size=300) * 10.0 ** rng.integers(-30, 30, 300),
                                         rng.integers(1, 18, 300), strict=True)]  # fmt: skip
    texts += [
        "0.1",
        "9007199254740993",
        "1e22",
        "1e23",
        "123456789012345678901234567890",
        "+5",
        "-0.0",
        ".5",
        "4.",
    ]
    rows = read_rows(written("".join(f"{text} x\n" for text in texts)), 2, "")
    assert rows.numbers(0, "").tolist() == [float(text) for text in texts]


@pytest.mark.parametrize("text", ["1_0", "0x10", "nan", "inf", "1e999", "١", "1,5", "1e", "--1", "high"])
def test_what_is_no_finite_decimal_is_refused_at_its_place(written, text):
    rows = read_rows(written(f"a 1\n\n  b\t{text}\n"), 2, "")
    with pytest.raises(DataFormatError, match=r":3:5: found "):
        rows.numbers(1, "expected a number")


def test_words_are_numbered_as_they_first_appear():
    words = np.array([b"d1", b"d2", b"d1", b"d3", b"d2"])
    for group, codes, first in (
        (None, [0, 1, 0, 2, 1], [0, 1, 3]),
        ([0, 0, 1, 1, 0], [0, 1, 2, 3, 1], [0, 1, 2, 3]),
    ):
        found = numbered(words, None if group is None else np.array(group))
        assert [each.tolist() for each in found] == [codes, first]


def test_gzipped_files_and_long_docids(written, tmp_path):
    path = tmp_path / "run.gz"
    path.write_bytes(gzip.compress(f"a Q0 {'x' * 100} 1 1 t\na Q0 d1 2 0 t\n".encode()))
    found = match_run(read_qrels(written(QRELS, "qrels")), read_run(path))
    assert found.queries.docid.tolist()[2] == b"x" * 100


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("1 qid:3 1:0.5 2:1\n", "letor"),
        ("# a comment\n1 qid:3 1:0.5\n", "letor"),
        ("q 0 d 1\n", "qrels"),
        ("q d 1\n", "triples"),
        ("q Q0 d 1 0.5\n", "run"),
        ("q Q0 d e 1 0.5 t\n", "run"),
        ("query-id\tcorpus-id\tscore\nq\td\t1\n", "table"),
        ("\nq Q0 d 1 0.5 t\n", "run"),
        ("0.5\n", "scores"),
    ],
)
def test_the_form_of_a_file(written, text, form):
    assert form_of(written(text)) == form


def test_a_file_of_no_form_is_refused(written):
    with pytest.raises(DataFormatError, match="found 2 words, expected qrels"):
        form_of(written("a b\n"))
    with pytest.raises(DataFormatError, match="is empty"):
        form_of(written(""))


def test_numbers_are_rounded_as_python_rounds(tmp_path):
    rng = np.random.default_rng(4)
    words = [
        "0",
        "-0",
        "+1.",
        ".5",
        "1e5",
        "9007199254740993",
        "123456789.123456789",
        "0." + 24 * "0" + "1",
        "-1e-400",
    ]
    for n_digits in rng.integers(1, 19, 2000).tolist():
        digits = "".join(rng.choice(list("0123456789"), n_digits))
        point = rng.integers(0, n_digits + 1)
        words.append(rng.choice(["", "-", "+"]) + digits[:point] + "." + digits[point:])
    path = tmp_path / "run"
    path.write_text("".join(f"1 Q0 d{row} 1 {word} t\n" for row, word in enumerate(words)))
    scores = read_run(path).scores
    assert scores.tolist() == [float(word) for word in words]
    assert np.signbit(scores).tolist() == [word[0] == "-" for word in words]


@pytest.mark.parametrize("word", [".", "-", "1.2.3", "--1", "1_0", "nan", "1e999", "1,5"])
def test_what_is_no_finite_number_is_refused_at_its_place(tmp_path, word):
    path = tmp_path / "run"
    path.write_text(f"1 Q0 a 1 2.5 t\n\n1  Q0\tb 2 {word} t\n")
    with pytest.raises(DataFormatError, match=rf":3:11: found '{re.escape(word)}', expected a score"):
        read_run(path)
