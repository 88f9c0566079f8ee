"""Kernels are compiled ahead of time, so that nothing is compiled while training times are measured."""

import os
import subprocess
import sys
import warnings

import pytest
from numba.core.event import install_recorder

from directrank import make_ranking
from directrank.apps.cli import warming
from directrank.estimators.methods import configured
from directrank.features.statistics import FEWEST_ROWS
from directrank.timing import COMPILING
from groups import first_group


@pytest.mark.parametrize("shape", [warming.SMALL, warming.LARGE])
def test_collections_are_trained_in_both_kinds_of_float(shape):
    train, vali = warming._groups(shape)
    assert len(train.shards) == (1 if shape is warming.SMALL else 2)
    assert vali.n_queries
    # Large collections have their medians by limits, whose kernel is warm too.
    assert (train.n_docs >= FEWEST_ROWS) == (shape is warming.LARGE)


def test_there_is_a_step_for_each_method_and_kind_of_float():
    names = [name for name, _ in warming.warm_steps("all", "AP", False)]
    # An ensemble trains nothing that the other methods have not trained.
    assert len(set(names)) == len(names) == 6 + 2 * (len(configured("all")) - 1)
    assert "auto(AP)" not in names
    alone = [name for name, _ in warming.warm_steps("auto", "AP", False)]
    assert alone[-2:] == ["auto(AP)", "auto(AP) in float32"]


def test_no_step_warns_of_its_synthetic_collection():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warming.warm_up("regression", small=True)


@pytest.mark.parametrize("method", first_group(["ranksvm", "approxndcg"], lambda name: name == "ranksvm"))
def test_after_all_steps_training_compiles_nothing(method):
    warming.warm_up(method)
    for groups in (make_ranking(30, 9, 7, random_state=1), make_ranking(9, 300, 300, random_state=1)):
        with install_recorder("numba:compile") as compiled:
            configured(method, "nDCG@10")[0].build().fit(groups).predict(groups)
        assert not compiled.buffer


DEMO = """
from numba.core.event import install_recorder
from directrank.apps.cli.demos import shop as demo
from directrank.features.statistics import FEWEST_ROWS
from directrank.timing import compilation
compare = demo.compare

def without_compilation(*arguments, **options):
    with install_recorder("numba:compile") as compiled:
        result = compare(*arguments, **options)
    # The comparison that the user sees has a name; the one before it compiles.
    assert "name" not in options or not compiled.buffer, compiled.buffer
    return result

demo.compare, demo.SHOWN = without_compilation, ("regression", "ranksvm")
compilation.announce = print
demo.run_demo("demo")
"""


@pytest.mark.heavy
def test_the_demo_compiles_before_it_trains(tmp_path):
    for lines in (COMPILING + "\n", ""):
        done = subprocess.run(
            [sys.executable, "-c", DEMO],
            cwd=tmp_path,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout) == (0, lines), done.stderr
