"""Digests of what must not change by accident: fitted models, results, the page's text, every help text.

    python tests/system/golden_bits.py --record            writes golden_bits.json beside this file
    python tests/system/golden_bits.py --compare [--only WORD]

Every method is fitted on three small collections: one of one shard, one of nine, and one with missing values
and queries of one document. The bits of its scores depend on the processor and on the versions of libraries,
so the record names them, and a comparison in another environment says so and compares the help texts alone.
The record is that of the last release: what differs from it belongs under *Changed figures* in CHANGELOG.md.
"""

import argparse
import hashlib
import html
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np
import typer.main
from llvmlite.binding import get_host_cpu_features, get_host_cpu_name

from directrank import make_ranking
from directrank.apps.cli.app import app
from directrank.data import QueryGroups
from directrank.estimators.methods import METHODS, configured
from directrank.files import write_letor

RECORD = Path(__file__).with_name("golden_bits.json")
LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "lightgbm", "typer", "rich")
#: Few steps: a difference of one bit shows after a few as after all.
STEPS = {
    "max_iterations": 10, "rounds": 4, "max_passes": 6, "cycles": 1, "runs": 2,
    "members": "ranksvm,frank(rounds=4),trees-consistent-ndcg(rounds=4)",
}  # fmt: skip
COMPARED = ("regression", "adarank(AP)", "approxndcg", "rankboost")
#: What differs from run to run in a page: scripts, styles, sections of times and versions, tags; then times
#: of day, durations, sizes of memory and digests of inputs.
MARKUP = re.compile(
    r"<(script|style)\b.*?</\1>|<section id=\"(time|reproduce)\".*?</section>|<[^>]*>", re.DOTALL
)
VOLATILE = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?|[\d.,]+ ?(ms|µs|min|MB|MiB|s|h)\b|\b[0-9a-f]{12,}\b"
)


def digest(data: bytes) -> str:
    """Return the first 16 hexadecimal digits of SHA-256."""
    return hashlib.sha256(data).hexdigest()[:16]


def environment() -> dict[str, str]:
    """Return what decides the last bits of a fit: instructions of the processor, versions of libraries."""
    # Names that a hypervisor gives, such as "AMD EPYC", stand for several kinds of processors.
    instructions = " ".join(sorted(name for name, has in get_host_cpu_features().items() if has))
    processor = f"{get_host_cpu_name()} {digest(instructions.encode())}"
    named = {name: version(name) for name in LIBRARIES}
    return {"processor": processor, "python": sys.version.split()[0], **named}


def collections() -> dict[str, QueryGroups]:
    """Return the three collections."""
    gaps = make_ranking(60, 5, 6, uneven=0.9, n_useless=1, random_state=3)
    X = np.array(gaps.X)
    X[np.random.default_rng(3).random(X.shape) < 0.1] = np.nan
    return {
        "one shard": make_ranking(40, 12, 8, n_useless=2, n_inverted=2, random_state=1),
        "nine shards": make_ranking(235, 20, 512, n_useless=400, random_state=2),
        "gaps": QueryGroups(X, gaps.relevance, gaps.qid),
    }


def fits(only: str) -> Iterator[tuple[str, str]]:
    """Yield the digest of the scores of every method on every collection."""
    drawn = collections()
    for method in METHODS:
        for name, groups in drawn.items():
            what = f"fit {method.name}: {name}"
            if only in what:
                yield what, digest(np.ascontiguousarray(fitted(method.name, groups)).tobytes())


def fitted(name: str, groups: QueryGroups) -> np.ndarray:
    """Return the scores of a method after a few steps."""
    ranker = configured(name)[0].build()
    steps = {key: count for key, count in STEPS.items() if key in ranker.get_params()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ranker.set_params(**steps).fit(groups).predict(groups)


def comparison() -> Iterator[tuple[str, str]]:
    """Yield the digests of the files of a small comparison, and of the text of its page."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "made" / "Fold1").mkdir(parents=True)
        drawn = make_ranking(90, 10, 6, n_useless=2, random_state=4)
        for number, part in enumerate(("train", "vali", "test")):
            rows = np.isin(drawn.qid, np.unique(drawn.qid)[number::3])
            third = QueryGroups(drawn.X[rows], drawn.relevance[rows], drawn.qid[rows])
            write_letor(third, folder / "made" / "Fold1" / f"{part}.txt")
        words = ["compare", str(folder / "made"), "--methods", ",".join(COMPARED), "--select-by", "AP"]
        words += ["--measures", "AP,nDCG@5,ERR@5", "--convention", "letor3", "--out", str(folder / "run")]
        for command in (words, ["report", str(folder / "run"), "-o", str(folder / "page.html")]):
            subprocess.run([sys.executable, "-m", "directrank", *command], check=True, capture_output=True)
        for table in ("results.csv", "results.standard.csv"):
            yield f"compare {table}", digest((folder / "run" / table).read_bytes())
        page = MARKUP.sub(" ", (folder / "page.html").read_text(encoding="utf-8"))
        text = html.unescape(page).replace(name, "FOLDER")
        yield "compare page", digest(re.sub(r"\s+", " ", VOLATILE.sub("N", text)).encode())


def help_texts() -> Iterator[tuple[str, str]]:
    """Yield the digest of the help of every command."""
    commands = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    for command in ("", *commands):
        words = [sys.executable, "-m", "directrank", *command.split(), "--help-all"]
        surroundings = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
        text = subprocess.run(words, check=True, capture_output=True, env=surroundings).stdout
        yield f"help {command}", digest(text)


def digests(only: str, *, same_environment: bool = True) -> dict[str, str]:
    """Return all digests whose name contains a word."""
    found = dict(fits(only)) if same_environment else {}
    if same_environment and any(only in f"compare {what}" for what in ("results.csv", "page")):
        found |= comparison()
    if only in "help" or only.startswith("help"):
        found |= help_texts()
    return {what: value for what, value in found.items() if only in what}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="write the record")
    parser.add_argument("--compare", action="store_true", help="compare with the record (the default)")
    parser.add_argument("--only", default="", help="a word of what is digested, such as svmmap, page or help")
    arguments = parser.parse_args()
    here = environment()
    if arguments.record:
        before = json.loads(RECORD.read_text())["digests"] if arguments.only else {}
        record = {"environment": here, "digests": before | digests(arguments.only)}
        RECORD.write_text(json.dumps(record, indent=1) + "\n")
        return 0
    record = json.loads(RECORD.read_text())
    same = record["environment"] == here
    if not same:
        print(f"recorded in another environment ({record['environment']}): help texts alone are compared")
    now = digests(arguments.only, same_environment=same)
    changed = [what for what, value in now.items() if record["digests"].get(what) != value]
    for what in changed:
        print(f"changed: {what}")
    print(f"{len(now)} digests, {len(changed)} changed")
    return int(bool(changed))


if __name__ == "__main__":
    sys.exit(main())
