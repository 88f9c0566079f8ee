"""A comparison that is killed or limited by a test, and the checks of its store."""

import json
import subprocess
import sys
from pathlib import Path

from directrank.storage.strict_json import take_signature

METHODS = ",".join(
    [
        "regression", "adarank(AP)", "adarank(nDCG@1)", "adarank(nDCG@5)", "adarank(nDCG@10)", "adarank(P@5)",
        "adarank(RR)", "approxap", "approxndcg(nDCG@5)", "approxndcg(nDCG@10)",
    ]
)  # fmt: skip


def made_folds(folder: Path) -> Path:
    from directrank import make_ranking
    from directrank.apps.cli.demos.shop import write_folds

    write_folds(make_ranking(60, 12, 6, random_state=4), folder)
    return folder


class Comparing:
    """The command under test."""

    def __init__(self, data: Path, methods: str, points: int, jobs: int):
        self.jobs = jobs
        self.words = [
            sys.executable, "-m", "directrank", "compare", str(data), "--methods", methods, "--quiet",
            "--search", f"random:{points}", "--measures", "AP,nDCG@5",
        ]  # fmt: skip

    def start(self, out: Path, jobs: int | None = None, **options) -> subprocess.Popen:
        """Start the command in its own session, so that one signal reaches all its processes."""
        return subprocess.Popen(
            [*self.words, "--out", str(out), "--jobs", str(jobs or self.jobs)], stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, start_new_session=True, **options,
        )  # fmt: skip

    def run(self, out: Path, **options) -> tuple[int, str]:
        """Run the command; return its exit code and its messages on stderr."""
        process = self.start(out, **options)
        message = process.communicate()[1]
        return process.returncode, message


def finished(out: Path) -> dict[str, str]:
    """Check that every record of the store is sound; return the checksum of each."""
    checksums = {}
    for path in (out / "store").glob("*.json"):
        record = json.loads(path.read_bytes())
        assert record["key"] == path.stem, path
        checksums[path.stem] = record["sha256"]
        assert take_signature(record), path
    return checksums


def children(process: int) -> list[int]:
    """Return the processes that a process has started."""
    try:
        text = " ".join(each.read_text() for each in Path(f"/proc/{process}/task").glob("*/children"))
    except OSError:  # it has ended
        return []
    return list(map(int, text.split()))


def check_whole(out: Path, whole: Path) -> None:
    for name in ("results.csv", "results.standard.csv"):
        assert (out / name).read_bytes() == (whole / name).read_bytes(), f"{out / name} differs"


def check_saved(out: Path, before: dict[str, str]) -> dict[str, str]:
    now = finished(out)
    lost = [key for key, digest in before.items() if now.get(key) != digest]
    # A record that is made again has other times in it.
    assert not lost, f"{len(lost)} finished records are lost or made again"
    return now
