"""The change of a measure when two documents are swapped: closed forms against evaluation after each swap."""

import importlib
import inspect
import itertools
import pkgutil

import numpy as np
import pytest

import oracles
from directrank import LambdaLoss, LambdaRank, make_ranking, measures
from directrank.apps.clicks import measures as clicked
from directrank.apps.evaluation import measures as evaluated
from directrank.data.grouping import group_rows
from directrank.measures import AP, MEASURES, MeanNDCG, parse_measure
from directrank.measures.capabilities import PositionLinear, Swappable
from directrank.measures.exchange import AT_ONCE, pair_table, swaps_by_evaluation
from directrank.measures.families.definition import Definition
from directrank.measures.positions import Positions
from directrank.surrogates import Objective, SwapWeighted
from directrank.surrogates.exchange.tables import expected_differences
from groups import first_group


def classes_of(base):
    """The measures that the files of the two folders and of clicks define, whoever lists them."""
    for folder in (measures, evaluated):
        for module in pkgutil.walk_packages(folder.__path__, f"{folder.__name__}."):
            importlib.import_module(module.name)
    below = base.__subclasses__()
    below += [each for cls in below for each in classes_of(cls)]
    places = (measures.__name__, evaluated.__name__, clicked.__name__)
    ours = (cls for cls in below if cls.__module__.startswith(places))
    return {cls for cls in ours if "bare_name" in vars(cls) and not inspect.isabstract(cls)}


#: Every measure of the folder, at a cutoff where it needs one, and others of its parameters.
NAMES = [
    *sorted(each.bare_name + "@3" * (each.cutoff_is() == "required") for each in classes_of(Definition)),
    "nDCG@3", "DCG@2", "nDCG(dcg='letor')@4", "P@1", "P(denominator='list')@30", "WTA(rel='max')",
    "Success(rel=2)@1", "Rprec(rel=2)", "RBP(p=0.5)@4", "AP@4", "AP(rel=2)", "AP(denominator='min')@3",
    "RR@2", "RR(rel=2)", "ERR(max=4)@3", "nERR(max=5)", "nERR(max=4)@2", "MeanNDCG(dcg='log2')",
    "RBPResidual@2", "ClickP@2", "ClickRBP(p=0.5)",
]  # fmt: skip


def some_queries(seed, sizes=(6, 9, 1, 4, 12), grades=5):
    rng = np.random.default_rng(seed)
    relevance = rng.integers(0, grades, sum(sizes)).astype(float)
    relevance[: sizes[0]] *= seed % 2  # sometimes nothing is relevant
    return group_rows(relevance, np.repeat(np.arange(len(sizes)), sizes))[0]


def random_places(queries, seed):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.permutation(int(n)) for n in queries.sizes]).astype(np.int64)


def blocks(queries):
    return [range(a, b) for a, b in itertools.pairwise(queries.indptr.tolist())]


def pairs_of(queries):
    """All pairs of different relevance in the order of tables."""
    y = queries.relevance
    return [(i, j) for rows in blocks(queries) for i in rows for j in rows if y[i] > y[j]]


def by_evaluation(measure, queries, place):
    """The definition: exchange two places, evaluate."""

    def values(p):
        return measure.query_values(queries, Positions(p.astype(np.int32), np.ones(len(p), np.int32)))

    before, query = values(place), np.repeat(np.arange(queries.n_queries), queries.sizes)
    found = []
    for i, j in pairs_of(queries):
        after = place.copy()
        after[i], after[j] = place[j], place[i]
        found.append(abs(values(after) - before)[query[i]])
    return np.array(found)


def differences(measure, queries, place):
    """As the library would compute them."""
    if isinstance(measure, Swappable):
        return measure.swap_differences(queries, place)
    if isinstance(measure, PositionLinear):
        gains, discounts = measure.linear_in_positions(queries)
        return np.array(
            [
                abs((gains[i] - gains[j]) * (discounts[place[i]] - discounts[place[j]]))
                for i, j in pairs_of(queries)
            ]
        )
    return swaps_by_evaluation(measure, queries, place)


def graded(name):
    """A measure, of grades up to 4 where it has to know the largest."""
    return parse_measure(name).with_largest_grade(4.0)


def test_every_measure_of_the_folder_is_registered():
    assert classes_of(Definition) == {*MEASURES}


@pytest.mark.share(6)
@pytest.mark.parametrize("name", NAMES)
def test_differences_are_those_of_evaluation(name):
    measure = graded(name)
    for seed in range(12):
        queries = some_queries(seed)
        place = random_places(queries, seed)
        expected = by_evaluation(measure, queries, place)
        assert len(expected) == pair_table(queries).n_pairs
        # DCG is not bounded by 1.
        size = max(1.0, expected.max(initial=0.0))
        found, evaluated = differences(measure, queries, place), swaps_by_evaluation(measure, queries, place)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14 * size)
        np.testing.assert_allclose(evaluated, expected, rtol=0, atol=1e-15 * size)


