"""A run beside an earlier one of the same machine: which ratios got worse, and which better."""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.results.records import Record, Row, read_record

#: A ratio is worse, or better, if it changed by more than this factor; a noisy one by more than the other.
LIMIT, LIMIT_OF_NOISY = 1.10, 2.0


@dataclass(frozen=True)
class Change:
    """A ratio that changed; `factor` above 1 is worse."""

    row: Row
    old: Row
    factor: float

    @property
    def limit(self) -> float:
        """The least factor of a change that is named."""
        return LIMIT_OF_NOISY if self.row.noisy or self.old.noisy else LIMIT


@dataclass(frozen=True)
class Changes:
    """What changed since an earlier record, and which versions did."""

    worse: list[Change]
    better: list[Change]
    versions: dict[str, tuple[str, str]]


def last_record(record: Record, folder: Path) -> Record | None:
    """Return the latest record of the same machine in a folder, None if there is none."""
    found = [read_record(path) for path in sorted(folder.glob("*.json"))]
    return max((each for each in found if record.of_same_machine(each)), key=_written, default=None)


def changes(record: Record, earlier: Record) -> Changes:
    """Compare the ratios of two runs; a noisy one counts where it has more than doubled or halved."""
    found = []
    for row in record.rows:
        old = earlier.row(row.name)
        if old is None or not row.ratio or not old.ratio:
            continue
        if row.faster == old.faster:
            found.append(Change(row, old, old.ratio / row.ratio if row.faster else row.ratio / old.ratio))
    found.sort(key=lambda each: -each.factor)
    names = sorted({*record.versions, *earlier.versions})
    pairs = {name: (earlier.versions.get(name, "none"), record.versions.get(name, "none")) for name in names}
    return Changes(
        worse=[each for each in found if each.factor > each.limit],
        better=[each for each in reversed(found) if each.factor < 1.0 / each.limit],
        versions={name: pair for name, pair in pairs.items() if pair[0] != pair[1]},
    )


def _written(record: Record) -> str:
    return record.written
