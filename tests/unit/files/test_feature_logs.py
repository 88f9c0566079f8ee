"""Feature logs of search engines: what they say reaches the groups, or is refused or counted."""

import gzip
import json
import warnings

import numpy as np
import pytest

from directrank import convert_data
from directrank.apps.cli import main
from directrank.errors import DataError
from directrank.files import ReadOptions, open_store, read_file

QRELS = "q1 0 d1 2\nq1 0 d2 0\nq2 0 d1 1\nq2 0 d3 -1\nq3 0 d1 1\n"


def hit(name, *features, log="main"):
    """A hit as the plugins write it; a feature without a value did not match."""
    entries = [
        {"name": key, "value": value} if value is not None else {"name": key} for key, value in features
    ]
    return {"_index": "films", "_id": name, "_score": 1.0, "fields": {"_ltrlog": [{log: entries}]}}


@pytest.fixture
def read(tmp_path):
    qrels = tmp_path / "qrels"
    qrels.write_text(QRELS)

    def read(content, **how):
        path = tmp_path / "log.jsonl"
        lines = content if isinstance(content, str) else "".join(json.dumps(each) + "\n" for each in content)
        path.write_text(lines)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            groups = read_file(path, ReadOptions(**{"qrels": qrels, **how}))
        return groups, "\n".join(str(each.message) for each in caught)

    return read


TITLE, NONE, BOTH = ("title", 9.5), ("age", None), ("age", 3.0)
RESPONSE = {
    "qid": "q1",
    "hits": {"total": {"value": 2}, "hits": [hit("d1", TITLE, NONE), hit("d2", TITLE, BOTH)]},
}


def test_a_response_of_elasticsearch(read):
    groups, report = read([RESPONSE])
    np.testing.assert_array_equal(groups.X, [[9.5, np.nan], [9.5, 3.0]])
    assert groups.feature_names == ("title", "age")
    assert groups.relevance.tolist() == [2, 0]
    assert groups.docid.tolist() == ["d1", "d2"]
    assert set(groups.qid.tolist()) == {"q1"}
    assert "1 values are missing" in report
    assert "2 queries of" in report
    assert read([RESPONSE], missing=0.0)[0].X.tolist() == [[9.5, 0.0], [9.5, 3.0]]
    assert read([RESPONSE], missing="query_min")[0].X.tolist() == [[9.5, 3.0], [9.5, 3.0]]


def test_hits_of_their_own_and_responses_on_several_lines(read):
    hits = [{**each, "query_id": "q1"} for each in RESPONSE["hits"]["hits"]]
    expected = read([RESPONSE])[0]
    for content in (hits, [hits], json.dumps(RESPONSE, indent=2), [{**each, "qid": "q1"} for each in hits]):
        np.testing.assert_array_equal(read(content)[0].X, expected.X)


def test_scores_of_queries_with_names_are_features(read):
    """As `include_named_queries_score=true` has them; a query that did not match is not there."""
    hits = [
        {"_id": "d1", "matched_queries": {"title": 9.5}},
        {"_id": "d2", "matched_queries": {"age": 3.0, "title": 0.0}},
        {"_id": "d3"},
    ]
    response = {"qid": "q1", "hits": {"hits": hits}}
    groups, report = read([response])
    np.testing.assert_array_equal(groups.X, [[9.5, np.nan], [0.0, 3.0]])
    assert groups.feature_names == ("title", "age")
    assert "left out 1 documents" in report
    np.testing.assert_array_equal(read([response], log="matched_queries")[0].X, groups.X)
    with pytest.raises(DataError, match=r"matched_queries \(ask for scores\)"):
        read([{"qid": "q1", "_id": "d1", "matched_queries": ["title"]}])


def test_a_response_of_solr(read):
    documents = [
        {"id": "d1", "[features]": "title=9.5,age=1.0E-5"}, {"id": "d2", "[features]": ""},
        {"id": "d8", "[features]": "title=NaN"},
    ]  # fmt: skip
    response = {"responseHeader": {"params": {"q": "q1"}}, "response": {"numFound": 3, "docs": documents}}
    groups, report = read(json.dumps(response, indent=1), qid="responseHeader.params.q")
    np.testing.assert_array_equal(groups.X, np.float32([[9.5, 1e-5], [0.0, 0.0], [np.nan, 0.0]]))
    assert "1 documents have no judgment" in report
    assert "'age', in 1 of 3" in report
    renamed = [{"id": each["id"], "qid": "q1", "fv": each["[features]"]} for each in documents]
    np.testing.assert_array_equal(read(renamed, log="fv")[0].X, groups.X)