def test_long_lists_do_not_underflow():
    """A thousand documents of the largest grade: hardly anyone passes ten of them."""
    queries = group_rows(np.append(np.full(1000, 4.0), 0.0), np.zeros(1001, int))[0]
    table = parse_measure("ERR(max=4)").swap_differences(queries, np.arange(1001))
    u = 15 / 16
    first = u * (1 - sum((1 - u) ** (t - 2) * u / t for t in range(2, 1001)))
    assert table[0] == pytest.approx(first, rel=1e-13)
    assert np.isfinite(table).all()
    assert (np.diff(table[:8]) < 0).all()


def test_evaluation_in_batches(monkeypatch):
    queries = some_queries(3)
    place = random_places(queries, 4)
    whole = swaps_by_evaluation(MeanNDCG(), queries, place)
    assert AT_ONCE > 1000
    monkeypatch.setattr("directrank.measures.exchange.AT_ONCE", 30)
    np.testing.assert_array_equal(swaps_by_evaluation(MeanNDCG(), queries, place), whole)


class TestTies:
    def enumerated(self, measure, queries, scores):
        """The mean over all strict orders of one query, each pair by evaluation."""
        orders = list(oracles.tie_orders(scores))
        total = 0.0
        for order in orders:
            place = np.empty(len(scores), np.int64)
            place[order] = np.arange(len(scores))
            total = total + by_evaluation(measure, queries, place)
        return total / len(orders)

    @pytest.mark.parametrize("name", ["AP", "ERR(max=2)@2", "WPD"])
    def test_twins_are_averaged_exactly(self, name):
        """Ties of one relevance only: the mean over all their orders."""
        queries = group_rows(np.array([2.0, 1, 1, 0, 0, 0]), np.zeros(6, int))[0]
        scores = np.array([0.5, 2.0, 2.0, 1.0, 1.0, 3.0])
        measure = parse_measure(name)
        expected = self.enumerated(measure, queries, scores)
        np.testing.assert_allclose(expected_differences(measure, queries, scores), expected, atol=1e-14)

    @pytest.mark.parametrize(
        "name", first_group(["AP", "RR", "ERR(max=2)", "WPD"], lambda name: name == "AP")
    )
    @pytest.mark.heavy
    def test_the_error_of_random_orders_is_as_stated(self, name):
        """The standard error is at most 1/8 of the largest change: by enumeration over all orders."""
        measure, rng = parse_measure(name), np.random.default_rng(5)
        errors = []
        for _ in range(40):
            y = np.sort(np.append(rng.integers(0, 3, 4), [2, 0]))[::-1].astype(float)
            queries, scores = group_rows(y, np.zeros(6, int))[0], rng.integers(0, 2, 6).astype(float)
            exact = self.enumerated(measure, queries, scores)
            largest = max(by_evaluation(measure, queries, rng.permutation(6)).max() for _ in range(30))
            errors += list((expected_differences(measure, queries, scores) - exact) / largest)
        assert np.sqrt(np.mean(np.square(errors))) < 1 / 8
        assert np.abs(errors).max() < 4.5 / 8

    def test_the_start_does_not_tell_the_answer(self):
        """All tied: the weight of a pair depends on its query and its grades alone."""
        queries = some_queries(1, sizes=(12, 3, 12))
        table = expected_differences(AP(), queries, np.zeros(27))
        query, y = np.repeat([0, 1, 2], [12, 3, 12]), queries.relevance
        kinds = {}
        for (i, j), weight in zip(pairs_of(queries), table, strict=True):
            kinds.setdefault((query[i], y[i], y[j]), []).append(weight)
        assert all(np.ptp(weights) < 1e-12 for weights in kinds.values())
        assert table.max() > 0


def learnable(n_queries=15, n_docs=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * n_docs, 4))
    y = np.digitize(X @ [1.0, -0.5, 0.3, 0.0] + 0.5 * rng.normal(size=len(X)), [0.3, 1.3])
    return X, y, np.repeat(np.arange(n_queries), n_docs)


class TestTraining:
    @pytest.mark.parametrize(
        "name", ["AP", "AP@5", "RR", "ERR(max=2)", "nERR(max=2)@3", "WPD", "WTA", "MeanNDCG"]
    )
    def test_lambdarank_takes_any_measure(self, name):
        X, y, qid = learnable()
        ranker = LambdaRank(name).fit(X, y, qid)
        assert ranker.selected_by_ == parse_measure(name).name
        ranker.select_by = name
        by_ndcg = LambdaLoss("nDCG", select_by=name).fit(X, y, qid)
        assert ranker.score(X, y, qid) > 0.95 * by_ndcg.score(X, y, qid)
        assert not any("closed form" in note for note in ranker.notes_)


def test_the_scale_is_that_of_the_weights_at_zero_scores():
    """Whether it is asked for before the weights are fixed at another ranking, or after."""
    groups = make_ranking(12, 7, 4, random_state=3)
    scores = np.random.default_rng(0).normal(size=groups.n_docs)

    def swaps():
        return Objective(SwapWeighted(parse_measure("nDCG@10")), groups.queries, groups.shards)

    before, after = swaps(), swaps()
    first = before.scale
    before.reweigh(scores)
    after.reweigh(scores)
    assert after.scale == before.scale == first
