"""Another package's work in a process of its own, on one processor, which says how long each burst took."""

import json
import subprocess
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.case import Figure
from benchmarks.environments import HERE, python_of


class Worker:
    """A process of an environment that has read arrays and waits.

    Parameters
    ----------
    environment : str
        Its worker has the same name, with underscores.
    arrays : dict of str to ndarray
        Written to files that the worker reads.

    Attributes
    ----------
    found : dict
        What the worker computed in its first burst, which warms it up: a check of equal work.

    Raises
    ------
    NotMeasuredError
        If the environment is missing.
    RuntimeError
        If the worker fails, with the last line that it printed.
    """

    def __init__(self, environment: str, arrays: dict[str, np.ndarray]):
        python = python_of(environment)
        self._folder = tempfile.TemporaryDirectory(prefix="directrank-package-")
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - open as long as the process
        for name, array in arrays.items():
            np.save(Path(self._folder.name) / f"{name}.npy", array)
        script = HERE / "workers" / f"{environment.replace('-', '_')}_worker.py"
        self._process = subprocess.Popen(
            [python, script, self._folder.name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
            start_new_session=True,  # Ctrl-C is for the runner
        )  # fmt: skip
        weakref.finalize(self, _end, self._process, self._folder, self._errors)
        self.found: dict[str, Any] = self._answer()

    def __call__(self) -> Figure:
        """Do the work once, and return the processor time that it took."""
        assert self._process.stdin is not None
        self._process.stdin.write("run\n")
        self._process.stdin.flush()
        return Figure(self._answer()["seconds"])

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._errors.seek(0)
            lines = self._errors.read().strip().splitlines() or [f"exit code {self._process.returncode}"]
            raise RuntimeError(lines[-1])
        return json.loads(line)


def _end(process: subprocess.Popen, folder: tempfile.TemporaryDirectory, errors) -> None:
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()
    folder.cleanup()
    errors.close()
