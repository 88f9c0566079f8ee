"""Weights of a fusion in the form of engines, fused by the engines themselves, beside the transcripts."""

import json
import os
import re

import numpy as np
import pytest

from directrank.apps.engines import inversions
from directrank.apps.fusion.engines import engine_form
from directrank.apps.fusion.learning import Rule
from directrank.apps.fusion.rules import K
from directrank.apps.fusion.runs import Runs
from jvm import engines
from jvm.engines import NotHereError, Server, serving
from jvm.shop import lines
from unit.apps.fusion.test_engines import RUNS, lists, opensearch, scores_of

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]
HYBRID = "org.opensearch.neuralsearch.plugin.NeuralSearch"
FIELDS = tuple(run.partition(".")[0] for run in RUNS)
WEIGHTS = [(1 / 3, 1 / 3, 1 / 3), (0.62, 0.3, 0.08), (0.75, 0.0, 0.25)]


@pytest.fixture(scope="module")
def hybrid(tmp_path_factory):
    """Run OpenSearch with its plug-in of hybrid search, on documents whose fields are the scores of runs."""
    runs = lists()
    fields = {name: {"type": "float"} for name in FIELDS} | {"query": {"type": "keyword"}}
    settings = {"index": {"number_of_shards": 1, "number_of_replicas": 0}}
    documents = {
        (query, doc): {"query": query}
        for run in runs.values() for query, scores in run.items() for doc in scores
    }  # fmt: skip
    for field, run in zip(FIELDS, runs.values(), strict=True):
        for query, scores in run.items():
            for doc, score in scores.items():
                documents[query, doc][field] = score
    try:
        with serving("opensearch", tmp_path_factory.mktemp("home"), HYBRID) as port:
            server = Server(f"http://127.0.0.1:{port}")
            body = {"settings": settings, "mappings": {"properties": fields}}
            server.send("/runs", body, "PUT")
            bulk = [
                line for (query, doc), one in documents.items()
                for line in ({"index": {"_id": f"{query}.{doc}"}}, one)
            ]  # fmt: skip
            assert not server.send("/runs/_bulk", lines(bulk), "POST", refresh="true")["errors"]
            yield server, runs
    except NotHereError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


def query_of(field: str, query: str) -> dict:
    """Return the query of a run: its documents, and their scores in it."""
    conditions = [{"term": {"query": query}}, {"exists": {"field": field}}]
    value = {"field_value_factor": {"field": field}, "boost_mode": "replace"}
    return {"function_score": {"query": {"bool": {"filter": conditions}}, **value}}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("normalisation", ["min-max", "rank"])
def test_opensearch_fuses_by_the_pipeline_as_the_transcript_says(hybrid, normalisation, weights):
    server, runs = hybrid
    text = engine_form("opensearch", RUNS, weights, normalisation).content.decode()
    if normalisation == "rank" and len(set(weights)) > 1:
        with pytest.raises(RuntimeError, match=r"supported parameters are \[rank_constant\]"):
            server.send("/_search/pipeline/fusion", json.loads(text), "PUT")
        return  # Version 3.1 has weights, as `needs` says.
    server.send("/_search/pipeline/fusion", json.loads(text), "PUT")
    theirs, transcript = {}, {}
    for query in list(runs[RUNS[0]])[:10]:
        queries = [query_of(field, query) for field in FIELDS]
        body = {"query": {"hybrid": {"queries": queries, "pagination_depth": 100}}, "size": 100}
        page = server.send("/runs/_search", body, "POST", search_pipeline="fusion")["hits"]["hits"]
        theirs |= {tuple(hit["_id"].split(".")): hit["_score"] for hit in page}
        scores = opensearch(text, [run[query] for run in runs.values()])
        transcript |= {(query, doc): score for doc, score in scores.items()}
    # What the engine leaves out has the score 0.
    fused = [theirs.get(key, 0.0) for key in transcript]
    np.testing.assert_allclose(fused, [*transcript.values()], rtol=3e-7)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("normalisation", ["rank", "min-max", "mnz"])
def test_vespa_reads_the_global_phase_and_adds_as_directrank_does(normalisation, weights):
    """Its parser and evaluator; the normalised scores, which its container computes, are the transcript's."""
    runs = lists()
    text = engine_form("vespa", RUNS, weights, normalisation).content.decode()
    expression = text[text.index("expression {") + len("expression {") : text.rindex("}\n    }\n}")]
    calls = re.findall(r"(?:reciprocal_rank|normalize_linear)\(.*?\)", text)
    calls = [call.replace(", ", ",") for call in calls]
    keys, rows = [], []
    for query in runs[RUNS[0]]:
        docs = sorted(set().union(*(run[query] for run in runs.values())))
        scores = np.array([[run[query].get(doc, np.nan) for run in runs.values()] for doc in docs])
        keys += [(query, doc) for doc in docs]
        rows.append(np.hstack([scores, normalised(scores, normalisation)]))
    case = expression.encode(), (*FIELDS, *calls), np.vstack(rows)
    theirs = or_skip({"fusion": case})["fusion"]
    transcript = {
        (query, doc): value
        for query, scores in scores_of("vespa", text, runs)
        for doc, value in scores.items()
    }
    np.testing.assert_allclose(theirs, [transcript[key] for key in keys], rtol=3e-7, atol=1e-15)
    union = Runs.read(runs).union
    query = np.repeat(np.arange(union.queries.n_queries), union.queries.sizes)
    named = zip(union.queries.qid[query].tolist(), union.queries.docid.tolist(), strict=True)
    at = dict(zip(keys, theirs, strict=True))
    ours = Rule(normalisation, np.array(weights)).scores(union)
    assert inversions(query, ours, np.array([at[key] for key in named]))[1] == 0


def normalised(scores: np.ndarray, normalisation: str) -> np.ndarray:
    """Return what Vespa's container puts in the place of calls, a column a run; NaN has a value, too."""
    if normalisation == "rank":
        places = np.argsort(np.argsort(-np.nan_to_num(scores, nan=-np.inf), axis=0, kind="stable"), axis=0)
        return 1.0 / (K + 1.0 + places)
    low, high = np.nanmin(scores, axis=0), np.nanmax(scores, axis=0)
    return 0.5 + (scores - (low + high) * 0.5) / (high - low)


def or_skip(cases):
    try:
        return engines.scores("vespa", cases)
    except NotHereError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))
