"""The shapes of files that people have: each is read as the same TREC files are, or refused in one line."""

import bz2
import codecs
import gzip
import lzma

import numpy as np
import pytest

import directrank
from directrank.apps.cli import main
from directrank.errors import DataError

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


@pytest.mark.parametrize("how", ENCODED)
def test_letor_text_and_scores_in_every_encoding(command, folder, how):
    (folder / "d.txt").write_bytes(ENCODED[how](b"1 qid:1 1:0.5 # a\n0 qid:1 1:0.2 # b\n"))
    (folder / "s.txt").write_bytes(ENCODED[how](b"0.31\n0.72\n"))
    found, _ = evaluated(command, "d.txt", "s.txt")
    assert found["AP"] == 0.5


SCORES = {
    "ranklib.txt": "1\t0\t0.31\n1\t1\t0.72\n",
    "header.csv": "prediction\n0.31\n0.72\n",
    "header.txt": "score\n0.31\n0.72\n",
    "other.tsv": "model_7\n0.31\n0.72\n",
    "indri.txt": "1 Q0 docid=b 1 0.72 indri\n1 Q0 docid=a 2 0.31 indri\n",
}


@pytest.mark.parametrize("name", SCORES)
def test_scores_of_labelled_documents(command, folder, name):
    (folder / "d.txt").write_text("1 qid:1 1:0.5 # a\n0 qid:1 1:0.2 # b\n")
    (folder / name).write_text(SCORES[name])
    assert evaluated(command, "d.txt", name)[0]["AP"] == 0.5


# Documents 1 to 4 of one query are judged in descending order; document 3 is relevant and ranked third. By
# row numbers it would be second.
NUMBERED_RUN = "1 Q0 1 1 4 t\n1 Q0 2 2 3 t\n1 Q0 3 3 2 t\n1 Q0 4 4 1 t\n"
NUMBERED = [("1", "4", "0"), ("1", "3", "1"), ("1", "2", "0"), ("1", "1", "0")]


@pytest.mark.parametrize("header", ["query-id,corpus-id,score", "query-id,corpus-id,relevance"])
def test_numbers_that_are_names_are_no_row_numbers(command, folder, header):
    (folder / "t.csv").write_text(lines(NUMBERED, 0, 1, 2, separator=",", header=f"{header}\n"))
    (folder / "s.run").write_text(NUMBERED_RUN)
    for options in ((), ("--label", header.rpartition(",")[2])):
        assert evaluated(command, "t.csv", "s.run", *options)[0]["AP"] == pytest.approx(1 / 3, abs=5e-5)


def test_a_table_without_names_of_documents_is_never_numbered(command, folder):
    text = lines(NUMBERED, 0, 1, 2, separator=",", header="query-id,thing,relevance\n")
    (folder / "t.csv").write_text(text)
    for name in ("s.run", "u.run"):
        (folder / name).write_text(NUMBERED_RUN)
    for arguments in (
        ("evaluate", "t.csv", "s.run"), ("agreement", "t.csv", "t.csv"),
        ("fuse", "s.run", "u.run", "--qrels", "t.csv", "--kfold", "0"),
    ):  # fmt: skip
        code, out, err = command(*arguments)
        assert (code, out, len(err.splitlines())) == (3, "", 1)
        assert "t.csv: documents have no names" in err
        assert command(*arguments, "--docid", "thing")[0] == 0
    frame = pytest.importorskip("pandas").read_csv(folder / "t.csv")
    with pytest.raises(DataError, match=r"documents have no names.*docid="):
        directrank.evaluate_runs(frame, {"r": folder / "s.run"})
    found = directrank.evaluate_runs(frame, {"r": folder / "s.run"}, measures=["AP"], docid="thing")
    assert found.mean("r", "AP", "standard") == pytest.approx(1 / 3)
    with pytest.raises(DataError, match="documents have no names"):
        directrank.evaluate_runs(directrank.from_frame(frame), {"r": folder / "s.run"})
    scores = directrank.evaluate_runs(frame, {"r": [4.0, 3.0, 2.0, 1.0]}, measures=["AP"])
    assert scores.mean("r", "AP", "standard") == 0.5


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


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("q1 Q0 d3 1 1.5 t\nq1 Q0 d1 2 3.5 t\nq1 Q0 d2 3 2.5 t\nq2 Q0 d2 1 1 t\nq2 Q0 d4 2 2 t\n",
         "ranks contradict scores in 2 of 2 queries, such as q1; the scores decide"),
        (RUN.replace("1 2 t", "2 2 t").replace("2 1 t", "1 1 t"), "in 1 of 2 queries, such as q2"),
        (RUN.replace("3.5", "1").replace("2.5", "1").replace("1.5", "1").replace("1 2 t", "1 1 t"),
         "the scores of every query are all equal"),
        (RUN.replace("d3 3", "d3 7"), None),
        (RUN.replace("d2 2 2.5", "d2 2 3.5"), None),
    ],
)  # fmt: skip
def test_scores_that_need_a_word_get_a_line(command, folder, text, note):
    rows = [line.split() for line in text.splitlines()]
    (folder / "odd.run").write_text(text)
    (folder / "odd.csv").write_text(lines(rows, 0, 2, 3, 4, separator=",", header="qid,docid,rank,score\n"))
    for name in ("odd.run", "odd.csv"):
        _, err = evaluated(command, "qrels", name)
        assert note is None or f"note: {name}: " in err
        assert (note or "") in err
        assert note is not None or ("contradict" not in err and "equal" not in err)
        _, _, err = command("fuse", "run", name, "--run-out", "f.run")
        assert (note or "") in err


