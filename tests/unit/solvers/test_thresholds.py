from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from directrank import make_ranking
from directrank.features import as_features
from directrank.solvers.stumps import HistogramStumps, bin_edges, binned, threshold_between
from directrank.storage.mapped import create_matrix, is_mapped
from directrank.surrogates import ExponentialPairs, Objective
from naive import bin_edges_naive


def columns(n, rng):
    """Columns of many and of few values, with ties, zeros of both signs, tiny values and missing ones."""
    z = rng.normal(size=n)
    yield from (z, np.round(z, 2), np.round(z), rng.poisson(300, n), np.zeros(n), np.full(n, np.nan))
    yield from (np.where(rng.random(n) < 0.9, 0, z), -np.exp(5 * z), 1e-44 * z, 3e37 * z)
    yield np.where(rng.random(n) < 0.5, -0.0, np.where(rng.random(n) < 0.5, 0.0, 1e-45 * np.sign(z)))
    yield from (np.where(rng.random(n) < share, np.nan, z) for share in (0.3, 0.95))
    yield from (np.minimum(np.arange(n), most) for most in (254, 255, 256))
    yield from (np.where(np.arange(n) < 3, np.nan, np.arange(n) % most) for most in (255, 256))


@pytest.mark.parametrize("n", [1, 2, 255, 257, 3000])
def test_edges_by_definition_with_equal_bits_on_threads(n):
    features = np.column_stack(list(columns(n, np.random.default_rng(n)))).astype(np.float32)
    with ThreadPoolExecutor(3) as pool:
        one, three = bin_edges(features), bin_edges(features, pool.map)
    assert len(one) == features.shape[1]
    for k, edges in enumerate(one):
        assert edges.tobytes() == three[k].tobytes() == bin_edges_naive(features[:, k]).tobytes(), k


def test_edges_of_features_elsewhere_are_found_column_by_column():
    class Elsewhere:
        def __init__(self, here):
            self.here, self.shape = here, here.shape

        def columns(self, first, stop):
            return self.here[:, first:stop].copy()

    features = np.column_stack(list(columns(700, np.random.default_rng(2)))).astype(np.float32)
    for here, there in zip(bin_edges(features), bin_edges(Elsewhere(features)), strict=True):
        assert here.tobytes() == there.tobytes()


def test_edges_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(1)
    features = np.column_stack(list(columns(900, rng))).astype(np.float32)
    shuffled = bin_edges(np.ascontiguousarray(rng.permutation(features)))
    for here, there in zip(bin_edges(features), shuffled, strict=True):
        assert here.tobytes() == there.tobytes()


def test_edges_of_few_values_are_all_thresholds():
    column = np.repeat(np.arange(256, dtype=np.float32), 3)[:, None]
    np.testing.assert_array_equal(bin_edges(column)[0], np.arange(255) + 0.5)
    assert len(bin_edges(np.zeros((5, 1), np.float32))[0]) == 0


def test_edges_of_many_values_are_quantiles():
    rng = np.random.default_rng(5)
    column = rng.random((10_000, 1)).astype(np.float32)
    (edges,) = bin_edges(column)
    assert len(edges) == 255
    assert (np.diff(edges) > 0).all()
    counts = np.histogram(column, np.concatenate(([0], edges, [1])))[0]
    assert counts.max() < 1.1 * 10_000 / 256


def test_thresholds_lie_between_neighbours_in_float32():
    one = np.float32(1.0)
    assert threshold_between(one, np.float32(2.0)) == 1.5
    assert threshold_between(one, np.nextafter(one, np.float32(2))) == one
    assert threshold_between(np.float32(-3e38), np.float32(3.4e38)) < 3.4e38
    tiny = np.float32(1e-45)
    assert threshold_between(np.float32(0.0), tiny) == 0.0


def test_bins_of_features_in_a_file_are_in_a_file(tmp_path):
    # 7 columns of 403 rows: not a whole number of four-byte numbers.
    groups = make_ranking(31, 13, 7, random_state=0)
    stored = create_matrix(tmp_path / "rows.npy", groups.features.shape)
    stored[:] = groups.features
    objective = Objective(ExponentialPairs(), groups.queries, groups.shards)
    edges = HistogramStumps(objective, groups.features, "eta").edges
    here, there = (binned(as_features(each), edges, False).rows for each in (groups.features, stored))
    assert not is_mapped(here)
    assert is_mapped(there)
    np.testing.assert_array_equal(here, there)
