"""Where the benchmark data are, for the tests that need them; what memory holds that was not written."""

import argparse
import dataclasses
import gc
import inspect
import lzma
import os
import re
import tarfile
import zlib
from pathlib import Path, PurePosixPath

import platformdirs
import pytest

# A processor has one process of the tests: threads of LightGBM and BLAS would wait for each other. Set before
# NumPy is imported, whose BLAS reads it then.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import dirty_memory

DATA = Path(os.environ.get("DIRECTRANK_DATA") or Path(__file__).parents[2] / "shared" / "data")
# An archive's folder, and the archive.
COLLECTIONS = {
    "OHSUMED": "OHSUMED.tar.xz",
    "OHSUMED_LETOR2": "OHSUMED_LETOR2.tar.xz",
    "OHSUMED_null": "OHSUMED_null_fold1.tar.xz",
    "WEB_RAW": "WEB_RAW.tar.xz",
    "CRAN": "TEXT_CRAN.tar.xz",
    "CISI": "TEXT_CISI.tar.xz",
    "NPL": "TEXT_NPL.tar.xz",
}
MOST_BYTES = 2**30
DESELECTED = pytest.StashKey[int]()
#: Expressions of marks that select no heavy test, and a file in which every test is heavy.
WITHOUT_HEAVY = re.compile(r"not heavy|not \(heavy or [^()]+\)")
HEAVY_FILE = re.compile(r"^pytestmark = (\[\s*)?pytest\.mark\.heavy\b", re.MULTILINE)


@pytest.fixture(autouse=True, scope="session")
def _no_line_of_compilation():
    """Let no command in a test's own process say that it compiles: that depends on the tests before it."""
    from directrank.timing import compilation

    compilation._is_said = True


def pytest_addoption(parser):
    words = "what arrays of np.empty hold, in Python and in compiled kernels"
    parser.addoption("--memory", choices=dirty_memory.FILLS, help=words)

    words = "run one of N parts of the tests, K from 0: a test is in the part of its name's checksum modulo N"
    parser.addoption("--part", metavar="K/N", type=_part, help=words)


def _part(text: str) -> tuple[int, int]:
    words = re.fullmatch(r"(\d+)/(\d+)", text)
    if not words or not int(words[1]) < int(words[2]):
        raise argparse.ArgumentTypeError(f"expected K/N with K from 0 to N - 1, got {text}")
    return int(words[1]), int(words[2])


def pytest_configure(config):
    fill = config.getoption("--memory")
    if fill:
        root = os.environ.get("NUMBA_CACHE_DIR") or platformdirs.user_cache_dir("directrank")
        dirty_memory.fill_memory(*dirty_memory.FILLS[fill], cache=Path(root) / f"memory-{fill}")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without garbage collection, which finds nothing and later need not look at what is kept."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_ignore_collect(collection_path, config):
    """Import no file whose tests are all heavy where no heavy test is selected."""
    if collection_path.suffix != ".py" or not WITHOUT_HEAVY.fullmatch(config.option.markexpr):
        return None
    return HEAVY_FILE.search(collection_path.read_text("utf-8")) is not None or None


def pytest_pycollect_makeitem(collector, name, obj):
    """Make no items of a test that is of the other group: that takes longer than all else of collecting."""
    if not name.startswith("test_") or not inspect.isfunction(obj):
        return None
    if WITHOUT_HEAVY.fullmatch(collector.config.option.markexpr):
        return [] if _heavy_by(_marks(obj)) else None
    if collector.config.option.markexpr == "heavy":
        return [] if not _may_be_heavy(collector, obj) else None
    return None


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc):
    """Keep the cases of the group that is selected, with the names that they have among all cases."""
    yield
    for mark in metafunc.definition.iter_markers("share"):
        metafunc._calls = _shared(metafunc._calls, *mark.args)
    expression = metafunc.config.option.markexpr
    is_heavy = expression == "heavy"
    if (is_heavy or WITHOUT_HEAVY.fullmatch(expression)) and not _heavy_by(
        metafunc.definition.iter_markers()
    ):
        # Without any case pytest would call the test without arguments.
        metafunc._calls = [
            case for case in metafunc._calls if _heavy_by(case.marks) == is_heavy
        ] or metafunc._calls


def _marks(obj) -> list[pytest.Mark]:
    return list(getattr(obj, "pytestmark", ()))


