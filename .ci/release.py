"""Build wheel and sdist, and try both in clean environments of every Python that the machine has.

    python .ci/release.py [--python 3.12]... [--demo]

What is checked: the metadata; that the sdist holds every file of the repository, and the wheel every file of
the package and nothing else; in an environment with the wheel, that a model is trained, saved, loaded and
compared, that the models of all releases load, and, with --demo, that the demo runs; in one with the sdist,
the same, and tests of the unpacked sdist. The files are left in dist/.
"""

import argparse
import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LEAST = (3, 11)
#: Tests that run from the unpacked sdist without any extra: of saved models, kernels and README's example.
TESTS = (
    "tests/golden/test_releases.py", "tests/unit/measures/test_kernels.py",
    "tests/interface/test_readme.py::test_python_example_runs",
)  # fmt: skip
TOOLS = ("pytest>=8", "pytest-xdist>=3.6", "hypothesis>=6.100")
SMOKE = Path(__file__).with_name("smoke.py")
RELEASES = ROOT / "tests" / "golden" / "releases"


def run(*command: object, cwd: Path = ROOT, **environment: str) -> str:
    """Run a command outside the checkout's environment; return what it printed, or end with it."""
    # Sources and settings of the caller must not be found in place of what is installed.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL"))}
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=cwd, env={**kept, **environment}, text=True, encoding="utf-8", errors="replace",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"FAILED ({done.returncode}): {' '.join(words)}\n{done.stdout}")
    return done.stdout


def environment(folder: Path, python: Path | str, *packages: object) -> Path:
    """Make an environment with some packages; return its folder of programs."""
    if python == sys.executable:
        venv.create(folder, with_pip=True)
    else:
        run(python, "-m", "venv", folder)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    run(programs / "python", "-m", "pip", "install", "-q", *packages)
    return programs


def pythons(wanted: list[str]) -> dict[str, str]:
    """Return every interpreter of a supported version, by version: those of PATH and of pyenv."""
    names = [shutil.which(f"python3.{minor}") for minor in range(LEAST[1], 30)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    candidates = [sys.executable, *filter(None, names), *map(str, sorted(pyenv.glob("*/bin/python")))]
    asked = "import sys; print('%d.%d' % sys.version_info[:2])"
    found: dict[str, str] = {}
    for candidate in candidates:
        # A name may stand for a version that is not installed.
        told = subprocess.run([candidate, "-c", asked], capture_output=True, text=True)
        minor = told.stdout.strip()
        supported = told.returncode == 0 and tuple(map(int, minor.split("."))) >= LEAST
        if supported and (not wanted or minor in wanted):
            found.setdefault(minor, candidate)
    missing = set(wanted) - set(found)
    if missing or not found:
        sys.exit(f"no Python {', '.join(sorted(missing)) or '3.11 or later'} was found")
    return found


def built(folder: Path) -> tuple[Path, Path]:
    """Build the sdist, and the wheel from it; check their metadata; return both."""
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    tools = environment(folder / "tools", sys.executable, "build", "twine>=6.1")
    run(tools / "python", "-m", "build", "--outdir", ROOT / "dist", ROOT)
    (wheel,), (sdist,) = (ROOT / "dist").glob("*.whl"), (ROOT / "dist").glob("*.tar.gz")
    run(tools / "python", "-m", "twine", "check", "--strict", wheel, sdist)
    return wheel, sdist


def problems(wheel: Path, sdist: Path) -> list[str]:
    """Return what is wrong with the content of the files."""
    version, found = PROJECT["version"], []
    tracked = set(run("git", "ls-files").splitlines())
    with tarfile.open(sdist) as archive:
        source = {name.partition("/")[2] for name in archive.getnames()}
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
        (name,) = (each for each in inside if each.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
        commit = archive.read("directrank/COMMIT").decode()
    package = {"directrank/COMMIT", *(each[4:] for each in tracked if each.startswith("src/"))}
    others = {each for each in inside - package if ".dist-info/" not in each}
    found += [f"not in the sdist: {each}" for each in sorted(tracked - source)]
    found += [f"not in the wheel: {each}" for each in sorted(package - inside)]
    found += [f"should not be in the wheel: {each}" for each in sorted(others)]
    for key, wanted in (("Version", version), ("Requires-Python", PROJECT["requires-python"])):
        if metadata[key] != wanted:
            found.append(f"metadata: {key} is {metadata[key]}, not {wanted}")
    if not any(each.endswith("licenses/LICENSE") for each in inside):
        found.append("the wheel has no licence")
    head = run("git", "rev-parse", "HEAD").strip()
    if not head.startswith(commit.removesuffix("-dirty")):
        found.append(f"the wheel says that it is commit {commit}, and HEAD is {head}")
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)
    if not cited or cited[1] != version:
        found.append(f"CITATION.cff does not name version {version}")
    if not (RELEASES / version).is_dir():
        found.append(f"no saved models of {version}: python tests/golden/record_release.py")
    tags = run("git", "tag", "--points-at", "HEAD").split()
    wrong = [tag for tag in tags if re.match(r"v\d", tag) and tag != f"v{version}"]
    found += [f"the tag {tag} is not v{version}" for tag in wrong]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if f"v{version}" in tags and f"## [{version}]" not in changes:
        found.append(f"CHANGELOG.md has no section [{version}]")
    return found


def tried(python: str, file: Path, folder: Path, demo: bool, tests: bool) -> None:
    """Install a file in a clean environment, and use it; run tests from the unpacked sdist."""
    programs = environment(folder / "environment", python, file, *(TOOLS if tests else ()))
    kernels = str(folder / "kernels")
    print(run(programs / "python", SMOKE, RELEASES, cwd=folder, NUMBA_CACHE_DIR=kernels), end="")
    if demo:
        run(programs / "directrank", "demo", "--quiet", cwd=folder, NUMBA_CACHE_DIR=kernels)
        assert (folder / "demo" / "report.html").stat().st_size > 10_000
        print("demo: fine")
    if tests:
        with tarfile.open(file) as archive:
            archive.extractall(folder / "source", filter="data")
        (source,) = (folder / "source").iterdir()
        printed = run(
            programs / "python", "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *TESTS,
            cwd=source, NUMBA_CACHE_DIR=kernels,
        )  # fmt: skip
        print("tests of the sdist:", printed.strip().splitlines()[-1])


def main() -> None:
    """Build, check the files, and try them with every Python."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--python", action="append", default=[], help="a version, such as 3.12; default: all")
    parser.add_argument("--demo", action="store_true", help="run the demo, too")
    chosen = parser.parse_args()
    found = pythons(chosen.python)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        wheel, sdist = built(Path(scratch))
        wrong = problems(wheel, sdist)
        if wrong:
            sys.exit("\n".join(["FAILED: the files are not those of a release", *wrong]))
        for file in (wheel, sdist):
            print(f"{file.name}: {file.stat().st_size / 2**20:.1f} MiB, metadata and content are fine")
        for minor, python in found.items():
            for file in (wheel, sdist):
                started = time.monotonic()
                folder = Path(scratch, f"{minor}-{'wheel' if file == wheel else 'sdist'}")
                folder.mkdir()
                print(f"== Python {minor}, {file.name}", flush=True)
                tried(python, file, folder, demo=chosen.demo and file == wheel, tests=file == sdist)
                print(f"== {time.monotonic() - started:.0f} s", flush=True)
    print("all fine: wheel and sdist are in dist/")


if __name__ == "__main__":
    main()
