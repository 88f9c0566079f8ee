"""Feature logs of search engines: what they say reaches the groups, or is refused or counted."""

import gzip
import json
import math
import random
import re
import shlex
import warnings
from pathlib import Path

import numpy as np
import pytest

from directrank import convert_data
from directrank.apps.cli import main
from directrank.errors import DataError, DataFormatError
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
    assert groups.n_docs == 3
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
        ([hit("d1", TITLE) | {"qid": "q1", "query_id": 7}], {}, r"the query has 2 names \(7, q1\)"),
        ([RESPONSE | {"hits": {"hits": [{"_id": ["a", "b"]}]}}], {}, "the document is not text"),
        (["x"], {}, r"1:1: found 'x', expected a hit"),
        ([RESPONSE, "["], {}, r"2:1: is not JSON .*Expecting value"),
        ([hit("d1", TITLE, TITLE) | {"qid": "q1"}], {}, "'d1' of query 'q1': feature 'title' is there twice"),
        ([hit("d1", ("title", "long")) | {"qid": "q1"}], {}, "feature 'title' is 'long', expected a number"),
        ([hit("d1", ("title", 1e39)) | {"qid": "q1"}], {}, r"feature 'title' is '1e\+39', expected a number"),
        ([hit("d1", ("title", True)) | {"qid": "q1"}], {}, "feature 'title' is 'True'"),
        ([{"id": "d1", "qid": "q1", "[features]": "a:1"}], {}, "found 'a:1' without a name"),
        ([{"id": "d1", "qid": "q1", "[features]": 3}], {}, "has the log '3', expected name=value"),
        (
            [hit("d1", TITLE) | {"qid": "q1"}, hit("d2", BOTH) | {"qid": "q1"}],
            {},
            "2:1.*has feature 'age', unlike line 1",
        ),
        ([RESPONSE, hit("d1", TITLE, BOTH) | {"qid": "q1"}], {}, "2:1.*is in line 1 with other features"),
        ([RESPONSE], {"missing": "error"}, "1:1: document 'd1' of query 'q1': feature 'age' has no value"),
        (
            [hit("d1", TITLE, log="a") | {"qid": "q1"}, hit("d2", log="b") | {"qid": "q1"}],
            {},
            "name one by --log",
        ),
        ([RESPONSE], {"log": "other"}, "no document has features"),
        ([RESPONSE | {"qid": "q7"}], {}, "none of its queries is in .* called 'q7' and 'q1'.* by --qid"),
        ([hit("d8", TITLE) | {"qid": "q1"}], {}, "none of its documents is in .* 'd8' and 'd1'.* by --docid"),
        ([RESPONSE], {"features": ["titel"]}, "no column 'titel'; did you mean 'title'"),
        ([RESPONSE], {"drop": ["*"]}, "no feature is left"),
        ([], {}, "no document has features"),
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


@pytest.mark.heavy
@pytest.mark.filterwarnings("default")
def test_the_steps_of_the_page(tmp_path, monkeypatch):
    page = (Path(__file__).parents[3] / "docs" / "export.md").read_text()
    steps = re.search(r"## From a log.*?```sh\n(.*?)```", page, re.S)
    assert steps
    draw = np.random.default_rng(0)
    with open(tmp_path / "log.jsonl", "w") as log, open(tmp_path / "qrels.txt", "w") as qrels:
        for query in range(12, 24):
            x = draw.normal(size=(9, 3)).round(3)
            hits = [
                hit(f"d{row}", *zip(("title", "body", "age"), each, strict=True))
                for row, each in enumerate(x)
            ]
            hits[3]["fields"]["_ltrlog"][0]["main"][1].pop("value")
            log.write(json.dumps({"qid": str(query), "hits": {"hits": hits}}) + "\n")
            qrels.writelines(f"{query} 0 d{row} {int(each[0] > 0)}\n" for row, each in enumerate(x))
    monkeypatch.chdir(tmp_path)
    for step in steps[1].splitlines():
        assert main(shlex.split(step)[1:]) == 0, step
    assert (tmp_path / "model.json").stat().st_size


# The plain parser: the rules of the engines, without anything of the package.


