"""The machine and the versions that a run was measured on."""

import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.environments import pinned_versions
from directrank.features.shards import processors

PACKAGES = (
    "directrank", "numpy", "scipy", "numba", "llvmlite", "scikit-learn", "pyarrow", "lightgbm", "xgboost",
    "xgboost-cpu", "catboost", "torch", "pytrec-eval-terrier", "ir-measures", "bm25s",
)  # fmt: skip
#: Those that are timed in environments of their own.
ENVIRONMENTS = {
    "tensorflow-ranking": ("tensorflow-ranking", "tensorflow-cpu"), "rax": ("rax", "jax"),
    "allrank": ("allRank", "torch"), "fastrank": ("fastrank",), "ranx": ("ranx",),
}  # fmt: skip
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def machine() -> dict[str, str]:
    """Return what decides how fast this machine is; two runs are compared if model and cores agree."""
    return {
        "processor": _model(),
        "cores": str(processors()),
        "caches": _caches(),
        "memory": _memory(),
        "system": platform.platform(),
    }


def versions() -> dict[str, str]:
    """Return the versions of Python, of packages that are installed here, and of others elsewhere."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    for environment, names in ENVIRONMENTS.items():
        pinned = pinned_versions(environment)
        found |= {f"{name} (apart)": pinned[name] for name in names}
    return found


def slug(about: dict[str, str]) -> str:
    """Return a name of a file for the record of a machine."""
    words = f"{about['processor']} {about['cores']} cores".lower()
    return re.sub(r"[^a-z0-9]+", "-", words).strip("-")


def _model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _caches() -> str:
    """Return the sizes of the caches of the first core; empty where the system does not tell."""
    found = []
    for folder in sorted(CACHES.glob("index*")):
        try:
            level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        found.append(f"L{level} {kind.lower()} {size}")
    return ", ".join(found)


def _memory() -> str:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return ""
    kilobytes = next((int(line.split()[1]) for line in lines if line.startswith("MemTotal")), 0)
    return f"{kilobytes / 2**20:.0f} GiB"
