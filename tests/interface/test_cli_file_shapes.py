"""The shapes of files that people have: each is read as the same TREC files are, or refused in one line."""

import bz2
import codecs
import gzip
import lzma

import numpy as np
import pytest

import directrank
from directrank.apps.cli import main

# By hand: q1 ranks the grades 1, 0, 2, and q2 0, 1. AP is (1 + 2/3) / 2 = 5/6 and 1/2; nDCG of q1 is
# (1 + 3/2) / (3 + 1/log2 3), of q2 1/log2 3.
DISCOUNT = 1 / np.log2(3)
VALUES = {"AP": (5 / 6 + 1 / 2) / 2, "nDCG@10": (2.5 / (3 + DISCOUNT) + DISCOUNT) / 2}
QRELS = "q1 0 d1 1\nq1 0 d2 0\nq1 0 d3 2\nq2 0 d2 1\nq2 0 d4 0\n"
RUN = "q1 Q0 d1 1 3.5 t\nq1 Q0 d2 2 2.5 t\nq1 Q0 d3 3 1.5 t\nq2 Q0 d4 1 2 t\nq2 Q0 d2 2 1 t\n"
JUDGED = [line.split() for line in QRELS.splitlines()]
RANKED = [line.split() for line in RUN.splitlines()]


def lines(rows, *places, separator="\t", header=""):
    """Return columns of rows as text; a place that is no number is a text of its own."""
    cells = ([row[each] if isinstance(each, int) else each for each in places] for row in rows)
    return header + "".join(separator.join(row) + "\n" for row in cells)


def zstandard(text):
    import pyarrow

    return pyarrow.compress(text, codec="zstd", asbytes=True)


def utf16(text):
    return codecs.BOM_UTF16_LE + text.decode().encode("utf-16-le")


