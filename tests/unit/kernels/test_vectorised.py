"""The hot kernels are compiled to vector instructions, on the widest registers that the processor has."""

import re

import numpy as np
import pytest
from llvmlite.binding import get_host_cpu_features
from numba import njit

from directrank.features import statistics
from directrank.kernels import products
from directrank.kernels.compile import OPTIONS
from directrank.kernels.vector_math import signed_logarithms
from directrank.measures import positions
from directrank.measures.families import smooth
from directrank.measures.families import stopping as smooth_stops
from directrank.scorers import scaling
from directrank.surrogates.margins import Hinge, Huber, LogisticForm, SquaredHinge
from directrank.surrogates.pairs import differences, hinges, quotients
from directrank.surrogates.pairs import runs as weighted
from directrank.surrogates.positions import smoothed_kernels
from groups import first_group

# Arithmetic, for memory is cleared and copied on wide registers in any code. Without AVX the widest are xmm,
# which scalars use too: there a packed operation must show.
OPERATION = r"v?(p?(add|sub|mul|div|min|max|cmp\w*)|fn?m(add|sub)\d*)"
WIDE = OPERATION + (r"\w+\s.*[yz]mm" if get_host_cpu_features()["avx"] else r"(p[sd]|[bwdq])\s")

DOCS, TWO, QUERIES = np.ones(64, np.float32), np.ones((64, 8), np.float32), np.array([0, 64])
SUMS = np.ones(65)
CELLS, WORDS = np.ones(64, np.int16), np.ones((64, 16), np.uint32)
HINGES = {margin.name: margin.form for margin in (Huber(), SquaredHinge(), Hinge())}
#: Rules, with what they read of a winner and of the losers.
RULES = (
    (weighted.Equal(), (np.float32(1),) * 2, (0, 64)),
    (weighted.ByLevel(*(DOCS,) * 4), (np.float32(1),) * 5, (DOCS, DOCS, DOCS)),
    (weighted.ByDistance(*(DOCS,) * 5, SUMS), (np.float32(1),) * 5, (DOCS,) * 3),
    (weighted.BetweenBlocks(*(DOCS,) * 5, SUMS), (np.float32(1),) * 5, (DOCS,) * 3),
    (weighted.ByTable(QUERIES, DOCS), (np.float32(1), DOCS), (0, 64)),
    (
        weighted.ByRank(weighted.ByDistance(*(DOCS,) * 5, SUMS), DOCS, 64, DOCS > 0),
        np.float32(1),
        (DOCS, DOCS),
    ),
)


def tiles(features, n_features):
    """Arguments of `products_of_tiles`."""
    numbers = np.zeros(n_features), np.zeros(n_features), np.ones(n_features, np.float32)
    return features, 0, np.ones(32, np.float32), *numbers, np.ones(32, np.float32)


HOT = {
    "_sums_of_quotients": (smoothed_kernels._sums_of_quotients, DOCS, *[np.float32(1)] * 2),
    "_spread_quotients": (smoothed_kernels._spread_quotients, DOCS, *[np.float32(1)] * 4, DOCS.copy()),
    "_compare_two": (smooth._compare_two, *[np.float32(1)] * 4, DOCS, DOCS, DOCS.copy(), DOCS.copy()),
    "_arrive": (smooth_stops._arrive, DOCS, DOCS, 1.0),
    "_pull": (smooth_stops._pull, DOCS, DOCS, DOCS, 1.0, 1.0, DOCS.copy()),
    **{
        f"hinges.one_winner {name}": (hinges.one_winner, form, np.float32(1), DOCS, DOCS.copy(), 0.5)
        for name, form in HINGES.items()
    },
    **{
        f"quotients.one_winner {type(rule).__name__}": (
            *(quotients.one_winner, rule, *[np.float32(1)] * 2, winner, DOCS, DOCS, numbers, DOCS.copy()),
        )
        for rule, winner, numbers in RULES
    },
    "differences.terms_of_pairs": (differences.terms_of_pairs, DOCS, DOCS, *(DOCS.copy() for _ in range(3))),
    **{
        f"weighted.turn {name}": (
            *(weighted.turn, form, np.float32(1), np.float32(1), 0.5, DOCS, DOCS, DOCS.copy()),
        )
        for name, form in {
            "huber": Huber().form,
            "squared": SquaredHinge().form,
            "log": LogisticForm(),
        }.items()
    },
    "row_products": (products.row_products, TWO, np.ones(8, np.float32), DOCS.copy()),
    "transposed_product": (products.transposed_product, TWO, DOCS, np.zeros(8), np.zeros(8)),
    "row_products of halves": (products.row_products, WORDS, np.ones(32, np.float32), DOCS.copy()),
    "transposed_product of halves": (products.transposed_product, WORDS, DOCS, np.zeros(32), np.zeros(32)),
    "products_of_tiles": (products.products_of_tiles, *tiles(TWO, 8)),
    "products_of_tiles of halves": (products.products_of_tiles, *tiles(WORDS, 32)),
    "signed_logarithms": (signed_logarithms, np.ones(8), np.ones(8, np.bool_), *np.ones((4, 8))),
    "add_moments": (statistics.add_moments, TWO, np.ones(64), np.ones(8, np.float32), *np.ones((3, 8))),
    "_ranges": (statistics._ranges, TWO, QUERIES, np.ones((2, 2, 8), np.float32), *np.ones((2, 1, 8))),
    "_standardise": (scaling._standardise, TWO.copy(), np.ones(8, np.float32), *np.ones((2, 8))),
    "_count_and_keep": (
        *(statistics._count_and_keep, TWO, *np.ones((2, 8), np.float32), np.zeros((6, 8), np.int64)),
        np.ones((8, 64), np.float32),
    ),
    "_greater_and_equal": (positions._greater_and_equal, DOCS, np.float32(1), 0, 0),
    "_compare_cells": (positions._compare_cells, 0, CELLS, 8, CELLS.copy(), CELLS.copy()),
}


# The first group inspects a few kernels.
@pytest.mark.parametrize("dtype", first_group([np.float32, np.float64], lambda each: each is np.float32))
@pytest.mark.parametrize("name", first_group(HOT, lambda name: list(HOT).index(name) % 6 == 0))
def test_is_vectorised(name, dtype):
    assembly = assembly_of(name, dtype)
    assert re.search(WIDE, assembly), f"{name} runs one number at a time"


@pytest.mark.parametrize(
    "name", ["signed_logarithms", "add_moments", "_ranges", "_count_and_keep", "_standardise"]
)
def test_nothing_is_stored_under_a_mask(name):
    """Such stores take ten times as long on processors with AVX2 alone."""
    assert not re.search(r"vmaskmovp[sd]\s+%.*\(", assembly_of(name, np.float32))


def assembly_of(name, dtype):
    """The text of a hot kernel, with vectors of numbers of a type."""
    compiled, *arguments = HOT[name]
    typed = [
        each.astype(dtype)
        if isinstance(each, np.ndarray) and each.ndim == 1 and each.dtype.kind == "f"
        else each
        for each in arguments
    ]
    typed = [dtype(each) if isinstance(each, np.floating) else each for each in typed]
    compiled(*typed)
    wanted = compiled.signatures[-1]
    # Code from the cache folder has no text to inspect: compile this signature again.
    fresh = njit(compiled.py_func, **OPTIONS)
    fresh.compile(wanted)
    assembly, _, _ = fresh.inspect_asm(wanted).partition("cpython")  # what follows calls it from Python
    return assembly
