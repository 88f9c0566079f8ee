"""NUMBA_DISABLE_JIT=1, with which people debug: the same results, and no warning of NumPy."""

import os
import subprocess
import sys

import pytest

METHODS = "regression,ranksvm,listmle,lambdarank,approxap,adarank,rankboost"
SCRIPT = f"""
import sys, warnings
import numpy as np
from directrank import RankBoost, evaluate, make_ranking, read_letor, write_letor
from directrank.diagnostics.data_check import scan
from directrank.estimators.methods import configured
from naive import positions_naive
from directrank.measures import positions
from directrank.measures.positions import positions_of

positions.FEW_DOCUMENTS = 0  # The kernel counts.
warnings.simplefilter("error")
groups = make_ranking(8, 6, 3, random_state=0)
write_letor(groups, sys.argv[1])
read = read_letor(sys.argv[1])
assert np.array_equal(read.features, groups.features)
found = scan(read.features, read.queries.indptr)
assert len(np.unique(found.rows)) == read.n_docs
assert len(np.unique(found.columns)) == read.n_features
for method in configured({METHODS!r}):
    ranker = method.build()
    for limit in {{"max_iterations", "rounds"}} & set(vars(ranker)):
        setattr(ranker, limit, 2)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(converge|stopped)")
        scores = ranker.fit(read).predict(read)
    assert np.isfinite(scores).all()
    print(method.label, *evaluate(read, scores, measures=["AP", "nDCG@3", "RR", "WPD"]).values())
stumps = RankBoost(rounds=3, search="histogram").fit(read).predict(read)
print("histogram", *evaluate(read, stumps, measures=["AP", "nDCG@3", "RR", "WPD"]).values())
for kind in (np.float32, np.float64):
    most, least = np.finfo(kind).max, np.finfo(kind).smallest_subnormal
    for values in ([0, 0], [least, 0], [-most, most]):
        scores = np.resize(np.array(values, kind), groups.n_docs)
        found, right = positions_of(groups.queries, scores), positions_naive(groups.queries, scores)
        assert np.array_equal(found.above, right.above) and np.array_equal(found.tied, right.tied)
"""


def values(folder, disabled: str) -> dict[str, list[float]]:
    words = [sys.executable, "-c", SCRIPT, folder / "data.txt"]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": disabled}
    ended = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    lines = (line.split() for line in ended.stdout.splitlines())
    return {name: list(map(float, numbers)) for name, *numbers in lines}


@pytest.mark.heavy
def test_fits_and_measures_are_those_of_compiled_code(tmp_path):
    plain, compiled = values(tmp_path, "1"), values(tmp_path, "0")
    assert plain.keys() == compiled.keys()
    assert len(plain) == 8
    for name, numbers in plain.items():
        assert numbers == pytest.approx(compiled[name], abs=1e-4), name
