"""Exported models rank on the engines themselves as the rankers do, and as the transcripts of their rules.

The documents stand at thresholds and their neighbours, zeros of both signs, tiny numbers, ties and gaps.
Run by `nox -s engines`; in the first run Maven fetches the jars.
"""

import os

import pytest

from jvm.agreement import ENGINES, Agreement, agreements
from jvm.engines import NotHereError

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_ranks_as_the_ranker_does_and_scores_as_the_transcript_says(name):
    try:
        found = agreements(name)
    except NotHereError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))
    run = {kind: one for kind, one in found.items() if isinstance(one, Agreement)}
    assert run
    assert {kind: one.inverted for kind, one in run.items() if one.inverted} == {}
    # The transcript follows the engine to the last bit of float32.
    assert {kind: one.from_transcript for kind, one in run.items() if one.from_transcript} == {}