def test_the_definition_is_named_where_that_of_trec_eval_differs(command, folder):
    _, err = evaluated(command, "qrels", "run")
    line = "nDCG@10: the gain is 2^y − 1; that of trec_eval's ndcg_cut.10 is y: name ndcg_cut_10 for it"
    assert line in err
    assert "2^y" not in evaluated(command, "qrels", "run", "--convention", "trec_eval")[1]
    (folder / "binary").write_text(QRELS.replace(" 2\n", " 1\n"))
    assert "2^y" not in evaluated(command, "binary", "run")[1]
    code, out, err = command("evaluate", "qrels", "run", "--measures", "AP,ndcg_cut_10")
    # Gains 1, 0, 2 of q1: (1 + 2/2) / (2 + 1/log2 3).
    assert means(out)["nDCG(dcg='log2')@10"] == pytest.approx((2 / (2 + DISCOUNT) + DISCOUNT) / 2, abs=5e-5)
    assert (code, "2^y" in err) == (0, False)
    (folder / "second").write_text(RUN)
    code, _, err = command("evaluate", "qrels", "run", "second")
    assert (code, "nDCG@10, nDCG@1, nDCG@3, nDCG@5: the gain is 2^y" in err) == (0, True)


def test_objects_of_ir_measures_are_read_by_their_names(folder):
    named = pytest.importorskip("ir_measures")
    objects = [named.AP(rel=2), named.P @ 5, named.nDCG(dcg="exp-log2") @ 10]
    result = directrank.evaluate_runs(folder / "qrels", {"r": folder / "run"}, measures=objects)
    assert result.measures == ["AP(rel=2)", "P@5", "nDCG@10"]
    with pytest.warns(UserWarning, match="nDCG@10 has the gain 2\\^y - 1 here, and y in ir_measures"):
        assert directrank.parse_measure(named.nDCG @ 10).name == "nDCG@10"


@pytest.mark.parametrize(
    ("files", "arguments", "expected"),
    [
        (
            {"t.tsv": "1\t7\t0.5\t0.3\n0\t7\t0.2\t0.1\n"},
            ["convert", "t.tsv", "-o", "s", "--qid", "1"],
            "t.tsv: the first line holds values (1, 7, 0.5, 0.3) and no names of columns",
        ),
        ({"r.run": "q1 Q0 d1 3.5\n"}, ["evaluate", "qrels", "r.run"], "this is qrels, expected a TREC run"),
        (
            {"r.tsv": "q1\td1\t3\nq1\td2\t2\nq1\td3\t1\n"},
            ["evaluate", "qrels", "r.tsv"],
            "r.tsv:1:7: the third word may be a rank or a score",
        ),
        (
            {"t.csv": "qid,docid,label,grade\nq1,d1,1,0\n"},
            ["evaluate", "t.csv", "run"],
            "t.csv: columns 'label' and 'grade' are both called like grades; name the right one by --label",
        ),
        (
            {"j.json": '{"version": 1}\n'},
            ["evaluate", "j.json", "run"],
            'j.json:1: JSON of an unknown form; expected judgments or a run, such as {"query": {',
        ),
        (
            {"r.run": f"{RUN}q2 Q0 d9 3 1 my run\nq2 Q0 d5\n"},
            ["evaluate", "qrels", "r.run"],
            "r.run:6:1: found 7 words, expected six",
        ),
        ({"r.csv": "qid,docid,score\nq1,,2\n"}, ["evaluate", "qrels", "r.csv"], "row 1: has no value; name"),
        ({"t.txt": "1 1:.5\n0 1:.2\n"}, ["convert", "t.txt", "-o", "s"], "called like it and .query"),
        (
            {"t.txt": "1 1:.5\n0 1:.2\n", "t.txt.query": "3\n"},
            ["convert", "t.txt", "-o", "s"],
            "t.txt.query: counts 3 documents, and t.txt has 2",
        ),
        (
            {"events.ndjson": '{"action_name":"click","query_id":"q1"}\n'},
            ["convert", "events.ndjson", "--qrels", "qrels", "-o", "s"],
            "events.ndjson:1:1: is an event of User Behavior Insights, expected a log of features",
        ),
        (
            {"cut.zst": zstandard(RUN.encode() * 99)[:-20]},
            ["evaluate", "qrels", "cut.zst"],
            "a broken archive",
        ),
    ],
)
def test_what_is_refused_in_one_line(command, folder, files, arguments, expected):
    for name, content in files.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    code, out, err = command(*arguments)
    assert (code, out) == (3, "")
    assert [line for line in err.splitlines() if not line.startswith("converting")][1:] == []
    assert expected in err


