"""Checks of measures."""

from dataclasses import replace
from itertools import permutations

import numpy as np

from directrank.contracts import Measure
from directrank.data.grouping import group_rows
from directrank.data.queries import Queries
from directrank.measures import mean_value, ranked_last, values_of
from directrank.measures.capabilities import PositionDifferentiable
from directrank.measures.exchange import values_at_ranks
from directrank.measures.families.definition import TwoClasses, first_of
from directrank.measures.positions import Positions, perfect_positions, positions_of
from directrank.testing.checks import Check, collection, need, random_case, slope

#: The longest list whose tie orders are enumerated.
ENUMERATED = 6
ROUNDING = 1e-12


def values(measure: Measure, queries: Queries, scores: np.ndarray) -> np.ndarray:
    """Return the value of each query."""
    positions = positions_of(queries, scores, n_read=measure.n_read(queries))
    return measure.query_values(queries, positions)


def _two_classes(measure: Measure, queries: Queries) -> np.ndarray:
    """Return 1.0 for the documents that a measure of two classes takes as relevant, else 0.0."""
    counted = measure.n_relevant if isinstance(measure, TwoClasses) else measure.n_read
    return first_of(counted(queries), queries).astype(float)


def _example(queries: Queries, wrong: np.ndarray) -> str:
    """Return the grades of the first query of some."""
    q = int(np.argmax(wrong))
    return f"documents of grades {queries.relevance[queries.indptr[q] : queries.indptr[q + 1]].tolist()}"


def has_one_number_a_query(measure: Measure) -> None:
    """Returns one number per query, and reads no more documents than there are."""
    queries, scores, _ = collection()
    computed = values(measure, queries, scores)
    need(computed.shape == (queries.n_queries,), f"shape {computed.shape}, expected ({queries.n_queries},)")
    need(computed.dtype == np.float64, f"type {computed.dtype}, expected float64")
    need(np.isfinite(computed).all(), f"not a number for {_example(queries, ~np.isfinite(computed))}")
    n_read = measure.n_read(queries)
    need(n_read.dtype.kind == "i", "n_read is not made of whole numbers")
    in_range = (n_read >= 0) & (n_read <= queries.sizes)
    need(in_range.all(), "n_read is not between 0 and the number of documents")
    for name in ("undefined", "uninformative"):
        need(getattr(measure, name)(queries).dtype == bool, f"{name} is not bool")


def lies_between_zero_and_one(measure: Measure) -> None:
    """Lies between 0 and 1 for grades up to 31, or is not negative if it says that it is not bounded."""
    for largest in (1, 2, 4, 31):
        case = random_case(np.random.default_rng(largest), 300, 12, largest, (1, 2, 5, 1000))
        queries, order = group_rows(case.relevance, case.qid)
        scaled = measure.with_largest_grade(largest)
        for scores in (case.scores[order], queries.relevance, -queries.relevance):
            computed = values(scaled, queries, scores)
            wrong = (computed < 0) | (measure.bounded & (computed > 1))
            need(not wrong.any(), f"{computed[wrong][:1]} for {_example(queries, wrong)}")


def is_zero_where_undefined(measure: Measure) -> None:
    """Is 0 for queries where it says that it is undefined."""
    queries, scores, _ = collection()
    undefined = measure.undefined(queries)
    wrong = undefined & (values(measure, queries, scores) != 0)
    need(not wrong.any(), f"not 0 for {_example(queries, wrong)}")


def ties_count_with_their_expected_value(measure: Measure) -> None:
    """Counts ties with the mean over all their orders, on lists of up to six documents."""
    queries, scores, _ = collection(seed=3, n_queries=60, max_docs=ENUMERATED)
    computed = values(measure, queries, scores)
    for q in range(queries.n_queries):
        query = queries.part(q, q + 1)
        query_scores = scores[queries.indptr[q] : queries.indptr[q + 1]]
        ranks = np.array(list(permutations(range(query.n_docs))))
        # A ranking that agrees with the scores ranks no document above one with a higher score.
        agree = np.all(np.diff(query_scores[np.argsort(ranks, axis=1)], axis=1) <= 0, axis=1)
        mean = values_at_ranks(measure, query, ranks[agree]).mean()
        need(
            abs(computed[q] - mean) <= 1e-9,
            f"{computed[q]:.6g}, but {mean:.6g} in the mean over {agree.sum()} orders of documents of grades "
            f"{query.relevance.tolist()} with scores {query_scores.tolist()}",
        )


