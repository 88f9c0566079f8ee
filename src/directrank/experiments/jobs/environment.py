"""What a number depends on beside data and parameters: this library's code, and the versions under it."""

import hashlib
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

import directrank
from directrank.data.shards import processors

#: Sources whose code decides a number; pages and commands may change without a new fit.
DECISIVE = (
    "kernels", "data", "measures", "surrogates", "scorers", "solvers", "estimators", "contracts.py",
    "models/scorer_kinds.py", "experiments/fits.py", "experiments/cells.py", "experiments/sources.py",
    "diagnostics/audit.py", "diagnostics/test_diagnostics.py",
)  # fmt: skip
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")


@cache
def code_digest() -> str:
    """Return the SHA-256, in hex, of the sources that decide a number."""
    root = Path(directrank.__file__).parent
    digest = hashlib.sha256()
    for room in DECISIVE:
        for source in sorted([root / room] if room.endswith(".py") else (root / room).rglob("*.py")):
            digest.update(source.relative_to(root).as_posix().encode())
            digest.update(source.read_bytes())
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Return the versions that a fitted model depends on, by package."""
    return {"directrank": directrank.__version__, **{name: _installed(name) for name in PACKAGES}}


@cache
def _installed(package: str) -> str:
    # Every fit of a plan asks; finding and parsing a package's metadata takes milliseconds.
    return version(package)


def environment() -> dict[str, str]:
    """Return what a reader needs to set up the same machine."""
    return {
        **versions(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processors": str(processors()),
        "code": code_digest()[:16],
    }
