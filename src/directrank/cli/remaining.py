"""How long a comparison will still take."""

from collections import Counter, defaultdict
from typing import Any

from directrank.timing import seconds_of_work


class Remaining:
    """An estimate from the cells that are finished.

    A cell that is left is expected to take the mean of its method's cells on other folds; of a method without
    one, the mean of the methods with one. Processes that share the work are seen in how much finished work
    an elapsed second has brought.

    Parameters
    ----------
    left : iterable of str
        The method of each cell that is not finished.
    """

    def __init__(self, left=()):
        self._left, self._start = Counter(left), seconds_of_work()
        self._seconds: defaultdict[str, list[float]] = defaultdict(list)
        self._done = 0.0

    def finished(self, cell: dict[str, Any], reused: bool) -> None:
        """Count a finished cell; what an earlier run did says how long the method takes."""
        if "error" not in cell:
            self._seconds[cell["method"]].append(cell["seconds"])
        if not reused:
            self._left[cell["method"]] -= 1
            self._done += cell["seconds"]

    def seconds(self) -> float | None:
        """Return the seconds that are left, or None while nothing is known."""
        if not self._seconds or not self._done:
            return None
        means = {method: sum(each) / len(each) for method, each in self._seconds.items()}
        usual = sum(means.values()) / len(means)
        work = sum(count * means.get(method, usual) for method, count in self._left.items())
        return work * (seconds_of_work() - self._start) / self._done

    def __str__(self) -> str:
        """The estimate for people; empty below two seconds, and while nothing is known."""
        seconds = self.seconds() or 0.0
        if seconds < 2:
            return ""
        for unit, size in (("h", 3600), ("min", 60)):
            if seconds >= 1.5 * size:
                return f"about {seconds / size:.0f} {unit} left"
        return f"about {seconds:.0f} s left"