def the_best_ranking_is_the_best(measure: Measure) -> str | None:
    """Is never better than for the ranking by relevance."""
    queries, _, _ = collection()
    best = measure.query_values(queries, perfect_positions(queries))
    rng = np.random.default_rng(1)
    for scores in [-queries.relevance, *rng.normal(size=(20, queries.n_docs))]:
        wrong = values(measure, queries, scores) > best * (1 + 1e-14)
        need(not wrong.any(), f"a ranking of {_example(queries, wrong)} is better than that by relevance")
    return None


def improves_when_a_better_document_moves_up(measure: Measure) -> None:
    """Never falls when a document moves above one of a smaller grade."""
    queries, _, _ = collection()
    scores = np.random.default_rng(2).permutation(queries.n_docs).astype(float)
    before = values(measure, queries, scores)
    for q in range(queries.n_queries):
        rows = np.arange(queries.indptr[q], queries.indptr[q + 1])
        ranking = rows[np.argsort(-scores[rows])]
        grades = queries.relevance[ranking]
        for p in np.flatnonzero(grades[1:] > grades[:-1])[:1]:
            upper, lower = ranking[p], ranking[p + 1]
            scores[[upper, lower]] = scores[[lower, upper]]
    wrong = values(measure, queries, scores) < before * (1 - 1e-14)
    need(not wrong.any(), f"it falls for {_example(queries, wrong)}")


def says_which_queries_are_uninformative(measure: Measure) -> str | None:
    """Has one value for all rankings of the queries that it calls uninformative."""
    queries, _, _ = collection()
    rng = np.random.default_rng(3)
    trials = [queries.relevance, -queries.relevance, *rng.normal(size=(30, queries.n_docs))]
    computed = np.array([values(measure, queries, scores) for scores in trials])
    constant, declared = np.ptp(computed, axis=0) < ROUNDING, measure.uninformative(queries)
    wrong, more = declared & ~constant, constant & ~declared
    need(not wrong.any(), f"rankings of {_example(queries, wrong)} have several values")
    return f"{_example(queries, more)} have one value too: training could skip them" if more.any() else None


def tells_grades_apart_if_it_says_so(measure: Measure) -> str | None:
    """Distinguishes more than two grades only if it says that it is graded."""
    queries, scores, _ = collection()
    two = replace(queries, relevance=_two_classes(measure, queries), _cache={})
    same = np.allclose(values(measure, queries, scores), values(measure, two, scores), rtol=0, atol=ROUNDING)
    need(
        same or measure.graded,
        "graded is False, but the value depends on more than two classes",
    )
    return "graded could be False" if same and measure.graded else None


def is_decided_by_its_deciding_ranks(measure: Measure) -> None:
    """Is perfect whenever the first `deciding_ranks` ranks are."""
    queries, _, _ = collection()
    best, place = measure.query_values(queries, perfect_positions(queries)), queries.place
    classes = queries.relevance if measure.graded else _two_classes(measure, queries)
    rng = np.random.default_rng(9)
    for scores in [queries.relevance + 0.6 * rng.normal(size=queries.n_docs) for _ in range(20)]:
        ranked = np.lexsort((-scores, queries.query))
        right = (classes[ranked] == classes) | (place >= (measure.deciding_ranks or queries.n_docs))
        perfect = np.logical_and.reduceat(right, queries.indptr[:-1])
        wrong = perfect & (values(measure, queries, scores) < best - ROUNDING)
        need(not wrong.any(), f"a perfect ranking of {_example(queries, wrong)} is not the best")


