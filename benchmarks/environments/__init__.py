"""Other packages in virtual environments of their own: creating them, and where they are.

Each has a file of pinned requirements here, installed without resolving dependencies, and a worker.
"""

import hashlib
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

from benchmarks.case import NotMeasuredError

HERE = Path(__file__).parent
NAMES = tuple(sorted(path.stem for path in HERE.glob("*.txt")))
#: A file that tells for which requirements an environment was completed, and one that tells why it was not.
COMPLETE, PROBLEM = "complete", "problem.txt"

_folder: Path | None = None


def use(folder: Path | None, say: Callable[[str], None]) -> None:
    """Use the environments of a folder, by default of the user's cache, and create those that are missing."""
    global _folder
    _folder = (folder or default_folder()).resolve()
    for name in NAMES:
        if not _is_complete(_folder / name):
            say(f"creating the environment of {name} in {_folder}")
            create(_folder / name)


def default_folder() -> Path:
    """Return the folder of environments in the user's cache."""
    import platformdirs

    return platformdirs.user_cache_path("directrank") / "benchmarks"


def python_of(name: str) -> Path:
    """Return the Python of an environment.

    Raises
    ------
    NotMeasuredError
        If there is no such environment, saying why.
    """
    folder = (_folder or default_folder()) / name
    if _is_complete(folder):
        return _python(folder)
    problem = folder / PROBLEM
    why = problem.read_text() if problem.is_file() else "run with --environments to create it"
    raise NotMeasuredError(f"no environment of {name}: {why}")


def pinned_versions(name: str) -> dict[str, str]:
    """Return the versions of the packages of an environment."""
    lines = (line.partition("==") for line in _requirements(name).read_text().splitlines())
    return {package: version for package, _, version in lines}


def create(folder: Path) -> None:
    """Create an environment; where that fails, a file in its folder says why."""
    requirements = _requirements(folder.name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PROBLEM).unlink(missing_ok=True)
    try:
        venv.create(folder, clear=True, with_pip=True)
        install = ["-m", "pip", "install", "--quiet", "--no-deps", "--requirement", str(requirements)]
        given = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        subprocess.run([_python(folder), *install], check=True, capture_output=True, text=True, env=given)
    except (OSError, subprocess.CalledProcessError) as error:
        lines = [each for each in str(getattr(error, "stderr", "") or error).splitlines() if "ERROR" in each]
        (folder / PROBLEM).write_text(lines[-1] if lines else str(error))
        return
    (folder / COMPLETE).write_text(_digest(requirements))


def _is_complete(folder: Path) -> bool:
    mark = folder / COMPLETE
    return mark.is_file() and mark.read_text() == _digest(_requirements(folder.name))


def _requirements(name: str) -> Path:
    return HERE / f"{name}.txt"


def _digest(requirements: Path) -> str:
    return hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
