"""A comparison in processes that is stopped: nothing runs on, what is finished is kept, and it resumes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from directrank import make_ranking
from directrank.apps.cli.demos.shop import write_folds
from system.disturbed import children

COMMAND = [
    sys.executable, "-m", "directrank", "compare", "data", "--methods", "approxap,approxndcg,svmmap",
    "--measures", "AP", "--quiet", "--jobs", "2", "--out",
]  # fmt: skip


def lives(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with data, and the results of a comparison of them that nothing disturbed."""
    folder = tmp_path_factory.mktemp("interruptions")
    write_folds(make_ranking(120, 20, 10, random_state=4), folder / "data")
    assert subprocess.run([*COMMAND, "whole"], cwd=folder, capture_output=True).returncode == 0
    return folder


@pytest.fixture(autouse=True)
def taken():
    """Have SIGINT taken here, so that processes do not ignore it where tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("which", "group", "code"),
    [
        (signal.SIGINT, True, 130),
        (signal.SIGINT, False, 130),
        (signal.SIGTERM, False, 130),
        (signal.SIGKILL, False, -signal.SIGKILL),
    ],
)
def test_a_comparison_that_is_stopped(place, which, group, code):
    out = place / f"run-{which}-{group}"
    process = subprocess.Popen(
        [*COMMAND, out.name], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    while not (working := children(process.pid)) and process.poll() is None:
        time.sleep(0.02)
    time.sleep(2.0)  # until they have begun to fit
    working += children(process.pid)
    (os.killpg if group else os.kill)(process.pid, which)
    _, message = process.communicate()
    assert process.returncode == code
    assert "Traceback" not in message
    if code == 130:
        assert f"saved in {out.name}: rerun the same command" in message.splitlines()[-1]
    deadline = time.monotonic() + 60
    while any(map(lives, working)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(lives, working))
    assert subprocess.run([*COMMAND, out.name], cwd=place, capture_output=True).returncode == 0
    assert (out / "results.csv").read_bytes() == (place / "whole" / "results.csv").read_bytes()