def _heavy_by(marks) -> bool:
    return any(mark.name == "heavy" for mark in marks)


def _shared(cases, n: int):
    """Return the cases of a test, heavy but for about one in n, at least one: checksums of names decide."""
    sums = {id(case): zlib.crc32(case.id.encode()) for case in cases}
    first = {key for key, number in sums.items() if number % n == 0} or {min(sums, key=sums.__getitem__)}
    return [
        case if id(case) in first else dataclasses.replace(case, marks=[*case.marks, pytest.mark.heavy.mark])
        for case in cases
    ]


def _may_be_heavy(collector, function) -> bool:
    """Return whether a test, its file or its class is heavy, or one of its cases."""
    marks = _marks(function)
    cases = [mark.args[1] for mark in marks if mark.name == "parametrize" and len(mark.args) > 1]
    # A sequence of cases can be read twice; of any other iterable the cases are not known before pytest asks.
    of_cases = (
        not isinstance(values, list | tuple) or any(_heavy_by(getattr(each, "marks", ())) for each in values)
        for values in cases
    )
    has_share = any(mark.name == "share" for mark in marks)
    return has_share or _heavy_by(collector.iter_markers()) or _heavy_by(marks) or any(of_cases)


def _present() -> bool:
    return any((DATA / name).is_dir() or (DATA / archive).is_file() for name, archive in COLLECTIONS.items())


def in_part(name: str, part: tuple[int, int]) -> bool:
    """Return whether a test of this name is in a part; each is in one of the N."""
    return zlib.crc32(name.encode()) % part[1] == part[0]


def pytest_collection_modifyitems(config, items):
    part = config.option.part
    if part:
        config.hook.pytest_deselected(items=[item for item in items if not in_part(item.nodeid, part)])
        items[:] = [item for item in items if in_part(item.nodeid, part)]
    if _present():
        return
    golden = [item for item in items if item.get_closest_marker("golden")]
    if golden:
        config.stash[DESELECTED] = len(golden)
        config.hook.pytest_deselected(items=golden)
        items[:] = [item for item in items if not item.get_closest_marker("golden")]


def pytest_terminal_summary(terminalreporter, config):
    count = config.stash.get(DESELECTED, 0)
    if count:
        place = f"no benchmark data in {DATA}; DIRECTRANK_DATA names their folder"
        terminalreporter.write_line(f"{count} golden tests deselected: {place}")


def unpack(archive: Path, folder: Path) -> None:
    """Unpack the regular files of an archive, each below `folder`, and nothing else."""
    total = 0
    with lzma.open(archive) as file, tarfile.open(fileobj=file) as tar:
        for member in tar:
            path = PurePosixPath(member.name)
            if not member.isfile():
                continue
            total += member.size
            if path.is_absolute() or ".." in path.parts or total > MOST_BYTES:
                raise ValueError(f"{archive}: refused {member.name}")
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            content = tar.extractfile(member)
            assert content is not None
            target.write_bytes(content.read())


@pytest.fixture(scope="session")
def collection(tmp_path_factory):
    """Return a function from a collection's name to its unpacked folder."""
    found: dict[str, Path] = {}

    def folder_of(name: str) -> Path:
        if name not in found:
            if (DATA / name).is_dir():
                found[name] = DATA / name
            else:
                folder = tmp_path_factory.mktemp("collections")
                unpack(DATA / COLLECTIONS[name], folder)
                found[name] = folder / name
        return found[name]

    return folder_of


@pytest.fixture(scope="session")
def ohsumed(collection) -> Path:
    """OHSUMED of LETOR 3.0, Fold1 to Fold5."""
    return collection("OHSUMED")


@pytest.fixture(scope="session")
def ohsumed_letor2(collection) -> Path:
    """OHSUMED of LETOR 2.0: 25 features, CRLF."""
    return collection("OHSUMED_LETOR2")


@pytest.fixture(scope="session")
def ohsumed_null(collection) -> Path:
    """Fold 1 of OHSUMED before normalisation, with NULL."""
    return collection("OHSUMED_null")


@pytest.fixture(scope="session")
def letor3_baselines() -> Path:
    """The table of LETOR 3.0's published baselines, csv or csv.xz."""
    plain = DATA / "letor3_baselines.csv"
    return plain if plain.is_file() else DATA / "letor3_baselines.csv.xz"
