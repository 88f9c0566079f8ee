"""Compiled code is cached by its sources, and its bits do not depend on what was compiled before."""

import os
import subprocess
import sys

import numpy as np
import pytest

from directrank.kernels import compile as compilation
from directrank.kernels.compile import cache_folder, kernel

FIT = """
import numpy as np
from directrank import make_ranking
from directrank.estimators import ApproxRank
from directrank.kernels import vector_math
from directrank.surrogates.positions import smoothed_kernels
if {first}:
    for dtype in (np.float32, np.float64):
        docs = np.linspace(0, 1, 64).astype(dtype)
        smoothed_kernels._sums_of_quotients(docs, dtype(1), dtype(1))
        vector_math.extremes(docs)
groups = make_ranking(60, 150, 45, grades=3, noise=2.0, random_state=0)
print(ApproxRank("AP", penalty=1e-4, steepness=100.0).fit(groups).scorer_.coefficients.tobytes().hex())
"""


def fitted(folder, first=False):
    """Return the bits of a model that a process of its own trains, with its compiled code in a folder."""
    return subprocess.run(
        [sys.executable, "-c", FIT.format(first=first)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.heavy
def test_compiled_and_loaded_kernels_have_the_same_bits(tmp_path):
    compiled, loaded = fitted(tmp_path), fitted(tmp_path)
    assert any(tmp_path.rglob("*.nbc"))
    assert compiled == loaded
    assert fitted(tmp_path / "another", first=True) == compiled


def add_one(values):
    for k in range(len(values)):
        values[k] += 1


def test_without_a_writable_folder_kernels_compile_with_one_warning(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    cache_folder.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match=r"cannot be cached.*Set NUMBA_CACHE_DIR") as caught:
            kernels = kernel(add_one), kernel(add_one)
    finally:
        cache_folder.cache_clear()
    assert len(caught) == 1
    values = np.zeros(2)
    for each in kernels:
        each(values)
    assert values.tolist() == [2, 2]


def package_of(folder, **changes):
    """Write a package of three modules with a kernel each, of which the third calls plug-ins."""
    sources = {
        "kernels/compile": "",
        "callee": "from directrank.kernels.compile import kernel\n",
        "caller": "from directrank.kernels.compile import kernel\nfrom directrank import (\n    callee,\n)\n",
        "loop": "from directrank.kernels.compile import kernel\nquery_gradient()\n",
        "plugin": "from directrank.kernels.compile import kernel\n",
        "report": "",
    }
    for name, text in (sources | changes).items():
        path = folder / "directrank" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "directrank"


@pytest.mark.parametrize(
    ("edited", "recompiled"),
    [
        ("callee", {"callee", "caller", "loop"}),
        ("caller", {"caller", "loop"}),
        ("plugin", {"plugin", "loop"}),
        ("loop", {"loop"}),
        ("kernels/compile", {"callee", "caller", "loop", "plugin"}),
        ("report", set()),
    ],
)
def test_an_edit_recompiles_what_it_touches(tmp_path, monkeypatch, edited, recompiled):
    modules = ("callee", "caller", "loop", "plugin")

    def forget():
        ours = ("_files", "_source", "_imported", "_with_all_kernels", "_digest_of_one", "_digest_of_all")
        for name in ours:
            getattr(compilation, name).cache_clear()
        compilation.source_digest.cache_clear()

    def digests(folder, **changes):
        monkeypatch.setattr(compilation, "PACKAGE", package_of(folder, **changes))
        forget()
        return {name: compilation.source_digest(f"directrank.{name}") for name in modules}

    try:
        before = digests(tmp_path)
        text = (tmp_path / "directrank" / f"{edited}.py").read_text()
        after = digests(tmp_path, **{edited: text + "# another line\n"})
    finally:
        forget()
    assert {name for name in modules if before[name] != after[name]} == recompiled


def test_the_digest_reaches_the_kernels_that_a_module_imports():
    reached = compilation._closure({"directrank.surrogates.pairs.runs"})
    assert {"directrank.kernels.vector_math", "directrank.surrogates.margins"} <= reached
    assert "directrank.apps.report" not in reached
