"""What every registered measure promises. A measure in `MEASURES` is tested here without another line."""

import functools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

import oracles
from directrank.contracts import Measure
from directrank.data.grouping import group_rows
from directrank.measures import MEASURES, evaluate, parse_measure
from directrank.measures.capabilities import PositionDifferentiable
from directrank.measures.positions import Positions, perfect_positions, positions_of
from strategies import cases, random_case


def variants(measure, max_grade=4):
    """The measure as it is, and with a cutoff if it takes one."""
    ends = {"none": [""], "optional": ["", "@3"], "required": ["@1", "@3"]}[measure.cutoff_is()]
    return [parse_measure(measure.bare_name + end).with_largest_grade(max_grade) for end in ends]


EVERY = [variant for measure in MEASURES for variant in variants(measure)]
SMOOTH = [each for each in EVERY if isinstance(each, PositionDifferentiable)]
every = pytest.mark.parametrize("measure", EVERY, ids=str)
smooth = pytest.mark.parametrize("measure", SMOOTH, ids=str)


@functools.cache
def collection(seed=0, n_queries=200, max_docs=9):
    case = random_case(np.random.default_rng(seed), n_queries, max_docs, tie_levels=(1, 3, 1000))
    queries, order = group_rows(case.relevance, case.qid)
    return queries, case.scores[order], case


def values(measure, queries, scores):
    return measure.query_values(queries, positions_of(queries, scores, n_read=measure.n_read(queries)))


@every
def test_is_a_measure_and_keeps_its_name(measure):
    assert isinstance(measure, Measure)
    assert parse_measure(measure.name) == measure
    assert measure.name.startswith(measure.bare_name)


@every
def test_parameters_that_are_written_can_be_read(measure):
    again = type(measure)(**{"cutoff": measure.cutoff} if measure.cutoff_is() != "none" else {})
    for word, value in measure.printed().items():
        again = replace(again, **type(measure).readers()[word](str(value)))
    assert again == measure


@every
def test_only_graded_measures_tell_grades_apart(measure):
    """Where `graded` is False, the documents whose positions are read could all have one grade."""
    queries, scores, _ = collection()
    place = np.arange(queries.n_docs) - np.repeat(queries.indptr[:-1], queries.sizes)
    read = place < np.repeat(measure.n_read(queries), queries.sizes)
    two = replace(queries, relevance=read.astype(float), _cache={})
    same = np.allclose(values(measure, queries, scores), values(measure, two, scores), rtol=0, atol=1e-12)
    assert same != measure.graded


@every
def test_the_deciding_ranks_decide(measure):
    """A ranking is perfect if and only if its first `deciding_ranks` hold the classes of a perfect one."""
    queries, _, _ = collection()
    best = measure.query_values(queries, perfect_positions(queries))
    place = np.arange(queries.n_docs) - np.repeat(queries.indptr[:-1], queries.sizes)
    read = np.where(place < np.repeat(measure.n_read(queries), queries.sizes), 1.0, 0.0)
    classes = queries.relevance if measure.graded else read
    rng = np.random.default_rng(9)
    for scores in [queries.relevance + 0.6 * rng.normal(size=queries.n_docs) for _ in range(20)]:
        ranked = np.lexsort((-scores, np.repeat(np.arange(queries.n_queries), queries.sizes)))
        right = (classes[ranked] == classes) | (place >= (measure.deciding_ranks or queries.n_docs))
        perfect = np.logical_and.reduceat(right, queries.indptr[:-1])
        found = values(measure, queries, scores)
        assert np.all(found[perfect] >= best[perfect] - 1e-12)


@every
def test_shapes_and_types(measure):
    queries, scores, _ = collection()
    assert values(measure, queries, scores).shape == (queries.n_queries,)
    assert values(measure, queries, scores).dtype == np.float64
    assert measure.n_read(queries).dtype.kind == "i"
    assert measure.undefined(queries).dtype == measure.uninformative(queries).dtype == bool
    assert np.all((measure.n_read(queries) >= 0) & (measure.n_read(queries) <= queries.sizes))


