"""Measure speed: every kernel, reader, evaluator, fit and scorer beside its yardstick, in one run."""

import argparse
import os
import sys
from fnmatch import fnmatch
from pathlib import Path

# The yardsticks run on one thread, as ours do unless a case says otherwise.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from rich.console import Console

from benchmarks import environments
from benchmarks.case import Case
from benchmarks.cases import load_cases
from benchmarks.machine import slug
from benchmarks.measuring import QUICK, Effort
from benchmarks.results.comparison import Changes, changes, last_record
from benchmarks.results.page import speed_report
from benchmarks.results.records import Record, Row, write_record
from benchmarks.results.speed_page import speed_page
from benchmarks.results.table import print_changes, print_table
from benchmarks.runner import begun, run, still_to_measure
from directrank.storage.atomic import write_atomically

ROOT = Path(__file__).parents[1]
RECORDS, DOCUMENT = ROOT / "benchmarks" / "records", ROOT / "docs" / "speed.md"
PAGE = "speed.html"
#: Topics that are measured only where `--only` names them: they take minutes to hours. A run of one of these
#: alone is recorded in a folder of its own, and compared with earlier ones there.
ON_REQUEST = ("boosting", "growth", "wide")
#: Exit codes: a ratio got worse; a case failed; the user stopped the run.
WORSE, FAILED, STOPPED = 1, 4, 130


def main(words: list[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = _parser()
    given = parser.parse_args(words)
    if given.docs:
        write_atomically(DOCUMENT, speed_page(RECORDS))
        return 0
    known, problems = load_cases()
    cases = [case for case in known if _wanted(case.name, given.only)]
    if given.list:
        print("\n".join(f"{case.name:40} {case.what}, against {case.yardstick}" for case in cases))
        return 0
    if not cases:
        parser.error(f"no case matches {' '.join(given.only)}; --list prints their names")
    if given.environments is not None:
        environments.use(Path(given.environments) if given.environments else None, _say)
    given.out.mkdir(parents=True, exist_ok=True)
    try:
        record = begun(given.out, given.quick)
    except ValueError as error:  # the file of an earlier run is damaged
        parser.error(str(error))
    complete, earlier = _measured(cases, record, given)
    for topic, problem in problems.items():
        record.put(Row(f"{topic}/all", problem=problem))
    record.arrange([*(case.name for case in known), *(f"{topic}/all" for topic in problems)])
    return _print_record(record, earlier, complete, given, _records(cases))


def _records(cases: list[Case]) -> Path:
    """Return the folder for the records of runs of these cases."""
    topics = {case.name.partition("/")[0] for case in cases}
    return RECORDS / topics.pop() if len(topics) == 1 and topics <= set(ON_REQUEST) else RECORDS


def _measured(cases: list[Case], record: Record, given: argparse.Namespace) -> tuple[bool, Record | None]:
    """Measure; return whether all cases were, and the earlier record of this machine."""
    earlier = last_record(record, _records(cases))
    effort = QUICK if given.quick else Effort(repetitions=given.repetitions)
    return run(still_to_measure(record, cases), record, given.out, effort, _say, earlier), earlier


def _print_record(
    record: Record, earlier: Record | None, complete: bool, given: argparse.Namespace, records: Path
) -> int:
    """Print and write what was measured, with `--record` in a folder of records; return the exit code."""
    # A quick run is too short to accuse anything.
    found = changes(record, earlier) if earlier and not (record.quick or earlier.quick) else None
    console = Console() if sys.stdout.isatty() else Console(width=140)
    print_table(record, console)
    if earlier and found:
        print_changes(found, earlier.written, console)
    write_atomically(given.out / PAGE, speed_report(record, found))
    console.print(f"{given.out / PAGE}")
    if complete and given.record:
        records.mkdir(parents=True, exist_ok=True)
        write_record(record, records / f"{slug(record.machine)}.json")
        write_atomically(DOCUMENT, speed_page(RECORDS))
    return _exit_code(record, found, complete)


def _exit_code(record: Record, found: Changes | None, complete: bool) -> int:
    if not complete:
        _say("stopped; the same command goes on where it was")
        return STOPPED
    if any(row.failed for row in record.rows):
        return FAILED
    return WORSE if found and found.worse else 0


def _wanted(name: str, patterns: list[str]) -> bool:
    topic = name.partition("/")[0]
    if topic in ON_REQUEST and not any(pattern.startswith(topic) for pattern in patterns):
        return False
    return not patterns or any(fnmatch(name, each) or each in name for each in patterns)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="PATTERN", help="cases whose name matches, or holds, one"
    )
    parser.add_argument("--repetitions", type=int, default=Effort.repetitions, help="at most, of each case")
    parser.add_argument("--quick", action="store_true", help="few repetitions: whether it runs, not how fast")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "runs" / "benchmarks", metavar="FOLDER",
        help="results and the page (default runs/benchmarks); what was stopped there goes on",
    )  # fmt: skip
    parser.add_argument("--list", action="store_true", help="print the cases and measure nothing")
    parser.add_argument(
        "--environments", nargs="?", const="", metavar="FOLDER",
        help="create the missing environments of other packages in a folder (default: the user's cache)",
    )  # fmt: skip
    parser.add_argument(
        "--record", action="store_true", help="keep the run in benchmarks/records, and write docs/speed.md"
    )
    parser.add_argument("--docs", action="store_true", help="write docs/speed.md from benchmarks/records")
    return parser


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # before the first case
        sys.exit(STOPPED)
