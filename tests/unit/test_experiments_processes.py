"""Several processes on one comparison: their threads, their number, and what becomes of their errors."""

import os

import numba
import pytest
from threadpoolctl import threadpool_info

from directrank import compare, make_ranking
from directrank.data import shards
from directrank.errors import DataFormatError, MethodError
from directrank.estimators import Regression, methods
from directrank.estimators.methods import Method
from directrank.experiments import parallel
from directrank.experiments.demo import write_folds
from directrank.experiments.store import Store
from directrank.solvers import ClosedForm


class Counted(Regression):
    """Says how many threads each library would use while it is fitted."""

    def fit(self, X, y=None, qid=None, **options):
        super().fit(X, y, qid, **options)
        pools = [pool["num_threads"] for pool in threadpool_info()]
        self.certificate_ = {
            "pools": max(pools),
            "numba": numba.get_num_threads(),
            "ours": self._n_threads(),
            "evaluation": shards.processors(),
            "process": os.getpid(),
        }
        return self


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    fake = Method("counted", Counted, "counts", "no paper", grid={"ridge": (0.0, 1.0)})
    monkeypatch.setattr(methods, "METHODS", (fake,))


@pytest.fixture
def folder(tmp_path):
    write_folds(make_ranking(36, 7, 4, random_state=3), tmp_path / "data")
    return tmp_path / "data"


def test_processes_have_one_thread_each(folder):
    certificates = [cell["training"]["certificate"] for cell in compare(folder, "counted", jobs=2).cells]
    for certificate in certificates:
        assert certificate.pop("process") != os.getpid()
        assert certificate == {"pools": 1, "numba": 1, "ours": 1, "evaluation": 1}


def test_one_process_has_one_thread_for_linear_algebra_beside_its_own(folder, monkeypatch):
    """Within a fit there are threads over shards, so none of BLAS."""
    pools = []

    def solve(self, objective, *arguments):
        pools.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return solution(self, objective, *arguments)

    solution = ClosedForm.solve
    monkeypatch.setattr(ClosedForm, "solve", solve)
    compare(folder, "counted")
    assert pools
    assert set(pools) == {1}


def test_there_are_no_more_processes_than_processors(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(parallel, "processors", lambda: 1)
    compare(folder, "counted", jobs=6, out=tmp_path / "run")
    owners = {row["owner"] for row in Store(tmp_path / "run").log()}
    assert len({owner for owner in owners if f":{os.getpid()}:" not in owner}) == 1


@pytest.mark.parametrize(
    ("environment", "quota", "expected"),
    [
        ({}, "max 100000", 8), ({}, "150000 100000", 1), ({}, "50000 100000", 1), ({}, "300000 100000", 3),
        ({}, None, 8), ({"OMP_NUM_THREADS": "2"}, None, 2), ({"OMP_NUM_THREADS": "99"}, "max 100000", 8),
        ({"OMP_NUM_THREADS": "4,2"}, None, 8), ({"OMP_NUM_THREADS": "0"}, None, 8),
    ],
)  # fmt: skip
def test_processors_are_those_this_process_may_use(tmp_path, monkeypatch, environment, quota, expected):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(shards.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(shards, "QUOTA", tmp_path / "cpu.max")
    if quota is not None:
        (tmp_path / "cpu.max").write_text(quota + "\n")
    assert shards.processors() == expected


def test_processes_that_only_die_are_an_error(folder, monkeypatch):
    monkeypatch.setattr(parallel, "processors", lambda: 1)
    monkeypatch.setattr(parallel, "share", lambda *_: os._exit(9))
    with pytest.raises(MethodError, match=r"processes die before they finish anything.*fewer --jobs"):
        compare(folder, "counted", jobs=2)


def test_a_line_that_only_a_process_has_read_is_named(folder, tmp_path):
    (folder / "Fold3" / "test.txt").write_text("1 qid:999 1:x\n")
    with pytest.raises(DataFormatError, match=r"Fold3/test\.txt:1:13"):
        compare(folder, "counted", jobs=2, out=tmp_path / "run")
