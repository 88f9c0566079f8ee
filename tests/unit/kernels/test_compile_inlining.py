"""A kernel that another kernel calls is taken into it, and has no compiled code of its own."""

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numba.core.registry import CPUDispatcher

from directrank.kernels import compile as jit
from directrank.kernels.compile import kernel
from directrank.surrogates.pairs.kernels import PAIR_CURVATURE, PAIR_SUMS


def inner(values, cutoff):
    if cutoff > len(values):
        raise ValueError("cutoff beyond the list", cutoff, len(values))
    spare = np.empty(cutoff)
    spare[:] = values[:cutoff]
    return spare.sum()


def pair():
    """An inner kernel and one that calls it, both new."""
    taken: Any = kernel(inner)

    def outer(values, cutoff):
        return 2 * taken(values, cutoff)

    # A closure cannot be kept in a cache folder; a global of the test's module can.
    return taken, jit.Kernel(outer)


def test_this_numba_has_what_kernels_are_built_on():
    assert jit.takes_in(), "numba has changed inside: see INTERNALS of directrank.kernels.compile"


def test_called_kernel_is_typed_once_and_has_no_code_of_its_own():
    taken, outer = pair()
    assert outer(np.arange(5.0), 4) == 12
    assert outer(np.arange(5.0), 3) == 6
    assert taken.signatures == []
    (form,) = taken.callee.overloads.values()
    assert form.library.codegen._engine.is_symbol_defined(form.fndesc.llvm_func_name) is False
    assert "PyArg" not in form.library.get_llvm_str(), "an entry from Python in code that is only taken in"


def test_kernel_can_be_called_and_taken_in_by_turns():
    taken, outer = pair()
    assert taken(np.arange(5.0), 4) == 6
    assert outer(np.arange(5.0), 4) == 12
    assert outer(np.arange(5, dtype=np.float32), 4) == 12
    assert taken(np.arange(5, dtype=np.float32), 4) == 6


def test_constants_make_no_form_of_their_own():
    taken: Any = kernel(inner)

    def outer(values):
        return taken(values, 2) + taken(values, len(values))

    assert jit.Kernel(outer)(np.arange(5.0)) == 11
    assert len(taken.callee.overloads) == 1


def test_errors_come_through():
    _, outer = pair()
    with pytest.raises(ValueError, match="cutoff beyond the list") as caught:
        outer(np.arange(3.0), 7)
    assert caught.value.args == ("cutoff beyond the list", 7, 3)


def test_without_the_internals_kernels_are_plain_dispatchers(monkeypatch):
    monkeypatch.setattr(jit, "INTERNALS", ((CPUDispatcher, ("no_such_method",)),))
    plain = kernel(inner)
    assert type(plain) is CPUDispatcher
    assert plain(np.arange(5.0), 4) == 6


MISSING = """
from directrank import jit
jit.INTERNALS += ((object, ("no_such_method",)),)
jit._share_constants = None  # it asks what may be missing
from directrank.data import make_ranking
from directrank.estimators import ApproxRank
from numba.core.registry import CPUDispatcher
from directrank.kernels.vector_math import extremes
assert type(extremes) is CPUDispatcher
groups = make_ranking(30, 10, 2000, random_state=0)
print(len(groups.shards), len(ApproxRank("nDCG", max_iterations=2).fit(groups).history_))
"""


def test_a_numba_without_them_trains(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", MISSING], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "2 3\n"


def test_margins_are_kept_under_names_of_their_own():
    for kernels in (PAIR_SUMS, PAIR_CURVATURE):
        assert len({each.py_func.__qualname__ for each in kernels.values()}) == len(kernels)


SPEAKING = """
import numpy as np
from directrank.kernels.compile import kernel
from directrank.surrogates.pairs.kernels import PAIR_CURVATURE, PAIR_SUMS

@kernel
def inner(name, value):
    print("value of", name, value)

@kernel
def outer(value):
    inner("first", value)
    return value + 1

print(outer(1))
"""


def test_constants_of_the_taken_in_reach_the_taker(tmp_path):
    script = tmp_path / "speaking.py"
    script.write_text(SPEAKING)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for _ in range(2):  # compiled, then loaded
        done = subprocess.run(
            [sys.executable, script], env=environment, capture_output=True, text=True, check=True, timeout=120
        )
        assert done.stdout.split("\n")[:2] == ["value of first 1", "2"]


FIT = """
import numpy as np
from directrank import quotients
from directrank.data import make_ranking
from directrank.estimators import ApproxRank
from directrank.surrogates import smoothed_kernels
if {first}:
    for dtype in (np.float32, np.float64):
        docs = np.linspace(0, 1, 64).astype(dtype)
        smoothed_kernels._sums_of_quotients(docs, dtype(1), dtype(1))
        quotients.extremes(docs)
groups = make_ranking(60, 150, 45, grades=3, noise=2.0, random_state=0)
print(ApproxRank("AP", penalty=1e-4, steepness=100.0).fit(groups).scorer_.coefficients.tobytes().hex())
"""


def test_bits_do_not_depend_on_what_was_compiled_before(tmp_path):
    alone, after = (
        subprocess.run(
            [sys.executable, "-c", FIT.format(first=first)],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / str(first))},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for first in (False, True)
    )
    assert alone == after
