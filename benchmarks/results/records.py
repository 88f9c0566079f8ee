"""A run of the benchmarks as a file: strict JSON with a checksum, written atomically."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from directrank.storage.atomic import write_atomically
from directrank.storage.strict_json import StrictJSONError, dump, parse

FORMAT = 1


@dataclass(frozen=True)
class Row:
    """What was measured of a case, or why nothing was.

    Attributes
    ----------
    ratio, low, high : float, optional
        The ratio of the least times, and the quartiles of the ratios of pairs.
    ours, theirs : float, optional
        The least seconds.
    spread, drift : float, optional
        What the guard against noise saw.
    took : float
        Seconds of the whole case, with its preparation.
    problem : str
        Why there is no ratio; empty if there is one.
    failed : bool
        Whether the case failed; otherwise something that it needs is missing.
    """

    name: str
    what: str = ""
    yardstick: str = ""
    faster: bool = False
    target: float | None = None
    clock: str = "processor"
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    ours: float | None = None
    theirs: float | None = None
    repetitions: int = 0
    spread: float | None = None
    drift: float | None = None
    noisy: bool = False
    took: float = 0.0
    problem: str = ""
    failed: bool = False

    @property
    def topic(self) -> str:
        """The group of the case: its name up to the slash."""
        return self.name.partition("/")[0]

    @property
    def missed(self) -> bool:
        """Whether the ratio is worse than the target."""
        if self.ratio is None or self.target is None:
            return False
        return self.ratio < self.target if self.faster else self.ratio > self.target


@dataclass
class Record:
    """A run: the machine, the versions, the rows, and the names of the cases that it has still to measure."""

    machine: dict[str, str]
    versions: dict[str, str]
    code: str = ""
    read_pass: float = 0.0
    written: str = ""
    quick: bool = False
    rows: list[Row] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)

    def of_same_machine(self, other: "Record") -> bool:
        """Whether two runs can be compared: same model of processor, same number of cores."""
        return all(self.machine.get(name) == other.machine.get(name) for name in ("processor", "cores"))

    def row(self, name: str) -> Row | None:
        """Return the row of a case, None if it has none."""
        return next((each for each in self.rows if each.name == name), None)

    def put(self, row: Row) -> None:
        """Add a row, instead of an older one of the same name."""
        self.rows = [each for each in self.rows if each.name != row.name] + [row]

    def arrange(self, names: Sequence[str]) -> None:
        """Order the rows, and drop those of cases that there are no longer."""
        self.rows = [row for name in names if (row := self.row(name)) is not None]


def write_record(record: Record, path: Path) -> None:
    """Write a record, whole or not at all."""
    content = {"format": FORMAT, **asdict(record)}
    text = json.dumps({**content, "sha256": _digest(content)}, indent=1, ensure_ascii=False, allow_nan=False)
    write_atomically(path, text + "\n")


def read_record(path: Path) -> Record:
    """Read a record back.

    Raises
    ------
    ValueError
        Naming the file, if it is no record, or was changed since it was written.
    """
    try:
        content = parse(path.read_bytes())
        claimed = content.pop("sha256")
        if content.get("format") != FORMAT:
            raise ValueError(f"its format is {content.get('format')}, expected {FORMAT}")
        if _digest(content) != claimed:
            raise ValueError("it was changed after it was written")
        return _record(content)
    except (AttributeError, KeyError, TypeError, StrictJSONError, ValueError) as error:
        raise ValueError(f"{path} is no record of benchmarks: {error}; delete it or choose another") from None


def _record(content: dict[str, Any]) -> Record:
    known = {each.name for each in fields(Record)}
    given = {name: value for name, value in content.items() if name in known}
    return Record(**{**given, "rows": [Row(**each) for each in content["rows"]]})


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(dump(content).encode()).hexdigest()
