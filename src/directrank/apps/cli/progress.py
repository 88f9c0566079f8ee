"""Progress of a comparison: a bar on a terminal, lines in a pipe, nothing with --quiet."""

import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import ExitStack
from statistics import fmean, median
from typing import Self

from directrank.apps.cli.output import Remarks, data_check_lines, remark
from directrank.apps.experiments import Observer
from directrank.storage.strict_json import JSONObject
from directrank.timing import seconds_of_work, watching

#: No estimate before this many cells have taken time.
FIRST = 3


class Remaining:
    """An estimate from the cells that are finished.

    A cell that is left is expected to take the mean of its method's cells on other folds. A method without
    one is expected to take the median time of a fit, as often as the cell has fits: one slow method says
    nothing of the others. Processes that share the work are seen in how much finished work an elapsed second
    has brought.

    Parameters
    ----------
    cells : mapping of str to int
        The number of cells that are left, by method.
    fits : mapping of str to int
        The number of fits in a cell of each method, 1 where it is not given.
    """

    def __init__(self, cells: Mapping[str, int], fits: Mapping[str, int]):
        self._left, self._fits, self._start = Counter(cells), fits, seconds_of_work()
        self._seconds: defaultdict[str, list[float]] = defaultdict(list)
        self._done, self._n_done = 0.0, 0

    def finished(self, cell: JSONObject, reused: bool) -> None:
        """Count a finished cell; what an earlier run did says how long the method takes."""
        if "error" not in cell:
            self._seconds[cell["method"]].append(cell["seconds"])
        if not reused:
            self._left[cell["method"]] -= 1
            self._done += cell["seconds"]
            self._n_done += 1

    def seconds(self) -> float | None:
        """Return the seconds that are left, or None while too little is known."""
        if not self._seconds or not self._done or self._n_done < FIRST:
            return None
        means = {method: fmean(seconds) for method, seconds in self._seconds.items()}
        of_fit = median(mean / self._fits.get(method, 1) for method, mean in means.items())
        work = sum(
            count * means.get(method, of_fit * self._fits.get(method, 1))
            for method, count in self._left.items()
        )
        return work * (seconds_of_work() - self._start) / self._done

    def __str__(self) -> str:
        """The estimate for people; empty below two seconds, and while too little is known."""
        seconds = self.seconds() or 0.0
        if seconds < 2:
            return ""
        for unit, size in (("h", 3600), ("min", 60)):
            if seconds >= 1.5 * size:
                return f"about {seconds / size:.0f} {unit} left"
        return f"about {seconds:.0f} s left"


class Lines(Observer, ExitStack):
    """Counts finished cells and prints a line for each on stderr, on a terminal above a bar over fits."""

    def __init__(self, *, verbose: bool = False):
        super().__init__()
        self.verbose = verbose
        self.n_cells = self.seen = self.saved = 0
        self._cell = ""
        self.remaining = Remaining({}, {})
        self.drawn = sys.stderr.isatty() and not Remarks.silent

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("fits {task.fields[left]}", markup=False),
            console=Console(stderr=True),
            transient=True,
            disable=not self.drawn,
        )
        self._progress = self.enter_context(progress)
        self._task = self._progress.add_task("", total=None, left="")
        if self.drawn:
            self.enter_context(watching(self.learning))
        return self

    def planned(self, plan) -> None:
        """Print the number of fits, which is the length of the bar."""
        self.n_cells, self.saved = len(plan.cells), len(plan.finished)
        self.select_by = plan.options.select_by.name
        open_cells = Counter(cell.method.label for cell in plan.cells if cell.key not in plan.finished)
        fits = {cell.method.label: len(cell.fits) + len(cell.candidates) for cell in plan.cells}
        self.remaining = Remaining(open_cells, fits)
        self.say(plan_line(plan))
        self._progress.update(self._task, total=plan.n_fits_left, description="reading")

    def reading(self, lines: list[str]) -> None:
        """Print how the files are read."""
        self.say(*lines)

    def checked(self, lines: list[str]) -> None:
        """Print the sentences of the data check."""
        self.say(*data_check_lines(lines, self.verbose))

    def starting(self, fold: str, method: str, n_points: int) -> None:
        """Name the method in the bar."""
        self._cell = f"{fold} {method}"
        self._progress.update(self._task, description=self._cell)

    def learning(self, measure: str, value: float) -> None:
        """Show the last value of the monitor of a fit in this process: one of `auto` takes long."""
        if measure != "objective":
            self._progress.update(self._task, description=f"{self._cell}: {measure} {value:.4f}")

    def fitted(self) -> None:
        """Advance the bar."""
        self._progress.advance(self._task)

    def finished(self, cell: JSONObject, reused: bool) -> None:
        """Print the outcome of a cell, and count it in the bar."""
        self.seen += 1
        self.saved += not reused and "error" not in cell
        self.remaining.finished(cell, reused)
        remaining = str(self.remaining)
        if not reused:  # the line about the plan has counted the others
            place = f"{self.seen:>{len(str(self.n_cells))}}/{self.n_cells}"
            self.say(f"[{place}] {cell_line(cell, self.select_by)}{remaining and f'; {remaining}'}")
        text = f"{self.seen} of {self.n_cells} cells"
        self._progress.update(self._task, description=text, left=remaining)

    def say(self, *lines: str) -> None:
        """Print lines, above the bar if there is one."""
        if self.drawn and lines:
            self._progress.console.print(*lines, sep="\n", markup=False, highlight=False)
        else:
            remark(*lines)


def plan_line(plan) -> str:
    """Return one sentence about the fits of a plan."""
    counts = {"fit": plan.n_fits, "method": len(plan.methods), "fold": len(plan.folds)}
    fits, methods, folds = (f"{count} {noun}{'s' * (count != 1)}" for noun, count in counts.items())
    fits = f"{fits}: {methods}, {folds} of {plan.dataset}"
    if plan.n_fits_left == plan.n_fits:
        return fits
    done = f"{len(plan.finished)} of {len(plan.cells)} cells are finished"
    return f"{fits}; {done}, {plan.n_fits_left} fit{'s' * (plan.n_fits_left != 1)} left"


def cell_line(cell: JSONObject, select_by: str) -> str:
    """Return one line about a cell."""
    head = f"{cell['fold']} {cell['method']}"
    if "error" in cell:
        return f"{head}: FAILED: {cell['error']['type']}: {cell['error']['message']}"
    chosen = ", ".join(f"{name}={value}" for name, value in sorted(cell["chosen"].items()))
    value = cell["validation"]
    measured = "not chosen on validation" if value is None else f"validation {select_by} {value:.4f}"
    return f"{head}: {measured}{f' with {chosen}' if chosen else ''} ({cell['seconds']:.1f} s)"
