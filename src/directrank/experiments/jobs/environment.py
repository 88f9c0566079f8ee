"""What a result depends on besides data and parameters: the code of this library and package versions."""

import hashlib
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

import directrank
from directrank.features.shards import processors
from directrank.plugins import LOADED
from directrank.storage.names import printable

#: Sources that decide a result. Other sources, such as the page, may change without a new fit.
DECISIVE = (
    "kernels", "data", "measures", "surrogates", "scorers", "solvers", "estimators", "contracts.py",
    "models/scorer_kinds.py", "experiments/fits.py", "experiments/cells.py", "experiments/sources.py",
    "experiments/rivals", "experiments/runs/submissions.py", "diagnostics/audit.py",
    "diagnostics/test_diagnostics.py",
)  # fmt: skip
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")


@cache
def code_digest() -> str:
    """Return the SHA-256, in hex, of the sources that decide a result."""
    root = Path(directrank.__file__).parent
    digest = hashlib.sha256()
    for name in DECISIVE:
        for source in sorted([root / name] if name.endswith(".py") else (root / name).rglob("*.py")):
            digest.update(source.relative_to(root).as_posix().encode())
            digest.update(source.read_bytes())
    return digest.hexdigest()


@cache  # Every fit records versions, and reading the metadata of a package takes milliseconds.
def versions() -> dict[str, str]:
    """Return the versions that a fitted model depends on, by package."""
    return {"directrank": directrank.__version__, **{name: version(name) for name in PACKAGES}}


def environment() -> dict[str, str]:
    """Return what a reader needs to set up the same environment."""
    return {
        **versions(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processors": str(processors()),
        "code": code_digest()[:16],
        **{f"plug-in {printable(Path(each.origin).name)}": each.digest[:16] for each in LOADED.values()},
    }