def ignores_the_order_of_rows(measure: Measure) -> str | None:
    """Is the same for any order of rows and queries."""
    _, _, case = collection()

    def of_rows(rows: np.ndarray) -> tuple[np.ndarray, float]:
        queries, order = group_rows(case.relevance[rows], case.qid[rows])
        scores = case.scores[rows][order]
        return values(measure, queries, scores)[np.argsort(queries.qid)], mean_value(measure, queries, scores)

    alone, mean = of_rows(np.arange(len(case.qid)))
    rounded = None
    for seed in range(5):
        turned, again = of_rows(np.random.default_rng(seed).permutation(len(case.qid)))
        distance = np.abs(turned - alone).max()
        need(distance <= ROUNDING, "the value of a query depends on the order of rows")
        if distance or again != mean:
            rounded = "not bit for bit: it adds documents in the order of rows"
    return rounded


def sees_only_the_order_of_scores(measure: Measure) -> None:
    """Is bitwise the same under an increasing transformation of the scores."""
    queries, scores, _ = collection()
    before = values(measure, queries, scores)
    for moved in (4 * scores - 100, scores.astype(np.float32)):
        need(np.array_equal(before, values(measure, queries, moved)), "it depends on the size of scores")


def reads_the_first_documents_only(measure: Measure) -> None:
    """Reads the positions of the first `n_read` documents only."""
    queries, scores, _ = collection()
    positions = positions_of(queries, scores)
    hidden = queries.place >= np.repeat(measure.n_read(queries), queries.sizes)
    above, tied = np.where(hidden, 0, positions.above), np.where(hidden, 1, positions.tied)
    elsewhere = Positions(above.astype(np.int32), tied.astype(np.int32))
    same = measure.query_values(queries, positions) == measure.query_values(queries, elsewhere)
    need(same.all(), "it reads the positions of others; n_read must count them")


def adds_nothing_for_documents_not_retrieved(measure: Measure) -> None:
    """Adds nothing for documents that a run does not hold, unless it says that it ranks or counts them."""
    if measure.unretrieved in ("last", "counted"):
        return
    queries, _, case = collection()

    def of_run(scores, retrieved) -> np.ndarray:
        inner, present = scores[queries.row], retrieved[queries.row]
        return values_of([measure], queries, ranked_last(queries, inner, present), retrieved=present)[0]

    retrieved = np.random.default_rng(5).random(len(case.qid)) < 0.6
    nothing = of_run(case.scores, np.zeros_like(retrieved))
    need(not nothing.any(), f"{nothing.max():.6g} for a query of which the run holds no document")
    # More documents at the end of the run would move those that it does not hold, if these had ranks.
    added = ~retrieved & (case.relevance == 0)
    longer = of_run(np.where(added, case.scores.min() - 1, case.scores), retrieved | added)
    wrong = np.abs(of_run(case.scores, retrieved) - longer) > ROUNDING
    need(not wrong.any(), f"it adds documents that a run does not hold, for {_example(queries, wrong)}")


def values_each_query_alone(measure: Measure) -> None:
    """Values a query without regard to the others."""
    queries, scores, _ = collection()
    inside = scores[queries.indptr[50] : queries.indptr[120]]
    part = values(measure, queries.part(50, 120), inside)
    need(np.array_equal(part, values(measure, queries, scores)[50:120]), "other queries change a value")


def leaves_its_arguments_alone(measure: Measure) -> None:
    """Does not write into its arguments."""
    queries, scores, _ = collection()
    positions = positions_of(queries, scores)
    arrays = (queries.relevance, queries.indptr, positions.above, positions.tied)
    copies = [array.copy() for array in arrays]
    measure.query_values(queries, positions)
    need(all(map(np.array_equal, copies, arrays)), "it changes an argument")


def best_value(measure: Measure) -> str:
    """Return what the value of the ranking by relevance is, in words."""
    queries, _, _ = collection()
    best = measure.query_values(queries, perfect_positions(queries))[~measure.undefined(queries)]
    if np.allclose(best, 1.0, rtol=0, atol=ROUNDING):
        return "the ranking by relevance has the value 1 wherever the measure is defined"
    return f"the ranking by relevance has values from {best.min():.4g} to {best.max():.4g}, not always 1"


