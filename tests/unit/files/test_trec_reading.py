"""Qrels and TREC runs: what is read, how a run joins judgments, and what is refused."""

import numpy as np
import pytest

from directrank import QueryGroups
from directrank.errors import DataFormatError
from directrank.files.forms import form_of
from directrank.files.runs import read_run
from directrank.files.trec import judgments_of, match_run, read_qrels

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


def test_labelled_documents_are_judgments_by_docid_or_row(written):
    groups = QueryGroups(np.zeros((3, 1)), [0, 1, 1], [7, 7, 8], docid=["x", "y", "x"])
    found = match_run(judgments_of(groups), read_run(written("7 Q0 y 1 2 t\n8 Q0 x 1 4 t\n")))
    assert found.scores.tolist()[1:] == [2, 4]
    assert found.queries.qid.tolist() == [7, 8]
    rows = match_run(
        judgments_of(QueryGroups(groups.X, [0, 1, 1], [7, 7, 8])), read_run(written("8 Q0 3 1 4 t\n"))
    )
    assert rows.retrieved.tolist() == [False, False, True]


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


def test_names_of_documents_hold_blanks_where_tabs_separate(written):
    run = read_run(written("a\tQ0\tWindows 10\t1\t9.0\tt\na\tQ0\tUbuntu 22\t2\t8.0\tt\n", "run"))
    assert [run.rows.text(row, 2) for row in range(2)] == ["Windows 10", "Ubuntu 22"]
    assert run.scores.tolist() == [9, 8]
    qrels = written("a\t0\tWindows 10\t1\na\t0\tmac\t0\n", "qrels")
    assert form_of(qrels) == "qrels"
    assert read_qrels(qrels).by_name() == {("a", "Windows 10"): 1.0, ("a", "mac"): 0.0}
    found = match_run(read_qrels(qrels), run)
    assert found.queries.docid.tolist() == [b"Windows 10", b"mac", b"Ubuntu 22"]


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
