"""Measuring many cases: what was interrupted goes on, what fails is one line, progress tells what is left."""

import gc
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.case import Case, NotMeasuredError
from benchmarks.machine import machine, versions
from benchmarks.measuring import Calibration, Effort, measure
from benchmarks.read_pass import gigabytes_a_second
from benchmarks.results import wording
from benchmarks.results.records import Record, Row, read_record, write_record
from directrank.apps.experiments.store.identity import code_digest

RESULTS = "results.json"
#: Seconds of a case that was never measured, for the time that is left.
GUESS = 8.0


def begun(folder: Path, quick: bool) -> Record:
    """Return the record of a folder, to be continued, or a new one if the machine or the sources differ."""
    fresh = Record(machine(), versions(), code_digest()[:16], quick=quick)
    path = folder / RESULTS
    if path.is_file():
        old = read_record(path)
        if (old.machine, old.versions, old.code, old.quick) == (
            fresh.machine, fresh.versions, fresh.code, fresh.quick,
        ):  # fmt: skip
            return old
    fresh.read_pass = gigabytes_a_second()
    return fresh


def still_to_measure(record: Record, cases: Sequence[Case]) -> list[Case]:
    """Return the cases that an interrupted run has left, or all of them if none is left."""
    left = [case for case in cases if case.name in record.pending]
    return left or list(cases)


def run(
    cases: Sequence[Case],
    record: Record,
    folder: Path,
    effort: Effort,
    say: Callable[[str], None],
    earlier: Record | None = None,
) -> bool:
    """Measure cases into a record, which is written after each; return whether all were measured.

    Rows of other cases stay in the record. `say` takes lines of progress; `earlier`, a record of before, says
    how long the cases took then, for the time that is left.
    """
    calibration, known = Calibration(), [each for each in (record, earlier) if each]
    names = [case.name for case in cases]
    record.pending = [*(name for name in record.pending if name not in names), *names]
    for at, case in enumerate(cases, 1):
        left = sum(expected_seconds(each, known) for each in names[at - 1 :])
        say(f"[{at}/{len(cases)}] {case.name} … (about {_minutes(left)} left)")
        try:
            row = measured(case, effort, calibration)
        except KeyboardInterrupt:
            return False
        _keep(row, record, folder)
        say(f"    {wording.ratio(row)} {wording.spread(row) and f'({wording.spread(row)})'}".rstrip())
    return True


def _keep(row: Row, record: Record, folder: Path) -> None:
    """Put a row into the record, and write it."""
    record.put(row)
    record.pending.remove(row.name)
    record.written = datetime.now(UTC).isoformat(timespec="seconds")
    write_record(record, folder / RESULTS)


def measured(case: Case, effort: Effort, calibration: Calibration) -> Row:
    """Return the row of a case; a case that fails, or cannot be measured, is a row that says why."""
    started = time.perf_counter()
    about = {name: getattr(case, name) for name in ("name", "what", "yardstick", "faster", "target", "clock")}
    try:
        found = measure(case, effort, calibration)
    except (NotMeasuredError, ImportError) as error:
        return Row(**about, problem=_line(error), took=time.perf_counter() - started)
    except Exception as error:  # The rest goes on.
        problem = f"{type(error).__name__}: {_line(error)}"
        return Row(**about, problem=problem, failed=True, took=time.perf_counter() - started)
    finally:
        gc.collect()
    low, high = found.quartiles
    return Row(
        **about, ratio=float(found.ratio), low=low, high=high, ours=float(found.ours.min()),
        theirs=float(found.theirs.min()), repetitions=len(found.ours), spread=found.spread,
        drift=found.drift, noisy=found.noisy and case.clock != "memory", took=time.perf_counter() - started,
    )  # fmt: skip


def expected_seconds(name: str, known: Sequence[Record]) -> float:
    """Return how long a case took before, or a guess."""
    rows = [row for record in known if (row := record.row(name)) is not None and not row.problem]
    return rows[0].took if rows else GUESS


def _line(error: BaseException) -> str:
    """Return the first line of what an error says."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"
