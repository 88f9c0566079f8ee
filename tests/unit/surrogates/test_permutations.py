"""Most violated perfect and imperfect rankings equal the best and the worst of all permutations."""

import numpy as np
import pytest

from directrank.data.grouping import group_rows
from directrank.measures import parse_measure
from directrank.surrogates import Objective, WorkingSetBound
from directrank.surrogates.rankings.permutations import ViolatedRankings
from oracles import average_precision, ndcg, precision, reciprocal_rank
from rankings import cross_level_map, literal_map, permutations


def searches(classes, places, feature_map="pairs"):
    queries = group_rows(classes, np.zeros(len(classes)))[0]
    return ViolatedRankings(queries, classes, np.ones(1, bool), feature_map, places)


def is_perfect(classes, ranking, places):
    return bool((classes[ranking[:places]] == classes[:places]).all())


def least_perfect(s, classes, places):
    return searches(classes, places).least_perfect(s)


def greatest_imperfect(s, classes, places):
    search = searches(classes, places)
    ranking, found = search.greatest_imperfect(s, search.descending(s))
    return ranking if found[0] else None


def random_query(rng, longest, grades):
    n = int(rng.integers(2, longest + 1))
    y = np.sort(rng.integers(0, grades, n))[::-1].astype(float)
    s = rng.normal(size=n) if rng.random() < 0.5 else rng.integers(0, 3, n).astype(float)
    if rng.random() < 0.5:  # the sorted list is perfect more often
        s = s + 2.0 * y
    return y, s


def test_eq_2_with_all_and_with_some_places():
    rng = np.random.default_rng(0)
    without = 0
    for trial in range(500):
        y, s = random_query(rng, 6 if trial < 40 else 5, 4)
        places = int(rng.integers(1, len(y) + 1))
        values = [(literal_map(r) @ s, is_perfect(y, r, places)) for r in permutations(len(y))]
        right = least_perfect(s, y, places)
        assert is_perfect(y, right, places)
        assert literal_map(right) @ s == pytest.approx(min(v for v, good in values if good), abs=1e-12)
        wrong = greatest_imperfect(s, y, places)
        if wrong is None:
            without += 1
            assert all(good for _, good in values)
            continue
        assert not is_perfect(y, wrong, places)
        assert sorted(wrong) == list(range(len(y)))
        assert literal_map(wrong) @ s == pytest.approx(max(v for v, good in values if not good), abs=1e-12)
    assert without > 10


def test_the_adjacent_swap_is_not_enough_with_a_cutoff():
    """Three documents, one place: the best imperfect ranking is not always a swap of neighbours' classes."""
    y, s = np.array([1.0, 1.0, 0.0]), np.array([3.0, 2.9, 0.0])
    wrong = greatest_imperfect(s, y, 1)
    assert wrong.tolist() == [2, 0, 1]


def violated(surrogate, y, s):
    queries = group_rows(np.asarray(y, float), np.zeros(len(y), int))[0]
    return surrogate.on(queries, np.ones(1)).violated_pairs(np.asarray(s, float))


@pytest.mark.parametrize(
    ("name", "strict"),
    [
        ("AP", average_precision()),
        ("nDCG", ndcg()),
        ("nDCG@2", ndcg(2)),
        ("RR", reciprocal_rank()),
        ("P@2", precision(2)),
        ("WTA", precision(1)),
    ],
)
def test_the_loss_is_that_of_the_imperfect_ranking(name, strict):
    rng = np.random.default_rng(2)
    surrogate = WorkingSetBound(parse_measure(name))
    for _ in range(60):
        y, s = random_query(rng, 6, 3)
        s = s + 1e-3 * rng.permutation(len(s))
        queries = group_rows(y, np.zeros(len(y), int))[0]
        if surrogate.uninformative(queries)[0]:
            continue
        perfect, imperfect, losses = violated(surrogate, y, s)
        classes = surrogate.classes(queries)
        places = min(surrogate.places or len(y), len(y))
        wrong = greatest_imperfect(s, classes, places)
        if wrong is None:
            continue
        assert losses[0] == pytest.approx(strict(np.sort(y)[::-1]) - strict(y[wrong]), abs=1e-12)
        assert losses[0] >= 0
        assert abs(perfect.sum()) + abs(imperfect.sum()) < 1e-12
        # Nothing is more violated: F of the imperfect one is at most F of the ranking by score.
        by_score = np.argsort(-s)
        top = (
            literal_map(by_score) if surrogate.feature_map == "pairs" else cross_level_map(by_score, classes)
        )
        assert imperfect @ s <= top @ s + 1e-12


@pytest.mark.parametrize("name", ["AP", "nDCG", "nDCG@2", "P@3", "RR"])
@pytest.mark.parametrize("feature_map", ["auto", "pairs"])
def test_all_queries_at_once_have_the_bits_of_each_alone(name, feature_map):
    rng = np.random.default_rng(3)
    surrogate = WorkingSetBound(parse_measure(name), feature_map=feature_map)
    sizes = rng.integers(1, 12, 60)
    y = np.concatenate([np.sort(rng.integers(0, 3, n))[::-1] for n in sizes]).astype(float)
    queries = group_rows(y, np.repeat(np.arange(60), sizes))[0]
    weights = np.where(surrogate.uninformative(queries), 0.0, 1.0)
    # Some queries are ranked perfectly; in most, documents tie.
    s = np.where(np.repeat(rng.random(60) < 0.3, sizes), y, 0.0) + rng.integers(0, 3, len(y)) / 8
    perfect, imperfect, losses = surrogate.on(queries, weights).violated_pairs(s)
    for q in np.flatnonzero(weights):
        rows = slice(queries.indptr[q], queries.indptr[q + 1])
        alone = surrogate.on(queries.part(q, q + 1), np.ones(1)).violated_pairs(s[rows])
        assert perfect[rows].tolist() == alone[0].tolist()
        assert imperfect[rows].tolist() == alone[1].tolist()
        assert losses[q] == alone[2][0] >= 0


def test_the_map_is_chosen_by_the_measure_and_said():
    queries = group_rows(np.array([2.0, 1, 0]), np.zeros(3, int))[0]
    assert WorkingSetBound(parse_measure("AP")).feature_map == "cross"
    cut = WorkingSetBound(parse_measure("nDCG@5"))
    assert cut.feature_map == "pairs"
    assert cut.notes(queries) == [
        "feature map of Eq. (2), over pairs of one class too: nDCG@5 reads the first 5 positions"
    ]
    assert "3 grades taken as two classes" in WorkingSetBound(parse_measure("AP")).notes(queries)[0]
    with pytest.raises(ValueError, match=r"nDCG@5 reads the first 5 positions only: use feature_map='pairs'"):
        WorkingSetBound(parse_measure("nDCG@5"), feature_map="cross")
    with pytest.raises(ValueError, match="aggregate must be one of 'sum', 'mean', 'max'"):
        WorkingSetBound(parse_measure("AP"), aggregate="min")
    with pytest.raises(
        ValueError,
        match="'hinge', 'margin-rescaled', not 'square'",
    ):
        WorkingSetBound(parse_measure("AP"), margin="square")


def test_queries_of_one_class_are_left_out():
    queries = group_rows(np.array([1.0, 1, 0, 0, 2, 0]), np.array([0, 0, 1, 1, 2, 2]))[0]
    assert Objective(WorkingSetBound(parse_measure("AP")), queries, ()).left_out.tolist() == [
        True,
        True,
        False,
    ]
