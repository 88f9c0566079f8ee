"""Tasks of development: `nox -l` lists them, `nox -s test -- surrogates` runs the tests of one folder.

Inside a virtual environment that has the development tools (`pip install -e '.[test,dev]'`) nox uses that
environment; otherwise it makes one and keeps it.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import nox

READY = sys.prefix != sys.base_prefix and all(map(find_spec, ("directrank", "pytest", "ruff")))
TESTS = Path("tests")
#: Tests of a folder of src/directrank that lie elsewhere than in tests/unit/FOLDER and tests/conformance.
ELSEWHERE = {
    "apps/cli": ["interface/test_cli*.py"],
    "apps/report": ["interface/test_page.py"],
    "papers": ["interface/test_papers.py"],
}

#: Tests of compiled code, and of what calls it.
OF_KERNELS = (
    *(f"unit/{folder}" for folder in ("kernels", "measures", "scorers", "solvers", "surrogates")),
    *(f"conformance/test_{kind}*.py" for kind in ("measures", "scorers", "solvers", "surrogates")),
    "theorems",
)

if READY:  # Sessions run its programs, whether it is activated or not.
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
nox.options.default_venv_backend = "none" if READY else "venv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["lint", "types", "test"]


def prepared(session: nox.Session) -> nox.Session:
    """Install the project and its tools, unless the environment has them."""
    if session.venv_backend != "none":
        session.install("-e", ".[test,dev]")
    return session


def checks(session: nox.Session, group: str) -> None:
    """Run one group of the checks in .ci/checks.py."""
    prepared(session).run("python", ".ci/checks.py", group)


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff, its formatter and import-linter."""
    checks(session, "lint")


@nox.session
def types(session: nox.Session) -> None:
    """Pyright."""
    checks(session, "types")


@nox.session
def docs(session: nox.Session) -> None:
    """The docstrings of public names, by numpydoc, and the documentation site in site/."""
    checks(session, "docs")


@nox.session
def links(session: nox.Session) -> None:
    """The links of the documentation to other sites, which needs the network and is no check of CI."""
    prepared(session).run("python", "-m", "sphinx", "--builder", "linkcheck", "--quiet", "docs", "site/links")


@nox.session
def structure(session: nox.Session) -> None:
    """Size and structure of the sources, beside the budgets of their folders."""
    checks(session, "structure")


@nox.session
def test(session: nox.Session) -> None:
    """The first group of tests that changes since main can affect; or, after --, of folders, or all of it."""
    folders = [word for word in session.posargs if not word.startswith("-")]
    options = [word for word in session.posargs if word.startswith("-")]
    prepared(session)
    if not folders:
        files = str(session.run("python", ".ci/affected.py", silent=True)).split()
        if not files:
            session.skip("no test depends on what changed since main; nox -s test -- all runs all")
        session.log(f"{len(files)} files of tests depend on what changed since main")
    elif folders == ["all"]:
        files = []
    else:
        files = [str(path) for folder in folders for path in tests_of(folder)]
        options = ["-m", "not (heavy or slow or sklearn)", *options]
    session.run("python", "-m", "pytest", "-q", *options, *files)


FILLS = ("ones", "nan", "large", "bounds")


@nox.session
@nox.parametrize("fill", FILLS, ids=FILLS)
def dirty(session: nox.Session, fill: str) -> None:
    """The kernels' tests, or those after --, with np.empty filled, or with the bounds of arrays checked."""
    files = session.posargs or [str(path) for pattern in OF_KERNELS for path in sorted(TESTS.glob(pattern))]
    # Checks of bounds are branches, which loops that are vectorised have not.
    checked = ["--deselect=tests/unit/kernels/test_vectorised.py"] if fill == "bounds" else ["--memory", fill]
    cache = Path(".nox", f"kernels-{fill}").resolve()
    environment = {"NUMBA_CACHE_DIR": str(cache), "NUMBA_BOUNDSCHECK": str(int(fill == "bounds"))}
    prepared(session).run("python", "-m", "pytest", "-q", *checked, *files, env=environment)


@nox.session(venv_backend="none")
def release(session: nox.Session) -> None:
    """Wheel and sdist in dist/, tried in clean environments of every Python of the machine; -- --demo."""
    session.run("python", ".ci/release.py", *session.posargs)


@nox.session(venv_backend="none")
def nightly(session: nox.Session) -> None:
    """What the gate has parts of, whole: heavy tests, dirty memory; and every Python of the machine."""
    session.run("bash", ".ci/run", "--whole", external=True)
    for name in (*(f"dirty({fill})" for fill in FILLS), "engines", "release", "image"):
        session.notify(name)


@nox.session(venv_backend="none")
def image(session: nox.Session) -> None:
    """The image of the Dockerfile, and its help; skipped where docker does not run."""
    if not which("docker") or subprocess.run(["docker", "info"], capture_output=True).returncode:
        session.skip("docker does not run here")
    session.run("docker", "build", "--tag", "directrank", ".", external=True)
    session.run("docker", "run", "--rm", "directrank", "doctor", external=True)


@nox.session
def browser(session: nox.Session) -> None:
    """The tests of the page in Chromium; they fail where it is missing."""
    prepared(session).run("python", "-m", "pytest", "-q", "-m", "heavy", "tests/browser", env={"CI": "1"})


@nox.session
def engines(session: nox.Session) -> None:
    """Search engines of the JVM on what export writes; they fail where Maven or a JDK of 17 is missing.

    A line says what is left out: PyTerrier and Spark where they are not installed, and OpenSearch's plug-in.
    """
    if session.venv_backend != "none":
        session.install("python-terrier", "pyspark")
    tests = ["python", "-m", "pytest", "-q", "-rs", "-n1", "-m", "engines", "tests/jvm", *session.posargs]
    prepared(session).run(*tests, env={"CI": "1"})


@nox.session
def bench(session: nox.Session) -> None:
    """The speed of everything beside its yardstick; or less: nox -s bench -- --only readers."""
    prepared(session).run("python", "-m", "benchmarks", *session.posargs)


@nox.session
def figures(session: nox.Session) -> None:
    """README's figures by the commands of docs/auto.md, and what has moved; -- --write writes them."""
    prepared(session).run("python", "benchmarks/figures.py", *session.posargs)


@nox.session
def torture(session: nox.Session) -> None:
    """Hostile inputs of every kind, at full counts; or less: nox -s torture -- --only reader --count 1000."""
    prepared(session).run("python", "tests/system/torture.py", *session.posargs)


@nox.session
def mutation(session: nox.Session) -> None:
    """Faults made by hand in copies of the sources: every one must fail the tests that it names."""
    prepared(session).run("python", "tests/system/hand_mutants.py", *session.posargs)


@nox.session
def bits(session: nox.Session) -> None:
    """Fitted models, results, page and help texts against the last release; -- --record at a release."""
    prepared(session).run("python", "tests/system/golden_bits.py", *session.posargs)


def tests_of(folder: str) -> list[Path]:
    """Return the unit and conformance tests of a folder of src/directrank, or the tests of its interface."""
    named = [f"{kind}/test_{folder}*.py" for kind in ("conformance", "agreement")]
    patterns = ELSEWHERE.get(folder, [f"conformance/{folder}/test_*.py", *named])
    files = sorted(path for pattern in patterns for path in TESTS.glob(pattern))
    unit = TESTS / "unit" / folder
    found = [unit, *files] if unit.is_dir() else files
    if not found:
        sys.exit(f"no tests of {folder}: name a folder of src/directrank, or run pytest with a path")
    return found
