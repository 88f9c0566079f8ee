"""The checks of `directrank doctor`."""

import platform
import sys
import time
import warnings
from collections.abc import Iterator
from importlib.util import find_spec

#: Packages that only some inputs need.
OPTIONAL = ("pandas", "polars", "pyarrow")

Finding = tuple[str, str, bool]


def examined() -> list[Finding]:
    """Return the name of each check, what it found, and whether that is fine."""
    return [*_versions(), *_machine(), _compiled_code(), _small_fit()]


def compiled() -> Finding:
    """Compile all kernels, with a progress bar on a terminal; return how long it took.

    The first steps compile what all others use, so that the time that is left cannot be told from them.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from directrank.diagnostics.warming import warm_steps

    started, steps = time.perf_counter(), warm_steps()
    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn()
    screen = Console(stderr=True)
    with Progress(
        *columns, TimeElapsedColumn(), console=screen, transient=True, disable=not sys.stderr.isatty()
    ) as progress:
        task = progress.add_task("", total=len(steps))
        for name, compile_kernels in steps:
            progress.update(task, description=f"Compiling kernels: {name}")
            compile_kernels()
            progress.advance(task)
    return "compilation", f"all kernels in {time.perf_counter() - started:.0f} s", True


def _versions() -> Iterator[Finding]:
    from directrank.experiments.identity import versions

    yield "python", platform.python_version(), True
    for name, version in versions().items():
        yield name, version, True
    present = [name for name in OPTIONAL if find_spec(name)]
    yield "optional packages", ", ".join(present) or "none", True


def _machine() -> Iterator[Finding]:
    from directrank.features.shards import processors

    yield "platform", platform.platform(), True
    yield "processors", str(processors()), True


def _compiled_code() -> Finding:
    from directrank.kernels.compile import cache_folder

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        folder = cache_folder()
    if folder is None:
        problem = str(caught[0].message) if caught else "no writable folder; set NUMBA_CACHE_DIR"
        return "compiled kernels", problem, False
    return "compiled kernels", f"cached in {folder}", True


def _small_fit() -> Finding:
    from directrank.data import make_ranking
    from directrank.estimators import Regression
    from directrank.measures import evaluate

    started = time.perf_counter()
    try:
        groups = make_ranking(30, 10, 5, noise=0.0, random_state=0)
        value = evaluate(groups, Regression().fit(groups).predict(groups), measures="nDCG@10")["nDCG@10"]
    except Exception as error:  # The finding reports the error.
        return "a small fit", f"{type(error).__name__}: {error}", False
    return "a small fit", f"nDCG@10 {value:.3f} in {time.perf_counter() - started:.1f} s", value > 0.9
