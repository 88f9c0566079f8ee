"""Memory that nothing was written to, filled on purpose: who reads it computes with numbers of another's.

`np.empty` and `np.empty_like` promise nothing about what an array holds. Mostly it holds zeros, so a result
that depends on it looks right. `pytest --memory nan` fills such arrays in Python and inside compiled kernels.
"""

import functools
import os

import numba
import numpy as np
from numba.extending import overload

from directrank.kernels.compile import cache_folder

#: As an index, 2³⁰ - 1 lies outside every array; in fewer bits all of them are set.
LARGE = 2**30 - 1
#: What arrays of fractions hold, and what arrays of whole numbers and truth values hold.
FILLS = {"ones": ([1.0], [1]), "nan": ([np.nan], [LARGE]), "large": ([1e30], [LARGE])}

allocate, allocate_like = np.empty, np.empty_like


def spoiled(fractions, integers):
    """Return `np.empty` and `np.empty_like` that fill arrays with these numbers, again and again.

    The first number is drawn, so that two calls with the same arguments find different memory.
    """
    numbers = {"f": np.array(fractions, np.float64), "i": np.array(integers, np.int64)}
    numbers |= {"u": numbers["i"], "b": numbers["i"]}
    draws = np.random.default_rng(0)

    def spoil(array):
        if array.dtype.kind in numbers:
            values = numbers[array.dtype.kind]
            with np.errstate(over="ignore"):
                values = np.roll(values, draws.integers(len(values))).astype(array.dtype)
            # One number needs no second array, which tests of memory would count.
            array[...] = values if len(values) == 1 else np.resize(values, array.shape)
        return array

    @overload(spoil)
    def compiled_spoil(array):
        values = numbers["f" if isinstance(array.dtype, numba.types.Float) else "i"]

        def fill(array):
            first = np.random.randint(len(values))  # noqa: NPY002 - the generator inside compiled code
            for k in range(array.size):
                array.flat[k] = values[(first + k) % len(values)]
            return array

        return fill

    @functools.wraps(allocate)
    def empty(*arguments, **options):
        return spoil(allocate(*arguments, **options))

    @overload(empty)
    def compiled_empty(shape, dtype=float):
        return lambda shape, dtype=float: spoil(allocate(shape, dtype))

    @functools.wraps(allocate_like)
    def empty_like(*arguments, **options):
        return spoil(allocate_like(*arguments, **options))

    @overload(empty_like)
    def compiled_empty_like(arr, dtype=None):
        return lambda arr, dtype=None: spoil(allocate_like(arr, dtype))

    return empty, empty_like


def fill_memory(fractions, integers, cache) -> None:
    """Let `np.empty` and `np.empty_like` fill arrays with these numbers from now on, in this process.

    Kernels are compiled with them, and the compiled code has a cache of its own, so this comes before any
    module with kernels is imported. Other processes that this one starts have another cache: their memory is
    as it comes.
    """
    if cache_folder.cache_info().currsize:
        raise RuntimeError("a kernel has its cache folder already: fill memory before importing it")
    numba.njit(lambda: allocate(1))()  # numba learns its own `np.empty` here, at the first compilation
    np.empty, np.empty_like = spoiled(fractions, integers)
    os.environ["NUMBA_CACHE_DIR"] = str(cache)
    cache_folder()
    os.environ["NUMBA_CACHE_DIR"] = str(cache / "of-other-processes")