#: Whatever is done to a text, it is read as before.
ENCODED = {
    "gz": gzip.compress, "bz2": bz2.compress, "zst": zstandard, "utf16": utf16,
    "utf16be": lambda text: codecs.BOM_UTF16_BE + text.decode().encode("utf-16-be"),
    "mark": lambda text: codecs.BOM_UTF8 + text, "crlf": lambda text: text.replace(b"\n", b"\r\n"),
    "zipped mark": lambda text: gzip.compress(codecs.BOM_UTF8 + text),
}  # fmt: skip
JUDGMENTS = {
    "beir.tsv": lines(JUDGED, 0, 2, 3, header="query-id\tcorpus-id\tscore\n"),
    "mteb.tsv": lines(JUDGED, 0, 2, 3, header="query-id\tcorpus-id\trelevance\n"),
    "beir.txt": lines(JUDGED, 0, 2, 3, header="query-id\tcorpus-id\tscore\n"),
    "headless.tsv": lines(JUDGED, 0, 2, 3),
    "headless.csv": lines(JUDGED, 0, 2, 3, separator=","),
    "short.qrels": lines(JUDGED, 0, 2, 3, separator=" "),
    "msmarco.tsv": lines(JUDGED, 0, 1, 2, 3),
    "quoted.csv": lines(JUDGED, 0, 2, 3, separator='","')
    .replace("q1", '"q1')
    .replace("q2", '"q2')
    .replace("\n", '"\n'),
    "index.csv": lines(JUDGED, "7", 0, 2, 3, separator=",", header=",query-id,corpus-id,score\n"),
    "quepid.csv": lines(JUDGED, 0, 2, 3, separator=",", header="query,docid,rating\n"),
    "table.csv": lines(JUDGED, 0, 2, 3, separator=",", header="query_id,doc_id,relevance\n"),
    "iterations.csv": lines(JUDGED, 0, 1, 2, 3, separator=",", header="query_id,iteration,doc_id,score\n"),
    "judgments.txt": "# qid:q1: rambo\n#\n" + "".join(f"{g} qid:{q} # {d} rambo\n" for q, _, d, g in JUDGED),
}
RUNS = {
    "msmarco.tsv": lines(RANKED, 0, 2, 3),
    "msmarco.run": lines(RANKED, 0, 2, 3),
    "scored.tsv": lines(RANKED, 0, 2, 3, 4),
    "triples.txt": lines([[*row[:4], f"{float(row[4]):.1f}"] for row in RANKED], 0, 2, 4, separator=" "),
    "no-tag.run": lines(RANKED, 0, 1, 2, 3, 4, separator=" "),
    "no-rank.run": lines(RANKED, 0, 1, 2, 4, 5, separator=" "),
    "no-q0.run": lines(RANKED, 0, 2, 3, 4, 5, separator=" "),
    "seven.run": lines(RANKED, 0, 1, 2, "rambo", 3, 4, 5, separator=" "),
    "tag-of-words.run": lines(RANKED, 0, 1, 2, 3, 4, "my", "run", separator=" "),
    "indri.run": "".join(f"{q} Q0 docid={d} {r} {s} indri\n" for q, _, d, r, s, _ in RANKED),
    "letor.run": "".join(f"{q} Q0 docid = {d} inc = 1 {r} {s} indri\n" for q, _, d, r, s, _ in RANKED),
    "ranks.csv": lines(RANKED, 0, 2, 3, separator=",", header="qid,docid,rank\n"),
    "columns.csv": lines(RANKED, 0, 2, 3, 4, separator=",", header="q_id,corpus-id,rank,score\n"),
    "columns.run": lines(RANKED, 0, 2, 4, header="query_id\tdoc_id\tscore\n"),
    "headless.csv": lines(RANKED, 0, 2, 3, separator=","),
    "words-as-ranks.csv": lines(
        [[*row, "high"] for row in RANKED], 0, 2, 6, 4, separator=",", header="qid,docid,rank,score\n"
    ),
    "trec.tsv": lines(RANKED, 0, 1, 2, 3, 4, 5),
    "zipped.xz": lines(RANKED, 0, 2, 4, header="query_id\tdoc_id\tscore\n"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text(RUN)
    return tmp_path


@pytest.fixture
def command(capsys):
    def run(*arguments):
        code = main([str(each) for each in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def means(out):
    """Return the means that `evaluate` prints."""
    rows = [line.split() for line in out.splitlines()]
    return {row[0]: float(row[1]) for row in rows if len(row) == 2}


def evaluated(command, judgments, run, *options):
    code, out, err = command("evaluate", judgments, run, "--measures", "AP,nDCG@10", *options)
    assert code == 0, err
    return means(out), err


def as_printed(values):
    return {name: pytest.approx(value, abs=5e-5) for name, value in values.items()}


@pytest.mark.parametrize("name", JUDGMENTS)
def test_judgments_of_every_shape(command, folder, name):
    (folder / name).write_text(JUDGMENTS[name])
    found, _ = evaluated(command, name, "run")
    assert found == as_printed(VALUES)
    frame = directrank.evaluate_runs(folder / name, {"r": folder / "run"}, measures=["AP"])
    assert frame.mean("r", "AP", "standard") == pytest.approx(VALUES["AP"])


@pytest.mark.parametrize("name", RUNS)
def test_runs_of_every_shape(command, folder, name):
    text = RUNS[name].encode()
    (folder / name).write_bytes(lzma.compress(text) if name.endswith("xz") else text)
    found, err = evaluated(command, "qrels", name)
    assert found == as_printed(VALUES)
    assert "contradict" not in err


@pytest.mark.share(4)
@pytest.mark.parametrize("how", ENCODED)
@pytest.mark.parametrize(("name", "text", "of"), [
    ("j.qrels", QRELS, "judgments"), ("s.run", RUN, "run"), ("beir.tsv", JUDGMENTS["beir.tsv"], "judgments"),
    ("headless.tsv", JUDGMENTS["headless.tsv"], "judgments"), ("ms.tsv", RUNS["msmarco.tsv"], "run"),
])  # fmt: skip
def test_encodings_and_compression(command, folder, how, name, text, of):
    name += f".{how.replace('zipped mark', 'gz')}" if how in ("gz", "bz2", "zst", "zipped mark") else ""
    (folder / name).write_bytes(ENCODED[how](text.encode()))
    found, _ = evaluated(command, *((name, "run") if of == "judgments" else ("qrels", name)))
    assert found == as_printed(VALUES)


NUMBERED = [("1", "4", "0"), ("1", "3", "1"), ("1", "2", "0"), ("1", "1", "0")]


def test_judgments_agree_by_name_in_any_order(command, folder):
    header = "query-id\tcorpus-id\tscore\n"
    (folder / "a.tsv").write_text(lines(NUMBERED, 0, 1, 2, header=header))
    (folder / "b.tsv").write_text(lines(NUMBERED[::-1], 0, 1, 2, header=header))
    code, out, _ = command("agreement", "a.tsv", "b.tsv")
    assert code == 0
    assert "weighted kappa        1.0000" in out
    (folder / "c.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:0.2\n")
    code, _, err = command("agreement", "c.txt", "c.txt")
    assert (code, "c.txt: documents have no names" in err) == (3, True)


def test_the_own_document_of_a_query_is_left_out_on_request(command, folder):
    (folder / "j").write_text("q1 0 q1 0\nq1 0 d2 1\nq2 0 q2 1\nq2 0 d2 1\nq2 0 d3 0\n")
    (folder / "s").write_text(
        "q1 Q0 q1 1 9 t\nq1 Q0 d2 2 8 t\nq2 Q0 q2 1 9 t\nq2 Q0 d3 2 8 t\nq2 Q0 d2 3 7 t\n"
    )
    # Without: 1/2, and (1 + 2/3) / 2. With: 1, and 1/2.
    assert evaluated(command, "j", "s")[0]["AP"] == pytest.approx((1 / 2 + 5 / 6) / 2, abs=5e-5)
    found, err = evaluated(command, "j", "s", "--without-self")
    assert found["AP"] == pytest.approx(3 / 4, abs=5e-5)
    assert "left out 2 documents that are called like their query" in err
    result = directrank.evaluate_runs(
        folder / "j", {"a": folder / "s", "b": {"q1": {"q1": 2.0, "d2": 1.0}}}, measures=["AP"],
        without_self=True,
    )  # fmt: skip
    assert [result.mean(name, "AP", "standard") for name in "ab"] == [0.75, 0.5]
    (folder / "d.txt").write_text("0 qid:1 1:0 # 1\n1 qid:1 1:0 # x\n0 qid:1 1:0 # y\n")
    (folder / "scores").write_text("3\n2\n1\n")
    assert evaluated(command, "d.txt", "scores", "--without-self")[0]["AP"] == 1.0
    (folder / "s2").write_text((folder / "s").read_text())
    code, _, _ = command(
        "fuse", "s", "s2", "--qrels", "j", "--kfold", "0", "--without-self", "--run-out", "f.run"
    )
    assert code == 0
    assert {line.split()[2] for line in (folder / "f.run").read_text().splitlines()} == {"d2", "d3"}


def test_objects_of_ir_measures_are_read_by_their_names(folder):
    named = pytest.importorskip("ir_measures")
    objects = [named.AP(rel=2), named.P @ 5, named.nDCG(dcg="exp-log2") @ 10]
    result = directrank.evaluate_runs(folder / "qrels", {"r": folder / "run"}, measures=objects)
    assert result.measures == ["AP(rel=2)", "P@5", "nDCG@10"]
    with pytest.warns(UserWarning, match="nDCG@10 has the gain 2\\^y - 1 here, and y in ir_measures"):
        assert directrank.parse_measure(named.nDCG @ 10).name == "nDCG@10"


def test_a_column_of_runs_that_judgments_lack_is_refused_with_the_option_of_runs(capsys, folder):
    (folder / "judged.csv").write_text("query,docid,rating\nstars,1,0\nstars,2,3\n")
    (folder / "shown.csv").write_text("Search,Doc,Doc Position\nstars,1,1\nstars,2,2\n")
    words = ["evaluate", "judged.csv", "shown.csv", "--measures", "AP"]
    assert main([*words, "--qid", "Search", "--docid", "Doc"]) == 3
    assert capsys.readouterr().err.startswith(
        "directrank: judged.csv: no column 'Search' of judgments (--run-columns names those of runs);"
    )
    assert main([*words, "--run-columns", "qid=Search,docid=Doc"]) == 0
    assert "AP  0.5000" in capsys.readouterr().out
