"""Judgments and runs in JSON: every format against its rows by hand, and what is refused."""

import json

import pytest

import directrank
from directrank.apps.evaluation import Judged, run_from

#: Two queries; q1 ranks its relevant document second and q2 its two first, so that AP is (1/2 + 1)/2.
QRELS = {"q1": {"d1": 0, "d2": 1}, "q2": {"d2": 1, "d3": 1}}
RUN = {"q1": {"d1": 0.9, "d2": 0.8}, "q2": {"d2": 0.5, "d3": 0.4, "d1": 0.3}}


def lines(records):
    return "\n".join(map(json.dumps, records)) + "\n"


def candidates():
    scored = {
        q: [{"docid": d, "score": score, "doc": {}} for d, score in of.items()] for q, of in RUN.items()
    }
    return [
        {"query": {"text": "t", "qid": qid}, "candidates": documents} for qid, documents in scored.items()
    ]


def response(of):
    return {
        "took": 1,
        "hits": {"total": 9, "hits": [{"_id": docid, "_score": score} for docid, score in of.items()]},
    }


def records(data, value):
    return [{"query-id": q, "corpus-id": d, value: v} for q, of in data.items() for d, v in of.items()]


RUNS = {
    "ranx": json.dumps(RUN),
    "with line breaks": json.dumps(RUN, indent=4),
    "an object on each line": lines({qid: of} for qid, of in RUN.items()),
    "MTEB": json.dumps({"mteb_model_meta": {"model_name": "m"}, "default": {"test": RUN}}),
    "rank_llm": json.dumps(candidates()),
    "TREC RAG": lines(candidates()),
    "rank_llm, before": json.dumps(
        [{"query": "t", "hits": [{"qid": q, "docid": d, "score": s} for d, s in of.items()]}
         for q, of in RUN.items()]
    ),
    "candidates in order": lines(
        {"query": {"qid": q}, "candidates": [{"docid": d} for d in of]} for q, of in RUN.items()
    ),
    "_rank_eval": json.dumps({
        "metric_score": 1.0,
        "details": {
            q: {"hits": [{"hit": hit, "rating": None} for hit in response(of)["hits"]["hits"]]}
            for q, of in RUN.items()
        },
    }),
    "hits by query": json.dumps({q: response(of) for q, of in RUN.items()}),
    "hits on each line": lines({"qid": q, **response(of)} for q, of in RUN.items()),
    "a list of responses": json.dumps([{"query_id": q, **response(of)} for q, of in RUN.items()]),
    "documents in order": json.dumps({q: [*of] for q, of in RUN.items()}),
    "records": lines(records(RUN, "score")),
    "a list of records": json.dumps(records(RUN, "logit")),
}  # fmt: skip


def mean_ap(found):
    (values,) = (one.per_query["standard"]["AP"] for one in found.finished)
    return sum(values) / len(values)


def by_query(judged):
    table = {}
    for (qid, docid), grade in judged.judgments(words=False).by_name().items():
        table.setdefault(qid, {})[docid] = grade
    return table


@pytest.mark.parametrize("text", RUNS.values(), ids=RUNS.keys())
def test_every_format_of_runs_has_the_same_ranking(text, tmp_path):
    (tmp_path / "run.json").write_text(text)
    run = run_from("run", tmp_path / "run.json")
    rows = [(run.rows.text(row, 0), run.rows.text(row, 2)) for row in range(len(run.scores))]
    assert rows == [(q, d) for q, of in RUN.items() for d in of]
    found = directrank.evaluate_runs(QRELS, [tmp_path / "run.json"], measures=["AP"])
    assert mean_ap(found) == (1 / 2 + 1) / 2


def test_recbole_writes_types_after_the_names_of_columns(tmp_path):
    (tmp_path / "t.inter").write_text("user_id:token\titem_id:token\trating:float\n1\ta\t5\n1\tb\t0\n")
    how = directrank.ReadOptions(qid="user_id", docid="item_id", label="rating")
    found = directrank.evaluate_runs(
        tmp_path / "t.inter", {"r": {"1": {"b": 2, "a": 1}}}, measures=["AP"], how=how
    )
    assert mean_ap(found) == 0.5


def test_the_first_sheet_of_a_workbook_is_a_table(tmp_path):
    book = pytest.importorskip("openpyxl").Workbook()
    for row in (["query", "docid", "rating"], ["q1", "a", 1], ["q1", "b", 0], ["q2", "c", 2]):
        book.active.append(row)
    book.create_sheet().append(["another", "sheet"])
    book.save(tmp_path / "j.xlsx")
    assert by_query(Judged(tmp_path / "j.xlsx")) == {"q1": {"a": 1, "b": 0}, "q2": {"c": 2}}


def test_judges_are_columns_of_one_table(tmp_path):
    rows = "q1,a,2,2\nq1,b,0,1\nq1,c,1,1\nq2,a,0,0\nq2,d,1,1\nq2,e,2,\n"
    (tmp_path / "j.csv").write_text("query,docid,ann,bob\n" + rows)
    people, model = {}, {}
    for line in rows.split():
        qid, docid, ann, bob = line.split(",")
        people.setdefault(qid, {})[docid] = int(ann)
        if bob:
            model.setdefault(qid, {})[docid] = int(bob)
    columns = directrank.agreement(tmp_path / "j.csv", judges=["ann", "bob"])
    files = directrank.agreement(people, model)
    assert (columns.kappa, columns.alpha, columns.only_first) == (files.kappa, files.alpha, 1)
    with pytest.raises(ValueError, match="two judges"):
        directrank.agreement(tmp_path / "j.csv")
