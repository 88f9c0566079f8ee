"""Weights in the form of search engines, fused by transcripts of the engines' own rules.

Read in opensearch-project/neural-search 00be312 (MinMaxScoreNormalizationTechnique,
RRFNormalizationTechnique, RRFScoreCombinationTechnique, ArithmeticMeanScoreCombinationTechnique,
ScoreCombinationUtil), elastic/elasticsearch (LinearRetrieverBuilder 030968a, MinMaxScoreNormalizer,
RRFRetrieverBuilder, RRFRetrieverComponent), apache/solr (ReciprocalRankFusion of search.combine,
SOLR-17319) and vespa-engine/vespa 54c1885 (LinearNormalizer, ReciprocalRankNormalizer). Arithmetic is
float32, in Vespa double.
"""

import itertools
import json
import re

import numpy as np
import pytest

from directrank.apps.engines import inversions
from directrank.apps.fusion.engines import ENGINES, engine_form
from directrank.apps.fusion.learning import Rule
from directrank.apps.fusion.rules import NORMALISATIONS
from directrank.apps.fusion.runs import Runs
from directrank.errors import ExportError

F = np.float32
RUNS = ("bm25.run", "dense.run", "title.run")


def lists(n_queries=40, depth=30, seed=0):
    """Runs of positive scores without ties, each of half of the documents."""
    rng = np.random.default_rng(seed)
    runs = {run: {} for run in RUNS}
    for run in RUNS:
        for query in range(n_queries):
            docs = rng.permutation(2 * depth)[:depth].tolist()
            runs[run][f"q{query}"] = {f"d{doc}": float(F(rng.gamma(2.0) + 0.01)) for doc in docs}
    return runs


def by_rank(run):
    return sorted(run, key=lambda doc: -run[doc])


def opensearch(text, runs):
    """Fuse by a pipeline of OpenSearch: runs are the results of the hybrid query's queries, in order."""
    (processor,) = json.loads(text)["phase_results_processors"]
    ((name, settings),) = processor.items()
    weights = [F(1)] * len(runs)
    if "parameters" in settings["combination"]:
        weights = [F(weight) for weight in settings["combination"]["parameters"]["weights"]]
        assert all(0 <= weight <= 1 for weight in weights)
        assert sum(weights) == pytest.approx(1.0, abs=0.01)
    normalised = []
    for run in runs:
        if name == "score-ranker-processor":
            k = settings["combination"]["rank_constant"]
            assert settings["combination"]["technique"] == "rrf"
            normalised.append(
                {doc: F(round(1 / (k + place + 1), 10)) for place, doc in enumerate(by_rank(run))}
            )
            continue
        assert (name, settings["normalization"]) == ("normalization-processor", {"technique": "min_max"})
        assert settings["combination"]["technique"] == "arithmetic_mean"
        low, high = F(min(run.values())), F(max(run.values()))
        scaled = {doc: F(1) if low == high else (F(score) - low) / (high - low) for doc, score in run.items()}
        normalised.append({doc: score or F(0.001) for doc, score in scaled.items()})
    fused = {}
    for doc in set().union(*runs):
        terms = [weight * own.get(doc, F(0)) for weight, own in zip(weights, normalised, strict=True)]
        total = F(0)
        for term in terms:
            total = F(total + term)
        fused[doc] = total if name == "score-ranker-processor" else total / sum(weights, F(0))
    return fused


def elasticsearch(text, runs):
    """Fuse by a retriever of Elasticsearch: runs are the results of its retrievers, by name."""
    ((kind, settings),) = json.loads(text)["retriever"].items()
    fused = {}
    for part in settings["retrievers"]:
        run, weight = runs[part["retriever"]], F(part["weight"])
        assert weight >= 0
        if kind == "rrf":
            k = settings["rank_constant"]
            own = {doc: F(1) / F(k + place) for place, doc in enumerate(by_rank(run), 1)}
        else:
            assert (kind, part["normalizer"]) == ("linear", "minmax")
            low, high = F(min(run.values())), F(max(run.values()))
            own = {doc: low if low == high else (F(score) - low) / (high - low) for doc, score in run.items()}
        for doc, score in own.items():
            fused[doc] = F(fused.get(doc, F(0)) + weight * score)
    return fused


def solr(text, runs):
    """Fuse by a combined query of Solr: runs are the results of its queries, by name."""
    request = json.loads(text)
    assert request["params"]["combiner"] is True
    assert request["params"]["combiner.algorithm"] == "rrf"
    fused = {}
    for name in request["params"]["combiner.query"]:
        for place, doc in enumerate(by_rank(runs[request["queries"][name]]), 1):
            own = F(1) / F(request["params"]["combiner.rrf.k"] + place)
            fused[doc] = F(fused.get(doc, F(0)) + own)
    return fused


