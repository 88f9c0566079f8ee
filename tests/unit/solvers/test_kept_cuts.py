"""Stored cuts in another order: each query keeps its own."""

import numpy as np

from directrank.solvers.frank_wolfe import no_cuts, reorder


def test_every_query_keeps_its_cuts():
    rng, most, order = np.random.default_rng(0), 3, np.array([2, 0, 3, 1])
    cuts = no_cuts(np.arange(1.0, 5.0), most, 5).planes
    cuts.sizes[:] = [2, 0, 1, 2]
    for query, size in enumerate(cuts.sizes):
        own = slice(query * most, query * most + size)
        for numbers in (cuts.vectors, cuts.offsets, cuts.alpha, cuts.heights):
            numbers[own] = rng.normal(size=numbers[own].shape)
    before = cuts._replace(**{name: getattr(cuts, name).copy() for name in cuts._fields})
    reorder(cuts, order)
    np.testing.assert_array_equal(cuts.sizes, before.sizes[order])
    np.testing.assert_array_equal(cuts.caps, before.caps[order])
    for name in ("vectors", "offsets", "alpha", "heights"):
        here, there = (getattr(each, name).reshape(4, most, -1) for each in (cuts, before))
        np.testing.assert_array_equal(here, there[order])
