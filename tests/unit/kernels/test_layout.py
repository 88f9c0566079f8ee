"""The bits of a kernel's results do not depend on where in memory its arrays happen to lie.

A compiler that must fear overlaps keeps a vectorised and a plain version of a loop, which round differently,
and decides between them by the addresses of the arrays. Small arrays and close neighbours show it.
"""

import inspect
from itertools import permutations, product

import numpy as np
import pytest

from directrank.data.grouping import group_rows
from directrank.kernels import products
from directrank.kernels.plugins import WIDTH
from directrank.measures import NDCG, average_precision, positions
from directrank.measures import dcg as smooth_gain
from directrank.measures import exchange as swapping
from directrank.measures.families import gain_sum
from directrank.measures.families import smooth as smooth_measures
from directrank.measures.families.definition import reciprocals
from directrank.solvers import passes, planes
from directrank.surrogates.exchange import tables as swap_tables
from directrank.surrogates.margins import Hinge, Huber, Logistic, SquaredHinge
from directrank.surrogates.pairs import hinges, logistic
from directrank.surrogates.pairs import runs as weighted
from directrank.surrogates.positions import smoothed, smoothed_kernels
from directrank.surrogates.rankings import two_class_search as passing

SMALL, LARGE = (8, 8), (1, 3, 5, 9, 17, 33)  # less than a vector's room, and several vectors


def queries_and_scores(sizes, dtype):
    rng = np.random.default_rng(0)
    relevance = rng.integers(0, 3, sum(sizes)).astype(float)
    queries, _ = group_rows(relevance, np.repeat(np.arange(len(sizes)), sizes))
    return queries, rng.normal(size=queries.n_docs).astype(dtype)


def smooth(sizes, dtype):
    queries, scores = queries_and_scores(sizes, dtype)
    lead = queries.n_positive
    true = positions.positions_of(queries, scores)
    soft, [(powers, _, _)] = smoothed_kernels.soft_positions(scores, queries.indptr, lead, 3.0)
    rng = np.random.default_rng(1)
    docs, per_query = np.zeros(queries.n_docs, dtype), np.zeros(queries.n_queries)
    return {
        "queries": queries,
        "scores": scores,
        "lead": lead,
        "places": (true.above, true.tied),
        "positions": soft,
        "powers": powers,
        "slopes": rng.normal(size=queries.n_docs).astype(dtype),
        "weights": rng.random(queries.n_queries),
        "docs": docs,
        "per_query": per_query,
        "gain": np.exp2(queries.relevance) - 1,
        "divisor": np.maximum(lead, 1).astype(float),
    }


def gain_form(k, logs, cutoff):
    return smooth_gain.GainForm(k["gain"], k["queries"].indptr, k["divisor"], 1.0, logs, cutoff, 0.7)