def vespa(text, runs):
    """Fuse by an expression of Vespa: runs are functions, NaN where a run does not find a document."""
    counted = re.findall(r"if \(isNan\((\w+)\), 0, 1\)", text)
    assert counted in ([], [*runs])
    text = text.partition("* (if")[0]
    terms = re.findall(r"([\d.e-]+) \* if \(isNan\((\w+)\), 0, (\w+)\((\w+)(?:, (\d+))?\)\)", text)
    assert len(terms) == len(runs) == text.count("isNan")
    docs, fused = sorted(set().union(*runs.values())), {}
    for weight, tested, function, name, k in terms:
        assert tested == name
        data = np.array([runs[name].get(doc, np.nan) for doc in docs])
        if function == "reciprocal_rank":
            order = sorted(range(len(docs)), key=lambda at: -(-np.inf if np.isnan(data[at]) else data[at]))
            own = np.empty(len(docs))
            own[order] = 1.0 / (float(k) + 1.0 + np.arange(len(docs)))
        else:
            assert function == "normalize_linear"
            low, high = np.nanmin(data), np.nanmax(data)
            scale, middle = (1.0 / (high - low), (low + high) * 0.5) if high > low else (0.0, 0.0)
            own = 0.5 + scale * (data - middle)
        for doc, score, value in zip(docs, own, data, strict=True):
            fused[doc] = fused.get(doc, 0.0) + float(weight) * (0.0 if np.isnan(value) else score)
    return {
        doc: score * (sum(doc in run for run in runs.values()) if counted else 1)
        for doc, score in fused.items()
    }


def scores_of(engine, text, runs):
    """The engine's scores of each query."""
    for query in runs[RUNS[0]]:
        own = {name: run[query] for name, run in runs.items()}
        if engine == "opensearch":
            found = opensearch(text, [*own.values()])
            parts = 1 if "weights" in text else len(own)  # Without weights it adds.
            yield query, {doc: score / parts for doc, score in found.items()}
        elif engine == "elasticsearch":
            yield query, elasticsearch(text, own)
        elif engine == "solr":  # It adds where the others average.
            yield query, {doc: score / len(own) for doc, score in solr(text, own).items()}
        else:
            yield query, vespa(text, {name.partition(".")[0]: scores for name, scores in own.items()})


@pytest.mark.share(4)
@pytest.mark.parametrize("weights", [(1 / 3, 1 / 3, 1 / 3), (0.62, 0.3, 0.08), (0.75, 0.0, 0.25)])
@pytest.mark.parametrize(
    ("engine", "normalisation"),
    [*itertools.product(ENGINES, ["rank", "min-max"]), ("vespa", "mnz")],
)
def test_an_engine_ranks_as_directrank_does(engine, normalisation, weights):
    if engine == "solr" and (normalisation != "rank" or len(set(weights)) > 1):
        with pytest.raises(
            ExportError, match=r"solr (weighs all runs alike, not as 0|has no normalisation 'min)"
        ):
            engine_form(engine, RUNS, weights, normalisation)
        return
    runs = lists()
    union = Runs.read(runs).union
    form = engine_form(engine, RUNS, weights, normalisation)
    text = form.content.decode()
    theirs = {
        (query, doc): value for query, own in scores_of(engine, text, runs) for doc, value in own.items()
    }
    query = np.repeat(np.arange(union.queries.n_queries), union.queries.sizes)
    keys = zip(union.queries.qid[query].tolist(), union.queries.docid.tolist(), strict=True)
    ours = Rule(normalisation, np.array(weights)).scores(union)
    found = np.array([theirs[key] for key in keys], float)
    if engine == "opensearch" and normalisation == "min-max":
        # The least score of a run counts .001, as `changes` says: pairs without such a document agree.
        assert any("0.001" in line for line in form.changes)
        least = (NORMALISATIONS["min-max"](union) == 0) & union.held
        kept = ~least.any(axis=1)
        assert kept.mean() > 0.9
        query, ours, found = query[kept], ours[kept], found[kept]
    assert inversions(query, ours, found)[1] == 0
    np.testing.assert_allclose(found, ours, rtol=1e-5, atol=1e-7)
    assert all(run.partition(".")[0] in form.needs[0] for run in RUNS)


def test_opensearch_before_3_1_takes_equal_weights_by_rank():
    """2.19.1 refuses `parameters` of the score-ranker-processor; see tests/jvm/test_fusions.py."""
    equal = engine_form("opensearch", RUNS, [1 / 3] * 3, "rank")
    others = engine_form("opensearch", RUNS, [0.5, 0.3, 0.2], "rank")
    assert b"parameters" not in equal.content
    assert b"parameters" in others.content
    assert "need version 3.1" in others.needs[0]
