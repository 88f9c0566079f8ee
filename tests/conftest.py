"""Where the benchmark data are, for the tests that need them; what memory holds that was not written."""

import lzma
import os
import tarfile
from pathlib import Path, PurePosixPath

import platformdirs
import pytest

import dirty_memory

# A processor has one process of the tests: threads of LightGBM and BLAS would wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

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


def pytest_addoption(parser):
    words = "what arrays of np.empty hold, in Python and in compiled kernels"
    parser.addoption("--memory", choices=dirty_memory.FILLS, help=words)


def pytest_configure(config):
    fill = config.getoption("--memory")
    if fill:
        root = os.environ.get("NUMBA_CACHE_DIR") or platformdirs.user_cache_dir("directrank")
        dirty_memory.fill_memory(*dirty_memory.FILLS[fill], cache=Path(root) / f"memory-{fill}")


def _present() -> bool:
    return any((DATA / name).is_dir() or (DATA / archive).is_file() for name, archive in COLLECTIONS.items())


def pytest_collection_modifyitems(config, items):
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