def test_places_of_names(read):
    inside = hit("d1", TITLE) | {"_source": {"sku": "d2"}}
    inside["fields"]["query"] = ["q2"]
    groups, _ = read([hit("d1", TITLE) | {"qid": "q1"}, inside | {"qid": "q1"}])
    assert groups.n_docs == 1
    groups, _ = read([inside | {"qid": "q1"}], docid="_source.sku")
    assert groups.docid.tolist() == ["d2"]
    assert set(read([inside], qid="fields.query")[0].qid.tolist()) == {"q2"}


def test_what_is_left_out_is_counted(read):
    lines = [
        RESPONSE, RESPONSE | {"qid": "q9"},
        {"qid": "q2", "hits": {"hits": [hit("d7", TITLE, BOTH), {"_id": "d3"}, hit("d7", TITLE, BOTH)]}},
    ]  # fmt: skip
    lines[0]["hits"]["hits"][0]["fields"]["_ltrlog"][0]["main"].append(
        {"name": "extra_logging", "value": {"a": 1}}
    )
    groups, report = read(lines)
    # Documents d1 and d2 of q1, and of q2 d7 without a judgment; d3 has a grade below 0 and no log.
    assert groups.n_docs == 3
    assert read([hit("d3", TITLE) | {"qid": "q2"}])[0].relevance.tolist() == [0]
    for line in (
        "1 grades below 0", "left out 1 documents without a log", "1 documents are there again",
        "1 queries are left out", "1 documents have no judgment", "1 queries of", "2 judged documents of",
    ):  # fmt: skip
        assert line in report, report


@pytest.mark.parametrize(
    ("lines", "how", "problem"),
    [
        ([RESPONSE | {"qid": 1.5}], {}, r"jsonl:1:1: the query is not text or a whole number \(1.5\)"),
        ([hit("d1", TITLE)], {}, r"the query has no names; expected one at qid.* by --qid"),
        (["x"], {}, r"1:1: found 'x', expected a hit"),
        ([RESPONSE, "["], {}, r"2:1: is not JSON .*Expecting value"),
        ([hit("d1", TITLE, TITLE) | {"qid": "q1"}], {}, "'d1' of query 'q1': feature 'title' is there twice"),
        ([hit("d1", ("title", 1e39)) | {"qid": "q1"}], {}, r"feature 'title' is '1e\+39', expected a number"),
        (
            [hit("d1", TITLE) | {"qid": "q1"}, hit("d2", BOTH) | {"qid": "q1"}],
            {},
            "2:1.*has feature 'age', unlike line 1",
        ),
        ([RESPONSE, hit("d1", TITLE, BOTH) | {"qid": "q1"}], {}, "2:1.*is in line 1 with other features"),
        ([RESPONSE], {"missing": "error"}, "1:1: document 'd1' of query 'q1': feature 'age' has no value"),
        ([RESPONSE | {"qid": "q7"}], {}, "none of its queries is in .* called 'q7' and 'q1'.* by --qid"),
        ([RESPONSE], {"features": ["titel"]}, "no column 'titel'; did you mean 'title'"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(read, lines, how, problem):
    content = "".join(
        each if isinstance(each, str) and each == "[" else json.dumps(each) + "\n" for each in lines
    )
    with pytest.raises(DataError, match=problem) as refused:
        read(content, **how)
    assert "\n" not in str(refused.value)


def test_one_log_of_several_is_chosen(read):
    both = hit("d1", TITLE, log="a") | {"qid": "q1"}
    both["fields"]["_ltrlog"][0]["b"] = [{"name": "age", "value": 1.0}]
    assert read([both], log="b")[0].feature_names == ("age",)
    old = both | {"fields": {"_ltrlog": [{"a": {"title": 2.5, "age": 1}}]}}
    assert read([old])[0].X.tolist() == [[2.5, 1.0]]


@pytest.mark.filterwarnings("default")
def test_convert(tmp_path, capsys):
    (tmp_path / "qrels").write_text(QRELS)
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(RESPONSE).encode()))
    command = ["convert", path, "--qrels", tmp_path / "qrels", "-o", tmp_path / "s", "--missing", "0"]
    assert main(list(map(str, command))) == 0
    assert "log.jsonl.gz: 2 queries of" in capsys.readouterr().err
    groups = open_store(tmp_path / "s")
    assert groups.X.tolist() == [[9.5, 0.0], [9.5, 3.0]]
    with pytest.warns(UserWarning, match="2 queries of"):
        again = convert_data(path, tmp_path / "t", qrels=tmp_path / "qrels", missing=0, drop=["age"])
    assert again.X.tolist() == [[9.5], [9.5]]


# The plain parser: the rules of the engines, without anything of the package.