#: Of a measure for grades up to 4, in the order of trying; `lies_between_zero_and_one` is of any grade.
CHECKS: tuple[Check, ...] = (
    has_one_number_a_query,
    is_zero_where_undefined,
    ties_count_with_their_expected_value,
    the_best_ranking_is_the_best,
    improves_when_a_better_document_moves_up,
    says_which_queries_are_uninformative,
    tells_grades_apart_if_it_says_so,
    is_decided_by_its_deciding_ranks,
    ignores_the_order_of_rows,
    sees_only_the_order_of_scores,
    reads_the_first_documents_only,
    adds_nothing_for_documents_not_retrieved,
    values_each_query_alone,
    leaves_its_arguments_alone,
)


TRUNCATIONS = (0.5, 1.0, 10.0)


def _within(actual: np.ndarray, expected: np.ndarray, size: float, problem: str) -> None:
    distance = np.abs(actual - expected).max()
    need(distance <= size, f"{problem} (by {distance:.2g})")


def tends_to_the_measure(measure: PositionDifferentiable) -> None:
    """Tends to the measure at whole positions as truncation becomes steep."""
    queries, _, _ = collection()
    strict = np.random.default_rng(4).permutation(queries.n_docs).astype(float)
    positions = positions_of(queries, strict)
    hard = measure.query_values(queries, positions)
    soft, _ = measure.position_gradient(queries, positions.above + 1.0, 200.0)
    _within(soft, hard, 1e-12 * max(1.0, hard.max()), "the smooth value is another one")


def position_gradient_is_the_difference_quotient(measure: PositionDifferentiable) -> None:
    """Has a position gradient that equals differences."""
    queries, _, _ = collection(seed=5, n_queries=8, max_docs=6)
    positions = 1.5 + np.random.default_rng(6).random(queries.n_docs) * 5
    for truncation in TRUNCATIONS:
        gradient = measure.position_gradient(queries, positions, truncation)[1]
        expected = slope(
            lambda p, at=truncation: measure.position_gradient(queries, p, at)[0].sum(),
            positions,
            step=1e-3 / max(1.0, truncation),
        )
        size = 2e-9 * max(1.0, np.abs(expected).max())
        _within(gradient, expected, size, "the gradient differs from differences")


def position_gradient_is_zero_elsewhere(measure: PositionDifferentiable) -> None:
    """Has no position gradient beyond the first `n_read` documents."""
    queries, scores, _ = collection()
    positions = positions_of(queries, scores).above + 1.0
    _, gradient = measure.position_gradient(queries, positions, 1.0)
    beyond = queries.place >= np.repeat(measure.n_read(queries), queries.sizes)
    need(not gradient[beyond].any(), "there is a gradient where positions are not read")


def position_gradient_keeps_the_type(measure: PositionDifferentiable) -> None:
    """Has a position gradient of the type of the positions, in float32 near float64."""
    queries, _, _ = collection()
    positions = 1 + np.random.default_rng(7).random(queries.n_docs) * 8
    wide, slopes = measure.position_gradient(queries, positions, 1.0)
    narrow, narrow_slopes = measure.position_gradient(queries, positions.astype(np.float32), 1.0)
    need((narrow.dtype, narrow_slopes.dtype) == (np.float64, np.float32), "the types are other ones")
    size = 1e-6 * max(1.0, np.abs(wide).max())
    _within(narrow, wide, size, "the values differ in float32")
    _within(narrow_slopes, slopes, size, "the gradients differ in float32")


def position_gradient_is_finite(measure: PositionDifferentiable) -> None:
    """Has a finite position gradient at any steepness."""
    queries, _ = group_rows(np.tile([2.0, 1.0, 0.0], 300), np.zeros(900))
    order = np.random.default_rng(8).permutation(900)
    for kind in (np.float32, np.float64):
        for truncation in (1e-3, 1.0, 1e2, 1e4):
            for p in (order.astype(kind) + kind(1), np.full(900, 450.5, kind)):
                value, gradient = measure.position_gradient(queries, p, truncation)
                finite = np.isfinite(value).all() and np.isfinite(gradient).all()
                need(finite, f"not finite at truncation {truncation:g} in {kind.__name__}")


SMOOTH: tuple[Check, ...] = (
    tends_to_the_measure,
    position_gradient_is_the_difference_quotient,
    position_gradient_is_zero_elsewhere,
    position_gradient_keeps_the_type,
    position_gradient_is_finite,
)
