"""What a comparison will do, known before anything is read."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from directrank.estimators.methods import Configured
from directrank.experiments.cells import Options
from directrank.experiments.environment import code_digest, versions
from directrank.experiments.sources import FoldSource
from directrank.experiments.store import FolderStore, MemoryStore, key_of
from directrank.strict_json import as_plain

#: Changes when the content of a cell's record changes.
RECORD = 1


@dataclass(frozen=True)
class PlannedCell:
    """A method on a fold, with the key under which its record is kept."""

    fold: FoldSource
    method: Configured
    key: str

    @property
    def label(self) -> str:
        """Fold and method, for people."""
        return f"{self.fold.name}-{self.method.label}"

    @property
    def n_fits(self) -> int:
        """Points of the grid."""
        return len(self.method.points())


@dataclass(frozen=True)
class Plan:
    """Every cell of a comparison, fold by fold.

    Attributes
    ----------
    dataset : str
    folds : sequence of FoldSource
    methods : sequence of Configured
    options : Options
    cells : sequence of PlannedCell
    finished : dict of str to dict
        Records that exist already, by key.
    """

    dataset: str
    folds: Sequence[FoldSource]
    methods: Sequence[Configured]
    options: Options
    cells: Sequence[PlannedCell]
    finished: dict[str, dict[str, Any]]

    @property
    def n_fits(self) -> int:
        """Fits of all cells."""
        return sum(cell.n_fits for cell in self.cells)

    @property
    def n_fits_left(self) -> int:
        """Fits of cells that are not finished."""
        return sum(cell.n_fits for cell in self.cells if cell.key not in self.finished)


def make_plan(
    dataset: str,
    folds: Sequence[FoldSource],
    methods: Sequence[Configured],
    options: Options,
    store: FolderStore | MemoryStore,
) -> Plan:
    """Return the plan of a comparison, with what the store holds of it already.

    Raises
    ------
    ValueError
        If two methods have one label.
    """
    labels = [method.label for method in methods]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice} is asked for twice; name each method once")
    cells = [
        PlannedCell(fold, method, cell_key(fold, method, options)) for fold in folds for method in methods
    ]
    records = {cell.key: store.get(cell.key, cell.label) for cell in cells}
    finished = {key: record for key, record in records.items() if record is not None}
    return Plan(dataset, folds, methods, options, cells, finished)


def cell_key(fold: FoldSource, method: Configured, options: Options) -> str:
    """Return the key of a cell: a digest of all that decides its numbers."""
    facts = {
        "record": RECORD,
        "data": dict(fold.digests),
        "method": [method.method.name, method.method.estimator.__name__, method.measure],
        "fixed": method.method.fixed,
        "grid": method.points(),
        "options": asdict(options),
        "versions": versions(),
        "code": code_digest(),
    }
    return key_of(as_plain(facts))
