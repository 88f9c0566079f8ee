"""Lists that are too long: refused before anything is trained, and only where training would hang."""

import numpy as np
import pytest

from directrank import QueryGroups
from directrank.errors import DataError
from directrank.estimators import training
from directrank.estimators.methods import METHODS, configured
from directrank.measures import parse_measure
from directrank.surrogates.measure_itself import MeasureItself

RNG = np.random.default_rng(0)
#: One evaluation of these takes hardly longer than sorting the list: no list is too long.
SCALE = {
    "regression", "ranksvm", "irsvm", "preorder-norm-dcg", "listnet", "listmle", "rankcosine", "adarank",
    "consistent-dcg", "consistent-ndcg", "consistent-norm-dcg", "svmmap", "svmndcg", "svmmrr", "svmp",
    "permurank", "rankboost", "ranknet", "lambdarank", "lambdaloss", "approxndcg", "approxap",
    "coordinate-ascent",
}  # fmt: skip
#: One evaluation of these takes two seconds at 50,000 documents of five grades, half of them relevant.
SLOW = {"frank", "yetiloss"}


def one_query(n: int, relevance=None) -> QueryGroups:
    y = RNG.choice(5, n, p=[0.52, 0.32, 0.13, 0.02, 0.01]) if relevance is None else relevance
    return QueryGroups(RNG.normal(size=(n, 2)).astype(np.float32), y, np.full(n, "long"))


def work(name: str, groups: QueryGroups) -> float:
    return configured(name)[0].build().components()[0].work(groups.queries)[0]


def test_methods_are_refused_where_an_evaluation_takes_seconds():
    groups = one_query(50_000)
    names = {each.name for each in METHODS} - {"auto", "softrank"}
    too_long = {name for name in names if work(name, groups) > training.LARGEST_WORK}
    assert too_long == SLOW
    assert not {name for name in SCALE if work(name, groups) > 0.1 * training.LARGEST_WORK}
    few = one_query(100_000, np.arange(100_000) < 20)
    assert not [name for name in names if work(name, few) > training.LARGEST_WORK]


def test_lists_that_take_minutes_are_announced_and_hours_are_refused():
    # 12 lists of 2,000 documents, half relevant: 2·10⁶ breakpoints a list; for each of 40 features two values
    # and six runs of three lines: 2.4·10⁷ · 40 · 20 · 4 ns is 77 seconds; for 400 features 13 minutes, for
    # 40,000 features 21 hours.
    queries = np.repeat(np.arange(12), 2000)
    groups = QueryGroups(np.zeros((24_000, 1), np.float32), np.arange(24_000) % 2, queries)
    surrogate, solver = configured("coordinate-ascent(AP)")[0].build().components()[:2]
    work = surrogate.work(groups.queries)
    training.refuse_long_lists("CoordinateAscent", work, solver, groups.queries, 40)
    takes = "CoordinateAscent: training takes about {} minutes .* 12 queries of .* 1,000 .* 0 with 2,000; "
    with pytest.warns(UserWarning, match=takes.format(13) + "to save time, use a method"):
        training.refuse_long_lists("CoordinateAscent", work, solver, groups.queries, 400)
    with pytest.raises(DataError, match=takes.format("1,280") + "at most 720 are accepted; use a method"):
        training.refuse_long_lists("CoordinateAscent", work, solver, groups.queries, 40_000)
    # Short lists are not counted, however many.
    short = QueryGroups(groups.X, groups.relevance, np.arange(24_000) // 1000)
    training.refuse_long_lists(
        "CoordinateAscent", surrogate.work(short.queries), solver, short.queries, 10**6
    )


@pytest.mark.parametrize("measure", ["nDCG@10", "P@5", "AP@10"])
def test_the_first_ranks_of_a_long_list_have_the_value_of_all_documents(measure):
    n, points = 1200, -0.1 / 23 * 511 / 2 + 0.1 / 23 * np.array([0, 1, 100, 255, 256, 300, 511])
    y, s, d = np.arange(n)[::-1] // 400, RNG.normal(size=n), RNG.normal(size=n)
    s[::7], d[::7] = s[0], d[0]  # tied on the whole line
    s[0::7] += 3.0
    groups = QueryGroups(np.zeros((n, 1), np.float32), y, np.zeros(n))
    surrogate = MeasureItself(parse_measure(measure))
    oracles = surrogate.on(groups.queries, np.ones(1))
    values = np.cumsum(oracles.line_sums(s, d))[[0, 1, 100, 255, 256, 300, 511]]
    expected = [oracles.query_values(s + t * d)[0] for t in points]
    np.testing.assert_allclose(values, expected, atol=1e-12)
    assert surrogate.work(groups.queries)[0] < 0.2 * 800 * n
