"""Every registered measure passes every check. A measure in `MEASURES` is tested here without another line.

The checks are those that `directrank check` runs on the measures of plug-ins.
"""

from dataclasses import replace

import pytest

from directrank import evaluate
from directrank.contracts import Measure
from directrank.measures import MEASURES, parse_measure
from directrank.measures.capabilities import PositionDifferentiable
from directrank.testing import of_measures
from directrank.testing.checks import collection


def variants(measure, max_grade=4):
    """The measure as it is, and with a cutoff if it takes one."""
    ends = {"none": [""], "optional": ["", "@3"], "required": ["@1", "@3"]}[measure.cutoff_is()]
    named = [parse_measure(measure.bare_name + end) for end in ends]
    return [each.with_largest_grade(max_grade) if max_grade else each for each in named]


EVERY = [variant for measure in MEASURES for variant in variants(measure)]
SMOOTH = [each for each in EVERY if isinstance(each, PositionDifferentiable)]
every = pytest.mark.parametrize("measure", EVERY, ids=str)
smooth = pytest.mark.parametrize("measure", SMOOTH, ids=str)


@every
def test_is_a_measure_and_keeps_its_name(measure):
    assert isinstance(measure, Measure)
    assert parse_measure(measure.name) == measure
    assert measure.name.startswith(measure.bare_name)


@pytest.mark.share(8)
@pytest.mark.parametrize("check", of_measures.CHECKS, ids=lambda each: each.__name__)
@every
def test_passes_every_check(measure, check):
    assert check(measure) is None, "a remark: the measure could declare more than it does"


@pytest.mark.share(6)
@pytest.mark.parametrize("check", of_measures.SMOOTH, ids=lambda each: each.__name__)
@smooth
def test_smooth_measures_pass_theirs(measure, check):
    check(measure)


@pytest.mark.share(3)
@pytest.mark.parametrize("measure", MEASURES, ids=lambda each: each.bare_name)
def test_between_zero_and_one_up_to_grade_31(measure):
    for variant in variants(measure, max_grade=None):
        of_measures.lies_between_zero_and_one(variant)


@every
def test_parameters_that_are_written_can_be_read(measure):
    again = type(measure)(**{"cutoff": measure.cutoff} if measure.cutoff_is() != "none" else {})
    for word, value in measure.printed().items():
        again = replace(again, **type(measure).readers()[word](str(value)))
    assert again == measure


@pytest.mark.share(6)
@every
def test_bitwise_the_same_whatever_else_is_asked(measure):
    _, _, case = collection()
    alone = evaluate(case.relevance, case.scores, case.qid, measures=measure)
    beside = evaluate(case.relevance, case.scores, case.qid, measures=[*EVERY, "nDCG@1", "nDCG@7", "P@8"])
    assert beside[measure.name] == alone[measure.name]
