"""Phases are timed without the phases inside them, and only while someone profiles."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from directrank import RankSVM, evaluate, make_ranking, timing, write_letor
from directrank.apps.cli import main
from directrank.estimators.methods import configured
from directrank.timing import (
    COMPILING,
    FOR_PROFILE,
    Compilation,
    Profile,
    phase,
    seconds_of_work,
    watching,
)


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])

    def pass_by(seconds):
        now[0] += seconds

    return pass_by


def test_a_phase_has_the_time_that_no_phase_inside_it_has(clock):
    with Profile() as profile:
        clock(1)
        with phase("outer"):
            clock(2)
            for _ in range(3):
                with phase("inner"):
                    clock(4)
        clock(8)
    assert profile.seconds == {"outer": 2, "inner": 12, "other": 9}
    assert profile.calls == {"outer": 1, "inner": 3}
    assert profile.total == 23


def test_what_is_run_for_the_profile_alone_is_in_no_time(clock):
    with Profile() as profile:
        clock(1)
        with phase(FOR_PROFILE):
            clock(16)
            with phase("outer"):
                clock(64)
        with phase("outer"):
            clock(2)
            with phase(FOR_PROFILE):
                clock(32)
    assert profile.seconds == {"outer": 2, "other": 1}
    assert profile.calls == {"outer": 1}
    assert profile.total == 3


@pytest.mark.parametrize("method", ["ranksvm", "approxndcg", "rankboost"])
def test_a_profile_changes_no_bit(method):
    groups = make_ranking(20, 9, 5, random_state=0)
    plain = configured(method)[0].build().fit(groups, eval_set=groups)
    with Profile() as profile:
        timed = configured(method)[0].build().fit(groups, eval_set=groups)
    np.testing.assert_array_equal(plain.predict(groups), timed.predict(groups))
    assert {"grouping by query", "passes over shards", "scaling", "solver", "monitor"} <= set(profile.seconds)
    assert profile.facts["read"] > 0
    assert ("surrogate" in profile.facts) == (method != "rankboost")


def test_the_command_prints_it(tmp_path, capsys):
    data, model = tmp_path / "train.txt", tmp_path / "model.dr"
    write_letor(make_ranking(20, 9, 5, random_state=0), data)
    given = ["fit", "ranksvm", str(data), "-o", str(model), "--profile"]
    assert main([*given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["profile"]
    shares = [each["share"] for each in found["phases"]]
    assert sum(shares) == pytest.approx(1)
    assert shares == sorted(shares, reverse=True)
    assert main(given) == 0
    out = capsys.readouterr().out
    assert "passes over shards" in out
    assert "a gradient, step by step, in read passes: scores " in out
    assert "times the training features" in out
    assert main(["fit", "ranksvm", str(data), "-o", "-", "--profile"]) == 2
    assert "--profile: the model goes to standard output" in capsys.readouterr().err


def test_who_watches_is_told_of_every_value_of_the_monitor():
    train, vali = (make_ranking(12, 6, 3, random_state=seed) for seed in range(2))
    seen = []
    with watching(lambda measure, value: seen.append((measure, value))):
        ranker = RankSVM(select_by="AP").fit(train, eval_set=vali)
    assert max(value for _, value in seen) == evaluate(vali, ranker.predict(vali), measures="AP")["AP"]
    assert {measure for measure, _ in seen} == {"AP"}
    told = len(seen)
    ranker.fit(train)
    assert len(seen) == told


@pytest.fixture
def compilation(clock, monkeypatch):
    """A process that has compiled nothing, and the lines that it says."""
    found, lines = Compilation(), []
    found.announce = lines.append
    monkeypatch.setattr(timing, "compilation", found)
    return found, lines


def test_the_clock_of_work_stands_still_while_kernels_are_compiled(clock, compilation):
    started = seconds_of_work()
    clock(1)
    with compilation[0].running():
        clock(4)
        with compilation[0].running():
            clock(8)
            assert seconds_of_work() - started == 1
    clock(16)
    assert seconds_of_work() - started == 17
    assert compilation[0].seconds == 12


def test_compilation_is_said_once_when_it_has_taken_two_seconds(clock, compilation):
    process, lines = compilation
    for seconds, count in ((1.5, 0), (0.4, 0), (0.2, 1), (9.0, 1)):
        with process.running():
            clock(seconds)
        assert lines == [COMPILING] * count


NEW_KERNEL = """
from directrank import timing
timing.LONG, timing.compilation.announce = 0.0, print
from directrank import evaluate
before = timing.compilation.seconds
evaluate([1, 0], [0.5, 0.25], measures="AP")
print(timing.compilation.seconds > before)
"""


@pytest.mark.heavy
def test_every_compilation_of_a_kernel_counts_and_loading_it_does_not(tmp_path):
    for printed in (f"{COMPILING}\nTrue\n", "False\n"):
        done = subprocess.run(
            [sys.executable, "-c", NEW_KERNEL],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONWARNINGS": "ignore"},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout) == (0, printed), done.stderr