@pytest.mark.parametrize("largest", [1, 2, 4, 31])
@pytest.mark.parametrize("measure", MEASURES, ids=lambda each: each.bare_name)
def test_between_zero_and_one_up_to_grade_31(measure, largest):
    rng = np.random.default_rng(largest)
    case = random_case(rng, 300, 12, max_grade=largest, tie_levels=(1, 2, 5, 1000))
    queries, order = group_rows(case.relevance, case.qid)
    for variant in variants(measure, largest):
        for scores in (case.scores[order], queries.relevance, -queries.relevance):
            found = values(variant, queries, scores)
            assert np.all(found >= 0)
            if variant.bounded:
                assert np.all(found <= 1)


@every
def test_zero_where_undefined(measure):
    queries, scores, _ = collection()
    assert measure.undefined(queries).any()
    assert not values(measure, queries, scores)[measure.undefined(queries)].any()


@every
def test_the_best_ranking_is_the_best(measure):
    queries, _, _ = collection()
    best = measure.query_values(queries, perfect_positions(queries))
    rng = np.random.default_rng(1)
    for scores in [-queries.relevance, *rng.normal(size=(20, queries.n_docs))]:
        assert np.all(values(measure, queries, scores) <= best * (1 + 1e-14))


@every
def test_a_better_document_never_does_worse_further_up(measure):
    queries, _, _ = collection()
    rng = np.random.default_rng(2)
    scores = rng.permutation(queries.n_docs).astype(float)
    before = values(measure, queries, scores)
    for q in range(queries.n_queries):
        rows = np.arange(queries.indptr[q], queries.indptr[q + 1])
        ranking = rows[np.argsort(-scores[rows])]
        grades = queries.relevance[ranking]
        for p in np.flatnonzero(grades[1:] > grades[:-1])[:1]:
            upper, lower = ranking[p], ranking[p + 1]
            scores[[upper, lower]] = scores[[lower, upper]]
    assert np.all(values(measure, queries, scores) >= before * (1 - 1e-14))


@every
def test_constant_queries_are_those_that_cannot_teach(measure):
    queries, _, _ = collection()
    rng = np.random.default_rng(3)
    trials = [queries.relevance, -queries.relevance, *rng.normal(size=(30, queries.n_docs))]
    found = np.array([values(measure, queries, scores) for scores in trials])
    spread = found.max(axis=0) - found.min(axis=0)
    np.testing.assert_array_equal(spread < 1e-12, measure.uninformative(queries))


@every
def test_bitwise_the_same_for_any_order_of_rows_and_queries(measure):
    _, _, case = collection()
    alone = evaluate(case.relevance, case.scores, case.qid, measures=measure, per_query=True)
    for seed in range(5):
        rows = np.random.default_rng(seed).permutation(len(case.qid))
        again = evaluate(
            case.relevance[rows], case.scores[rows], case.qid[rows], measures=measure, per_query=True
        )
        assert again[measure.name] == alone[measure.name]
        place = np.argsort(again.qid)
        np.testing.assert_array_equal(again.per_query[measure.name][place], alone.per_query[measure.name])


@every
def test_bitwise_the_same_whatever_else_is_asked(measure):
    _, _, case = collection()
    alone = evaluate(case.relevance, case.scores, case.qid, measures=measure)
    beside = evaluate(case.relevance, case.scores, case.qid, measures=[*EVERY, "nDCG@1", "nDCG@7", "P@8"])
    assert beside[measure.name] == alone[measure.name]


@every
def test_bitwise_the_same_under_an_increasing_transformation(measure):
    queries, scores, _ = collection()
    np.testing.assert_array_equal(
        values(measure, queries, scores), values(measure, queries, 4 * scores - 100)
    )
    np.testing.assert_array_equal(
        values(measure, queries, scores), values(measure, queries, scores.astype(np.float32))
    )


@every
def test_reads_the_leading_documents_only(measure):
    queries, scores, _ = collection()
    positions = positions_of(queries, scores)
    place = np.arange(queries.n_docs) - np.repeat(queries.indptr[:-1], queries.sizes)
    hidden = place >= np.repeat(measure.n_read(queries), queries.sizes)
    elsewhere = Positions(np.where(hidden, 0, positions.above), np.where(hidden, 1, positions.tied))
    elsewhere = Positions(elsewhere.above.astype(np.int32), elsewhere.tied.astype(np.int32))
    np.testing.assert_array_equal(
        measure.query_values(queries, positions), measure.query_values(queries, elsewhere)
    )