def stream_call(k, features, logs):
    """The compiled pass over all queries but the last, and over this as another block."""
    dtype, n_queries = k["scores"].dtype, len(k["lead"])
    longest, leading = len(logs) - 3, k["lead"]
    form = smoothed.SmoothedPlugin(
        k["queries"].indptr, longest, leading, 3.0, k["weights"], gain_form(k, logs, np.inf)
    )
    places = -(-longest // WIDTH) * WIDTH
    room, partial = (np.zeros((4, places), dtype), np.zeros(places)), np.zeros(5, dtype)
    bounds = np.array([0, n_queries - 1, n_queries])
    w = np.random.default_rng(4).normal(size=5).astype(dtype)
    out = np.zeros(1), np.zeros((1, 5)), np.zeros(2, np.bool_)
    return passes._stream, features, form, bounds, np.zeros(2, np.int64), w, room, partial, *out


def precision_form(k, cutoff, truncation):
    return smooth_measures.PrecisionForm(k["divisor"], cutoff, truncation)


def cut_plugin(k, longest):
    curve, n_queries = 1.0 / np.arange(1.0, longest + 2), len(k["lead"])
    return passing.ConvexCutPlugin(
        *(k["queries"].indptr, longest, k["lead"], np.ones((3, n_queries)), curve, np.cumsum(curve)),
        *(k["weights"], np.zeros(n_queries)),
    )


def calls(sizes, dtype):
    """Kernel and arguments, by name."""
    k = smooth(sizes, dtype)
    indptr, lead, scores, docs = k["queries"].indptr, k["lead"], k["scores"], k["docs"]
    features = np.random.default_rng(2).normal(size=(len(scores), 5)).astype(np.float32)
    tables = (indptr, lead)
    ends = np.column_stack((indptr[:-1], indptr[1:]))
    room = np.zeros(max(sizes))
    logs = smooth_gain.logarithms(max(sizes))
    smooth_arguments = (*tables, k["positions"], room, k["per_query"], docs)
    return {
        "_count": (
            positions._count,
            scores,
            *tables,
            *np.empty((3, max(sizes) + positions.WIDE), np.int16),
            *k["places"],
        ),
        "_ap": (
            *(average_precision._ap, *k["places"], *tables),
            *(average_precision.harmonic_numbers(max(sizes)), reciprocals(max(sizes), None), max(sizes)),
            *(np.empty(max(sizes), np.uint8), np.empty(2 * max(sizes), np.int32), k["per_query"]),
        ),
        "_add_gains": (
            *(gain_sum._add_gains, NDCG().read_gains(k["queries"]), *k["places"], *tables),
            *(*gain_sum.cut_discounts(NDCG(5), max(sizes)), 5, np.empty(max(sizes) + 1), k["per_query"]),
        ),
        "_fill_near": (
            *(smoothed_kernels._fill_near, scores, *tables, 3.0),
            *(k["powers"], np.zeros(len(tables[1]), np.int64)),
        ),
        "_forward": (smoothed_kernels._forward, k["powers"], *tables, k["positions"]),
        "_forward wide": (smoothed_kernels._forward, k["powers"].astype(float), *tables, k["positions"]),
        "_forward_bands": (
            smoothed_kernels._forward_bands,
            scores.astype(float),
            *tables,
            1e4,
            k["positions"],
        ),
        "_backward": (
            *(smoothed_kernels._backward, k["powers"], *tables, 3.0),
            *(k["slopes"], k["weights"], docs),
        ),
        "_backward wide": (
            *(smoothed_kernels._backward, k["powers"].astype(float), *tables, 3.0),
            *(k["slopes"], k["weights"], docs.astype(float)),
        ),
        "_backward_bands": (
            *(smoothed_kernels._backward_bands, scores.astype(float), *tables, 1e4),
            *(k["slopes"], k["weights"], docs.astype(float)),
        ),
        "row_products": (products.row_products, features, scores[:5].copy(), docs),
        "transposed_product": (
            *(products.transposed_product, features, k["slopes"]),
            *(np.zeros(5, dtype), np.zeros(5)),
        ),
        "products_of_tiles": (
            *(products.products_of_tiles, features, 2, k["slopes"][:3].copy(), np.zeros(5, dtype)),
            *(np.zeros(5), scores[:5].copy(), docs[5:].copy()),
        ),
        "smooth DCG": (smooth_measures._fill, gain_form(k, logs, np.inf), *smooth_arguments),
        "smooth DCG@3": (smooth_measures._fill, gain_form(k, logs, 3.0), *smooth_arguments),
        "smooth AP": (smooth_measures._fill, precision_form(k, np.inf, 0.7), *smooth_arguments),
        "smooth AP@3 bands": (smooth_measures._fill, precision_form(k, 3.0, 1e4), *smooth_arguments),
        "smooth P@3": (
            *(smooth_measures._fill, smooth_measures.HitsForm(k["divisor"], 3.0, 0.7), *smooth_arguments),
        ),
        "_stream": stream_call(k, features, logs),
        **pair_calls(k, np.hstack((ends, ends))),
        "position curvature": (
            *(smoothed_kernels._curvature_by_quotients, k["powers"], *tables, 3.0),
            *(k["slopes"], k["weights"], docs),
        ),
        **swap_calls(k),
        "most_violated_rankings": (
            *(passing.most_violated_rankings, cut_plugin(k, max(sizes))),
            *(scores, k["per_query"], docs),
        ),
        "improve_block": (
            planes.improve_block,
            planes.planes_in_blocks(
                features.astype(float),
                k["gain"].astype(float),
                np.array([0, len(scores)]),
                np.array([2.0]),
                np.zeros(len(scores)),
            ),
            0,
        ),
    }


def swap_calls(k):
    """Kernels of swap tables and their arguments, by name."""
    queries, divisor, gain = k["queries"], k["divisor"], k["gain"]
    indptr, pairs = queries.indptr, swapping.pair_table(queries)
    place = np.arange(queries.n_docs) - np.repeat(indptr[:-1], queries.sizes)
    worth = np.append(0.0, 1.0 / np.arange(1.0, queries.sizes.max() + 2))
    numbers = np.random.default_rng(4).random((2, max(pairs.n_pairs, queries.n_docs)))
    stopping, curve = gain / 8, numbers[1, : queries.n_docs].copy()
    table, twin = numbers[0, : pairs.n_pairs].copy(), np.arange(queries.n_docs)
    cells = (pairs.below, pairs.start)
    return {
        "ap_swaps": (swapping.ap_swaps, place, indptr, *cells, k["lead"], worth, divisor, table),
        "err_swaps": (swapping.err_swaps, place, indptr, *cells, stopping, worth, divisor, table),
        "wpd_swaps": (swapping.wpd_swaps, place, indptr, *cells, queries.relevance, table),
        "gain_swaps": (swapping.gain_swaps, place, indptr, *cells, gain, curve, table),
        "average_over_twins": (
            *(swap_tables.average_over_twins, table, pairs.below, pairs.stop, pairs.start),
            *(twin, np.ones(queries.n_docs, np.int64)),
        ),
    }


def pair_calls(k, runs):
    """Kernels of losses on pairs and their arguments, by name."""
    queries, scores, weights, docs = k["queries"], k["scores"], k["weights"], k["docs"]
    strength = np.random.default_rng(3).random(len(scores))
    hinge = hinges.HingeOracles(runs, weights, Huber(), queries, strength)
    room = np.empty((4, -(-queries.longest // WIDTH) * WIDTH + WIDTH), scores.dtype), np.empty(0)
    places, by_winner = np.arange(1.0, len(scores) + 1), weighted.ByWinner(strength)
    start, losses = np.zeros(len(scores) + 1, np.int64), np.arange(len(scores) + 1.0)
    sums = np.cumsum(losses)
    rules = {
        "equal": weighted.Equal(),
        "level": weighted.ByLevel(k["gain"], strength, places, strength[::-1].copy()),
        "distance": weighted.ByDistance(k["gain"], places, np.zeros(len(scores)), strength, losses, sums),
        "blocks": weighted.ByDistance(k["gain"], places, np.ones(len(scores)), strength, losses, sums),
        "table": weighted.ByTable(start, np.random.default_rng(5).random(len(scores)).astype(np.float32)),
    }
    forms = {margin.name: margin.form for margin in (Huber(), SquaredHinge(), Logistic())}
    few, on_queries = np.arange(0, len(scores), 3), np.ones(queries.n_queries)
    few_calls = {
        f"sums_of_few {name}": (
            *(logistic.sums_of_few, rules["level"], few, queries.relevance, scores, queries.indptr),
            *(on_queries, span, docs, docs.copy()),
        )
        for name, span in {"powers": 80.0, "differences": -1.0}.items()
    }
    return {
        **few_calls,
        **{
            f"hinges {margin.name}": (
                *(hinges.sum_over_queries, hinge.pairs._replace(form=margin.form), scores, room, docs),
            )
            for margin in (Huber(), SquaredHinge(), Hinge())
        },
        **{
            f"pair_sums {name}": (logistic.pair_sums, rule, scores, runs, weights, docs)
            for name, rule in rules.items()
        },
        **{
            f"add_hessian {name}": (
                *(weighted.add_hessian, form, by_winner, scores, k["slopes"], runs, weights, docs),
            )
            for name, form in forms.items()
        },
        **{
            f"add_curvatures {name}": (weighted.add_curvatures, form, by_winner, scores, runs, weights, docs)
            for name, form in forms.items()
        },
    }


def run_in_layout(kernel, arguments, order, gap):
    """Copy the arrays into one piece of memory, in an order and so many bytes apart, and call."""
    buffer, given = np.zeros(2**16, np.uint8), arrays_of(arguments)
    place, placed = 64, {}
    for path in order:
        array = given[path]
        view = buffer[place : place + array.nbytes].view(array.dtype).reshape(array.shape)
        view[...] = array
        placed[path] = view
        place += -(-array.nbytes // 8) * 8 + gap
    kernel(*with_arrays(arguments, placed))
    return [placed[path].tobytes() for path in sorted(order)]


def arrays_of(arguments, path=()):
    """Arrays by their path through arguments and the forms among them."""
    found = {}
    for number, each in enumerate(arguments):
        if isinstance(each, np.ndarray):
            found[(*path, number)] = each
        elif isinstance(each, tuple):
            found |= arrays_of(each, (*path, number))
    return found


def with_arrays(arguments, placed, path=()):
    """The arguments with other arrays."""
    changed = []
    for number, each in enumerate(arguments):
        here = (*path, number)
        if isinstance(each, tuple):
            parts = with_arrays(each, placed, here)
            each = type(each)(*parts) if hasattr(each, "_fields") else tuple(parts)
        changed.append(placed.get(here, each))
    return changed


#: Kernels of which fits and other tests use the type that is not their turn's: it is compiled anyway.
OTHER_TYPE = {
    "_stream", "_backward_bands", "products_of_tiles", "smooth P@3", "most_violated_rankings", "hinges hinge",
    "sums_of_few differences", "add_hessian huber", "add_curvatures huber",
}  # fmt: skip
NAMES = list(calls(SMALL, np.float64))


def is_first(case):
    """In the first group every kernel has small or large queries, in turn, and one type."""
    name, sizes, dtype = case
    turn = NAMES.index(name) % 2
    return sizes == (SMALL, LARGE)[turn] and dtype == (np.float64, np.float32)[turn ^ (name in OTHER_TYPE)]


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("name", "sizes", "dtype"),
    [
        pytest.param(*case, marks=[] if is_first(case) else [pytest.mark.heavy])
        for case in product(NAMES, (SMALL, LARGE), (np.float64, np.float32))
    ],
)
def test_layout_does_not_matter(name, sizes, dtype):
    kernel, *arguments = calls(sizes, dtype)[name]
    arrays = list(arrays_of(arguments))
    apart = run_in_layout(kernel, arguments, arrays, gap=2048)
    names = list(inspect.signature(kernel.py_func).parameters)
    label = {path: ".".join([names[path[0]], *map(str, path[1:])]) for path in arrays}
    for first, second in permutations(arrays, 2):
        order = [first, second, *(each for each in arrays if each not in (first, second))]
        for gap in (0, 16, 80):
            assert run_in_layout(kernel, arguments, order, gap) == apart, f"{label[first]}, {label[second]}"