def test_bytes_that_are_no_text_get_a_line(command, folder):
    (folder / "latin.run").write_bytes(RUN.replace("d1", "dé").encode("latin-1"))
    _, err = evaluated(command, "qrels", "latin.run")
    assert "latin.run: line 1 holds bytes that are not UTF-8 text" in err
    (folder / "latin.qrels").write_bytes(QRELS.replace("d1", "dé").encode("latin-1"))
    assert evaluated(command, "latin.qrels", "latin.run")[0] == as_printed(VALUES)


def test_sizes_of_queries_beside_letor_text(folder):
    (folder / "t.txt").write_text("# made by LightGBM\n1 1:.5\n0 1:.2 3:4\n\n2 2:1 # c\n")
    (folder / "t.txt.query").write_text("2\n1\n")
    groups = directrank.load_data(folder / "t.txt")
    assert groups.qid.tolist() == ["t-1", "t-1", "t-2"]
    assert groups.X.tolist() == [[0.5, 0, 0], [np.float32(0.2), 0, 4], [0, 1, 0]]
    assert groups.relevance.tolist() == [1, 0, 2]
    assert groups.docid.tolist() == ["", "", "c"]


@pytest.mark.parametrize("word", ["nan", "NaN", "NULL", "1.7976931348623157e+308", "1.7976931348623157E308",
                                  f"{np.finfo(float).max:f}"])  # fmt: skip
def test_words_for_missing_values_in_letor_text(folder, word):
    (folder / "d.txt").write_text(f"1 qid:1 1:{word} 2:3\n0 qid:1 1:2 2:1\n")
    found = [
        directrank.load_data(folder / "d.txt", missing=rule).X[0].tolist() for rule in (7.0, "query_min")
    ]
    assert found == [[7, 3], [2, 3]]
    assert np.isnan(directrank.load_data(folder / "d.txt").X[0, 0])
    with pytest.raises(DataError, match=r"d\.txt:1:11: found .*, expected a number; give missing="):
        directrank.load_data(folder / "d.txt", missing="error")


@pytest.mark.parametrize("word", ["nano", "-1.7976931348623157e+308", "1.7976931348623157e+307", "na", "?"])
def test_other_words_are_no_missing_values(folder, word):
    (folder / "d.txt").write_text(f"1 qid:1 1:{word} 2:3\n0 qid:1 1:2 2:1\n")
    with pytest.raises(DataError, match=r"d\.txt:1:11: found"):
        directrank.load_data(folder / "d.txt")


def test_what_is_no_judgment_and_no_run_is_refused_by_name(folder):
    judgments = {"q1": {"d1": 1, "d2": 0}}
    run = {"q1": {"d1": 0.2, "d2": 0.1}}
    with pytest.raises(DataError, match="judgments: found a dict_itemiterator, which can be read only once"):
        directrank.evaluate_runs(iter(judgments.items()), {"r": run})
    with pytest.raises(DataError, match="r: found a list; expected a path, a data frame"):
        directrank.evaluate_runs(judgments, {"r": [("q1", "d1", 1.0)]})