def plain(lines, grades):
    """Return the rows and the counts of a log, or the line that must be refused."""
    documents, names, without, again = {}, None, 0, 0
    for number, line in enumerate(lines, 1):
        try:
            response = json.loads(line)
        except ValueError:
            return number
        solr = "response" in response
        for each in response["response"]["docs"] if solr else response["hits"]["hits"]:
            queries = {at["qid"] for at in (response, each) if "qid" in at}
            if len(queries) != 1:
                return number
            key = queries.pop(), each["id" if solr else "_id"]
            row = {}
            if solr:
                if "[features]" not in each:
                    without += 1
                    continue
                words = [word.split("=") for word in each["[features]"].split(",") if word]
            elif "fields" not in each:
                without += 1
                continue
            else:
                words = [
                    (entry["name"], entry.get("value")) for entry in each["fields"]["_ltrlog"][0]["main"]
                ]
            for name, value in words:
                if name in row or (isinstance(value, str) and value == "long"):
                    return number
                row[name] = math.nan if value is None else float(value)
                if abs(row[name]) > 3.4e38:
                    return number
            if not solr:
                names = names or set(row)
                if set(row) != names:
                    return number
            if key in documents:
                if str(documents[key][0]) != str(row):
                    return number
                again += 1
            documents[key] = row, 0.0 if solr else math.nan
    judged = {query for query, _ in grades}
    rows = {key: each for key, each in documents.items() if key[0] in judged}
    if not any(key in grades for key in rows) or not any(row for row, _ in rows.values()):
        return "nothing"
    queries = {query for query, _ in documents}
    counts = {
        "left out (.*) documents without": without,
        "(.*) documents are there again": again,
        "(.*) queries are left out": len(queries - judged),
        "(.*) documents have no judgment": sum(key not in grades for key in rows),
        "(.*) queries of .* not in the log": len(judged - queries),
        "(.*) judged documents of": sum(key[0] in queries and key not in rows for key in grades),
    }
    return rows, counts


def random_log(draw):
    """Return the lines of a log; one in three has a fault somewhere."""
    solr, names = draw.random() < 0.5, ["bm25", "age", "price", "clicks"][: draw.randint(1, 4)]
    fault = draw.choice(
        ["", "", "broken", "renamed", "text", "again", "twice", "large", "no query", "two queries"]
    )
    value = lambda: draw.choice([0.0, -1.5, 1e-5, 3.0, 7])  # noqa: E731
    lines = []
    for query in draw.sample(["q1", "q2", "q3", "q8", "9"], draw.randint(1, 5)):
        documents = []
        for name in draw.choices(["d1", "d2", "d3", "d4"], k=draw.randint(0, 5)):
            row = {each: value() for each in names}
            known = [each for each in documents if each[0] == name]
            if known and (fault != "again" or draw.random() < 0.5):
                row = known[0][1]
            elif draw.random() < 0.4:
                row = {each: None if draw.random() < 0.5 else known for each, known in row.items()}
            if not known and row and draw.random() < 0.1:
                first = next(iter(row))
                changes = {"renamed": {"x": 1.0}, "text": {first: "long"}, "large": {first: 1e39}}
                row = {**row, **changes.get(fault, {})}
            documents.append((name, row))
        hits = []
        for name, row in documents:
            words = [each for each in row.items() if not solr or each[1] is not None]
            words += words[:1] if fault == "twice" and draw.random() < 0.1 else []
            if solr:
                each = {"id": name, "[features]": ",".join(f"{key}={number}" for key, number in words)}
            else:
                each = hit(name, *words)
            if draw.random() < 0.05:
                each.pop("[features]" if solr else "fields")
            if fault == "two queries" and draw.random() < 0.1:
                each["qid"] = "q1"
            hits.append(each)
        response = {"response": {"docs": hits}} if solr else {"hits": {"hits": hits}}
        if fault != "no query" or draw.random() < 0.7:
            response["qid"] = query
        line = json.dumps(response)
        # The first line is left: a broken one might begin a value on several lines.
        lines.append(line[: draw.randint(1, len(line) - 1)] if fault == "broken" and lines else line)
    return lines


def test_logs_at_random_are_read_as_a_plain_parser_reads_them(read):
    grades = {("q1", "d1"): 2, ("q1", "d2"): 0, ("q2", "d1"): 1, ("q2", "d3"): 0, ("q3", "d1"): 1}
    draw, ends = random.Random(0), {"read": 0, "refused": 0, "nothing": 0}
    for _ in range(400):
        lines = random_log(draw)
        expected = plain(lines, grades)
        content = "".join(line + "\n" for line in lines)
        if isinstance(expected, tuple):
            rows, counts = expected
            groups, report = read(content)
            names = groups.feature_names
            assert set(names) == {name for row, _ in rows.values() for name in row}
            found = zip(groups.qid.tolist(), groups.docid.tolist(), groups.relevance, groups.X, strict=True)
            for qid, docid, grade, x in found:
                row, absent = rows.pop((qid, docid))
                assert grade == grades.get((qid, docid), 0)
                np.testing.assert_array_equal(x, np.float32([row.get(name, absent) for name in names]))
            assert not rows
            for words, count in counts.items():
                known = re.search(rf"log.jsonl: {words}", report)
                assert (int(known[1]) if known else 0) == count, (words, report)
            ends["read"] += 1
            continue
        with pytest.raises(DataError) as refused:
            read(content)
        assert "\n" not in str(refused.value)
        if expected == "nothing":
            ends["nothing"] += 1
            continue
        assert isinstance(refused.value, DataFormatError), (content, expected)
        assert refused.value.line == expected
        ends["refused"] += 1
    assert min(ends.values()) > 40, ends
