"""Exported models rank on the engines themselves as the rankers do, and as the transcripts of their rules.

The documents stand at thresholds and their neighbours, zeros of both signs, tiny numbers, ties and gaps.
Run by `nox -s engines`; in the first run Maven fetches the jars.
"""

import os

import numpy as np
import pytest

from directrank import export
from directrank.apps.engines.documents import Documents
from directrank.apps.engines.search_plugin import LOG
from jvm import engines
from jvm.agreement import ENGINES, LARGEST, NAMES, NOT_SERVED, Agreement, agreements, named
from jvm.engines import PLUGIN_SOURCES, NotHereError
from jvm.solr_server import scores_of_solr
from unit.apps.engines.rankers_of_every_kind import rankers, rows, scores_by
from unit.apps.engines.test_distillation import documents

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]


def test_solr_before_9_2_reads_a_gap_as_0_as_the_check_of_an_export_says(tmp_path):
    """Linear models and trees on documents with gaps: the engine's scores are those of the transcript."""
    models = named(rankers(tmp_path))
    cases, expected = {}, {}
    target = ENGINES["Solr"].exported
    for kind in ("linear", "trees with gaps", "XGBoost"):
        content = export(models[kind], "solr", target_version="8.11").content
        X = rows(models[kind].scorer_)
        X = X[~(np.abs(X) > LARGEST).any(axis=1)][:300]
        assert np.isnan(X).any()
        cases[kind], expected[kind] = (content, NAMES, X), scores_by(target, content, models[kind], X)
    found = or_skip(scores_of_solr, cases)
    for kind, scores in expected.items():
        assert np.float32(found[kind]).tolist() == np.float32(scores).tolist(), kind


@pytest.mark.parametrize("name", ["Solr", "Elasticsearch", "XGBoost4J", "LightGBM4J"])
def test_a_distilled_ranker_scores_on_an_engine_as_its_check_says(name, tmp_path):
    """Weighted features and trees as trees alone, between and beyond the documents of the distillation."""
    engine = ENGINES[name]
    train, test = documents(), documents(seed=1)
    cases, transcripts = {}, {}
    for kind in ("auto", "stumps and features"):
        ranker = named(rankers(tmp_path))[kind]
        made = export(
            ranker, engine.target, target_version=engine.version, distil=train, check=test, accept=True
        )
        X = np.concatenate([test.X, 3 * test.X]).astype(np.float32)
        columns = Documents.of_features(NAMES, X)
        cases[kind], transcripts[kind] = (made, X), engine.exported.scores(made.content, columns)
    theirs = or_skip(engine.scores, engine, cases)
    for kind, scores in transcripts.items():
        assert np.float32(theirs[kind]).tolist() == np.float32(scores).tolist(), kind


def test_a_derived_feature_reads_names_with_points():
    """Such as those of BM25: an expression of Lucene's over `title.bm25`, by log1p."""
    rows = np.array([[0.0], [1e-9], [2.5], [-3.0], [1e6]], np.float32)
    case = LOG.format(x="title.bm25").encode(), ("title.bm25",), rows
    theirs = or_skip(engines.scores, "lucene", {"log": case})["log"]
    x = rows[:, 0].astype(float)
    np.testing.assert_allclose(theirs, np.sign(x) * np.log1p(np.abs(x)), rtol=1e-7)


def or_skip(run, *arguments):
    """Return what is run; skip where the engine is not here, but fail where everything has to be."""
    try:
        return run(*arguments)
    except NotHereError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_ranks_as_the_ranker_does_and_scores_as_the_transcript_says(name):
    if name == "OpenSearch's plug-in" and not os.environ.get(PLUGIN_SOURCES):
        pytest.skip("OpenSearch's plug-in was not run: " + NOT_SERVED)
    found = or_skip(agreements, name)
    run = {kind: one for kind, one in found.items() if isinstance(one, Agreement)}
    assert run
    assert {kind: one.inverted for kind, one in run.items() if one.inverted} == {}
    # The transcript follows the engine to the last bit of float32.
    assert {kind: one.from_transcript for kind, one in run.items() if one.from_transcript} == {}