@every
def test_a_part_has_the_values_of_its_queries(measure):
    queries, scores, _ = collection()
    part = queries.part(50, 120)
    inside = scores[queries.indptr[50] : queries.indptr[120]]
    np.testing.assert_array_equal(values(measure, part, inside), values(measure, queries, scores)[50:120])


@every
def test_arguments_stay_as_they_were(measure):
    queries, scores, _ = collection()
    positions = positions_of(queries, scores)
    arrays = (queries.relevance, queries.indptr, positions.above, positions.tied)
    kept = [array.copy() for array in arrays]
    measure.query_values(queries, positions)
    for before, after in zip(kept, arrays, strict=True):
        np.testing.assert_array_equal(before, after)


@given(case=cases(max_queries=4, max_docs=7))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_awkward_queries_have_values_in_range(case):
    result = evaluate(case.relevance, case.scores, case.qid, measures=EVERY, per_query=True)
    for measure in EVERY:
        found = result.per_query[measure.name]
        assert np.all((found >= 0) & ((found <= 1) | (not measure.bounded)))


@smooth
def test_smooth_values_tend_to_the_hard_ones(measure):
    queries, _, _ = collection()
    strict = np.random.default_rng(4).permutation(queries.n_docs).astype(float)
    positions = positions_of(queries, strict)
    hard = measure.query_values(queries, positions)
    soft, _ = measure.position_gradient(queries, positions.above + 1.0, 200.0)
    np.testing.assert_allclose(soft, hard, rtol=0, atol=1e-12 * max(1.0, hard.max()))


@smooth
@pytest.mark.parametrize("truncation", [0.5, 1.0, 10.0])
def test_position_gradient_is_the_difference_quotient(measure, truncation):
    queries, _, _ = collection(seed=5, n_queries=8, max_docs=6)
    positions = 1.5 + np.random.default_rng(6).random(queries.n_docs) * 5
    total = lambda p: measure.position_gradient(queries, p, truncation)[0].sum()  # noqa: E731
    found = measure.position_gradient(queries, positions, truncation)[1]
    expected = oracles.slope(total, positions, step=1e-3 / max(1.0, truncation))
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-9 * max(1.0, np.abs(expected).max()))


@smooth
def test_position_gradient_is_zero_beyond_the_leading_documents(measure):
    queries, scores, _ = collection()
    positions = positions_of(queries, scores).above + 1.0
    _, gradient = measure.position_gradient(queries, positions, 1.0)
    place = np.arange(queries.n_docs) - np.repeat(queries.indptr[:-1], queries.sizes)
    assert not gradient[place >= np.repeat(measure.n_read(queries), queries.sizes)].any()


@smooth
def test_position_gradient_keeps_the_type_and_its_digits(measure):
    queries, _, _ = collection()
    positions = 1 + np.random.default_rng(7).random(queries.n_docs) * 8
    values_64, gradient_64 = measure.position_gradient(queries, positions, 1.0)
    values_32, gradient_32 = measure.position_gradient(queries, positions.astype(np.float32), 1.0)
    assert (values_32.dtype, gradient_32.dtype) == (np.float64, np.float32)
    scale = max(1.0, np.abs(values_64).max())
    np.testing.assert_allclose(values_32, values_64, rtol=0, atol=1e-6 * scale)
    np.testing.assert_allclose(gradient_32, gradient_64, rtol=0, atol=1e-6 * scale)


@smooth
@pytest.mark.parametrize("truncation", [1e-3, 1.0, 1e2, 1e4])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_position_gradient_is_finite_at_any_steepness(measure, truncation, kind):
    relevance = np.tile([2.0, 1.0, 0.0], 300)
    queries, _ = group_rows(relevance, np.zeros(900))
    positions = np.random.default_rng(8).permutation(900).astype(kind) + kind(1)
    for p in (positions, np.full(900, 450.5, kind)):
        found, gradient = measure.position_gradient(queries, p, truncation)
        assert np.all(np.isfinite(found))
        assert np.all(np.isfinite(gradient))