def test_ranks_without_scores_in_a_frame(folder):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"query_id": ["q1"] * 3, "doc_id": ["d3", "d2", "d1"], "Rank": [3, 2, 1]})
    result = directrank.evaluate_runs({"q1": {"d1": 1, "d3": 1}}, {"r": frame}, measures=["AP"])
    assert result.mean("r", "AP", "standard") == pytest.approx(5 / 6)
    frame["doc_id"] = ["d3", None, "d1"]
    with pytest.raises(
        DataError, match=r"column 'docid', row 2: has no value; name every query and document"
    ):
        directrank.evaluate_runs({"q1": {"d1": 1}}, {"r": frame})
    with pytest.raises(DataError, match="r: holds no document"):
        directrank.evaluate_runs({"q1": {"d1": 1}}, {"r": frame[:0]})


def test_docno_is_the_name_of_a_document_beside_docid_as_pyterrier_has_it(command, folder):
    # Numbers of the index in docid, which are names of other documents in docno.
    rows = "qid,docid,docno,rank,score\n1,11,10,0,2.0\n1,10,11,1,1.0\n"
    (folder / "res.csv").write_text(rows)
    (folder / "j").write_text("1 0 10 1\n1 0 11 0\n")
    assert evaluated(command, "j", "res.csv")[0]["AP"] == 1.0
    # The option says otherwise, of runs too.
    assert evaluated(command, "j", "res.csv", "--docid", "docid")[0]["AP"] == 0.5


def test_columns_of_runs_are_chosen_by_the_options(command, folder):
    rows = [line.split() for line in RUN.splitlines()]
    header = "topic_text,qid,docid,key,score\n"
    (folder / "named.csv").write_text(lines(rows, "t", 0, 3, 2, 4, separator=",", header=header))
    assert "--docid chooses the column" in command("evaluate", "qrels", "named.csv")[2]
    assert evaluated(command, "qrels", "named.csv", "--docid", "key")[0] == pytest.approx(VALUES, abs=5e-5)
    code, _, _ = command(
        "fuse", "run", "named.csv", "--qrels", "qrels", "--docid", "key", "--kfold", "0", "--run-out", "f.run"
    )
    assert code == 0
    assert {line.split()[2] for line in (folder / "f.run").read_text().splitlines()} == {
        "d1",
        "d2",
        "d3",
        "d4",
    }


@pytest.mark.parametrize(
    ("judgments", "runs", "message"),
    [
        ({"q1": {"d1": "1"}}, {"q1": {"d1": 1.0}}, "'d1' of query 'q1': found '1', expected a grade"),
        ({"r": {"q1": {"d1": 1.0}}}, {"q1": {"d1": 1}}, "document 'q1' of query 'r': found {'d1': 1.0}"),
        ({"q1": {"d1": 1}}, {"r": {"q1": ["d1"]}}, "query 'q1': found a list; expected a mapping of docid"),
    ],
)
def test_mappings_that_hold_no_numbers_are_refused_in_one_line(judgments, runs, message):
    pandas = pytest.importorskip("pandas")
    if callable(judgments):
        judgments = judgments(pandas.DataFrame({"qid": ["q1"], "docid": ["d1"], "label": [1]}))
    with pytest.raises(DataError) as caught:
        directrank.evaluate_runs(judgments, runs, measures=["AP"])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:Determining the column names")
def test_lazy_frames_are_refused_in_one_line():
    polars = pytest.importorskip("polars")
    ranker = directrank.Regression().fit(np.eye(4, 2), [1, 0, 1, 0], qid=[1, 1, 2, 2])
    for call in (ranker.rank, ranker.predict):
        with pytest.raises(DataError, match=r"found a LazyFrame, expected a data frame: pass its collect"):
            call(polars.LazyFrame({"a": [1.0], "b": [1.0]}))


def test_sizes_of_queries_of_text_in_tabs_and_of_parts_of_one_name(command, folder):
    """LightGBM's example has rank.train and rank.test, whose queries differ."""
    for part, text in {
        "train": "1\t1:.5\n0\t1:.1\n",
        "vali": "1 1:.6\n0 1:.3\n",
        "test": "0 1:.2\n1 1:.7\n",
    }.items():
        (folder / f"rank.{part}").write_text(text * 2)
        (folder / f"rank.{part}.query").write_text("2\n2\n")
    assert directrank.load_data(folder / "rank.train").X.tolist() == [[0.5], [np.float32(0.1)]] * 2
    assert (
        directrank.load_data(folder / "rank.train").qid.tolist()
        == ["rank.train-1"] * 2 + ["rank.train-2"] * 2
    )
    words = ["--methods", "regression", "--out", "o"]
    assert command("compare", "rank.train", "rank.vali", "rank.test", *words)[0] == 0
