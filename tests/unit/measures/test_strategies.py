"""The hypothesis strategies produce what they say."""

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis.errors import NoSuchExample

from strategies import EXTREME_SCORES, cases, one_query, random_case

# The first example is enough, without a smaller one.
quick = settings(max_examples=2000, derandomize=True, phases=[Phase.generate])
few = settings(max_examples=200, derandomize=True)

KINDS = {
    "a tie": lambda y, s: len(np.unique(s)) < len(s),
    "no tie": lambda y, s: len(s) > 3 and len(np.unique(s)) == len(s),
    "all tied": lambda y, s: len(s) > 3 and len(np.unique(s)) == 1,
    "nothing relevant": lambda y, s: len(y) > 1 and not y.any(),
    "one grade": lambda y, s: len(y) > 2 and y[0] > 0 and len(set(y)) == 1,
    "one relevant document": lambda y, s: len(y) > 3 and (y > 0).sum() == 1,
    "one document": lambda y, s: len(y) == 1,
    "the largest grade": lambda y, s: y.max() == 4,
    "an infinite score": lambda y, s: np.isinf(s).any(),
    "two infinite scores alike": lambda y, s: (s == np.inf).sum() > 1,
    "both zeros": lambda y, s: len({float(x).hex() for x in s if x == 0}) == 2,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_found(kind):
    y, s = find(one_query(), lambda query: KINDS[kind](*query), settings=quick)
    assert KINDS[kind](y, s)


@pytest.mark.heavy
def test_what_is_never_there_is_not_found():
    with pytest.raises(NoSuchExample):
        find(one_query(), lambda query: np.isnan(query[1]).any() or (query[0] < 0).any(), settings=few)


@given(case=cases(max_queries=4, max_docs=5, max_grade=3))
@settings(max_examples=100, derandomize=True)
def test_cases_are_within_their_limits(case):
    sizes = np.bincount(case.qid)
    assert len(case.relevance) == len(case.scores) == len(case.qid)
    assert 1 <= len(sizes) <= 4
    assert sizes.min() >= 1
    assert sizes.max() <= 5
    assert case.relevance.max() <= 3
    assert np.all(np.diff(case.qid) >= 0)


def test_random_cases_hold_every_kind_and_repeat():
    one, again = (random_case(np.random.default_rng(0), 500, 6) for _ in range(2))
    np.testing.assert_array_equal(one.scores, again.scores)
    np.testing.assert_array_equal(one.scores, one.scores.astype(np.float32))
    sizes, relevant = np.bincount(one.qid), np.bincount(one.qid, one.relevance > 0)
    distinct = np.bincount(np.unique(np.stack([one.qid, one.scores]), axis=1)[0].astype(int))
    assert (sizes == 1).any()
    assert (relevant == 0).any()
    assert (relevant == sizes).any()
    assert ((distinct == 1) & (sizes > 3)).any()
    assert ((distinct == sizes) & (sizes > 3)).any()
    assert len(EXTREME_SCORES) == len({float(x).hex() for x in EXTREME_SCORES})
