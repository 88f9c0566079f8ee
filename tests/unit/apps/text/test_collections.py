"""Collections: each format is recognised and read, and what is wrong with it is counted and named."""

import gzip
import time

import pandas as pd
import polars as pl
import pytest

from directrank.apps.text import CollectionOptions
from directrank.apps.text.collections.reading import (
    read_documents,
    read_judgements,
    read_queries,
)
from directrank.apps.text.collections.records import Document, Faults, Judgement, Query
from directrank.errors import DataError

SMART = (
    b".I 1\r\n.T\r\nheat of\r\na wing\r\n.A\r\nnobody\r\n.W\r\nheat of a\r\nwing\r\nmore\r\n"
    b".I 2\n.W \nx\n.X\n1\t2\t3\n"
)
TREC = b"""<DOC>
<DOCNO> A-1 </DOCNO><DD>870324</DD>
<HL> Rates &amp; bonds </HL>
<TEXT>
One <b>two</b>
</TEXT>
</DOC>
<doc><docno>A-2</docno>
no title  but body
</doc>
<DOC>lost</DOC>
"""
JSON = b'{"_id": "1", "title": "t", "text": "a\\nb"}\n\nnot json\n{"_id": 2, "title": "t", "text": null}\n'
CSV = 'docid;title;text\n1;t;"a;\nb"\n2;;c\n'
SAME = [Document("1", "t", "a;\nb"), Document("2", "", "c")]


def documents(source, **how):
    faults = Faults()
    read = read_documents(source, CollectionOptions(**how), faults)
    return list(read.records), faults.lines(), read.lines


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_smart(tmp_path):
    path = write(tmp_path, "cran.all", SMART)
    found, faults, lines = documents(path)
    assert found == [Document("1", "heat of a wing", "more"), Document("2", "", "x")]
    assert not faults
    assert lines == [f"documents: SMART, {path}"]


def test_trec(tmp_path):
    found, faults, _ = documents(write(tmp_path, "wsj", TREC), title_ends="  ")
    assert found == [Document("A-1", "Rates & bonds", "One two"), Document("A-2", "no title", "but body")]
    assert faults == ["1 documents without <DOCNO> are left out: document 3 of wsj"]


def test_trec_is_read_in_linear_time(tmp_path):
    tags = "<TITLE><H3><TI><DOCNO><DOC ID><TEXT></H3>" * 20000
    content = f"<DOC>\n<DOCNO>1</DOCNO>{tags}\nword\n</DOC>\n<top><num>{' ' * 100000}<title>a</top>\n"
    path = write(tmp_path, "x", content)
    start = time.process_time()
    found, _, _ = documents(path)
    assert (found[0].docid, found[0].body) == ("1", "word")
    with pytest.raises(DataError, match="no query"):
        read_queries(path, CollectionOptions(), Faults())
    assert time.process_time() - start < 10


def test_tables_and_data_frames(tmp_path):
    assert documents(write(tmp_path, "a.csv", CSV))[0] == SAME
    assert documents(write(tmp_path, "a.csv.gz", gzip.compress(CSV.encode())))[0] == SAME
    frame = pd.DataFrame({"doc_id": ["1", "2"], "Title": ["t", None], "text": ["a;\nb", "c"]})
    frame.to_parquet(tmp_path / "a.parquet")
    assert documents(tmp_path / "a.parquet")[0] == SAME
    assert documents(frame)[0] == SAME
    assert documents(pl.from_pandas(frame))[0] == SAME


def test_folders(tmp_path):
    write(tmp_path, "wsj_1", TREC)
    write(tmp_path, "wsj_2.gz", gzip.compress(TREC))
    write(tmp_path, "README", b"hello")
    found, _, lines = documents(tmp_path)
    assert len(found) == 4
    assert lines[1:] == ["not documents, by their names: README"]


def test_beir(tmp_path):
    write(tmp_path, "corpus.jsonl", JSON)
    write(tmp_path, "queries.jsonl", b'{"_id": "q", "text": "two words"}\n')
    (tmp_path / "qrels").mkdir()
    write(tmp_path, "qrels/test.tsv", b"query-id\tcorpus-id\tscore\nq\t1\t2\nq\t2\t-1\n")
    faults = Faults()
    queries, _ = read_queries(tmp_path, CollectionOptions(), faults)
    judged, _ = read_judgements(tmp_path, queries, CollectionOptions(), faults)
    assert len(documents(tmp_path)[0]) == 2
    assert queries == [Query("q", "two words")]
    assert judged == [Judgement("q", "1", 2.0), Judgement("q", "2", 0.0)]
    assert faults.lines() == ["1 negative grades count as 0 (not relevant): q 2"]


TOPICS = """<top>
<num> Number: 101 <dom> Domain: War
<title> Topic: Star wars

<desc> Description:
Design of the "Star Wars" system.
</top>
<top><num>102</num><title>
MICROWAVES
</title></top>
"""


def test_topics(tmp_path):
    path, faults = write(tmp_path, "topics", TOPICS), Faults()
    assert read_queries(path, CollectionOptions(), faults)[0] == [
        Query("101", "Star wars"),
        Query("102", "MICROWAVES"),
    ]
    both = CollectionOptions(topic_fields=("title", "desc"))
    assert read_queries(path, both, faults)[0][0].text == 'Star wars Design of the "Star Wars" system.'


def judgements(tmp_path, content, names=("1", "2"), **how):
    faults, queries = Faults(), [Query(name, "x") for name in names]
    found, lines = read_judgements(write(tmp_path, "rel", content), queries, CollectionOptions(**how), faults)
    return [tuple(each) for each in found], faults.lines(), lines[1:]


def test_forms_of_judgements(tmp_path):
    assert judgements(tmp_path, "1 0 a 2\n2 0 b 0\n")[0] == [("1", "a", 2.0), ("2", "b", 0.0)]
    assert judgements(tmp_path, "1 a 2\r\n2 b 1 \r\n")[0] == [("1", "a", 2.0), ("2", "b", 1.0)]
    assert judgements(tmp_path, "  1  a\t0\t0.000\n2 b\t0\t0.000\n")[0] == [("1", "a", 1.0), ("2", "b", 1.0)]

    assert judgements(tmp_path, "01 1410 0 0\n02 0046 0 0\n")[0] == [("1", "1410", 1.0), ("2", "46", 1.0)]
    assert judgements(tmp_path, "1 0 0 0\n1 0 7 1\n2 0 7 0\n")[0][1] == ("1", "7", 1.0)


def test_numbers_with_leading_zeros(tmp_path):
    content = b".I 001\n.W\na\n.I d02\n.W\nb\n"
    path, faults = write(tmp_path, "x", content), Faults()
    assert [each.docid for each in documents(path)[0]] == ["1", "d02"]
    assert [each.qid for each in read_queries(path, CollectionOptions(), faults)[0]] == ["1", "d02"]
    assert judgements(tmp_path, "01 0 a 1\n2 0 a 1\n")[0] == [("1", "a", 1.0), ("2", "a", 1.0)]
    found, faults, _ = judgements(tmp_path, "5 0 a 1\n2 0 a 1\n", names=("05", "2"))
    assert found == [("2", "a", 1.0)]
    assert "1 judged queries do not exist: 5 (05 does)" in faults
