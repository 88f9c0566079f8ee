"""Queries divided into those that train and those that judge: one division at a time is in memory."""

import numpy as np

from directrank.data.groups import QueryGroups

#: Rows that are moved at a time.
ROWS_AT_ONCE = 4096


class Division:
    """The queries of some groups in two parts.

    Parameters
    ----------
    groups : QueryGroups
    in_place : bool
        Whether the part that trains may take the room of the features of all, which are of no use until
        `end`. Else it is a copy, as the part that judges always is.
    """

    def __init__(self, groups: QueryGroups, in_place: bool):
        self.groups, self.in_place = groups, in_place
        self._judging = np.zeros(0, np.bool_)
        self._parts: tuple[QueryGroups, QueryGroups] | None = None

    def at(self, judging: np.ndarray) -> tuple[QueryGroups, QueryGroups]:
        """Return the queries outside of a mask and those inside; the parts of another mask end."""
        if self._parts is None or judging is not self._judging:
            self.end()
            judged = self.groups.select(judging)
            train = self._moved(~judging) if self.in_place else self.groups.select(~judging)
            self._judging, self._parts = judging, (train, judged)
        return self._parts

    def _moved(self, which: np.ndarray) -> QueryGroups:
        """Return the selected queries, whose rows move to the front of the array of all."""
        part, rows = self.groups.queries.chosen(which)
        features = self.groups.features
        for first in range(0, len(rows), ROWS_AT_ONCE):
            some = rows[first : first + ROWS_AT_ONCE]
            features[first : first + len(some)] = features[some]
        return self.groups.of_part(part, features[: len(rows)])

    def end(self) -> None:
        """Free the parts, and bring the rows of all queries back to their places."""
        if self._parts is not None and self.in_place:
            features, judged = self.groups.features, self._parts[1].features
            places = np.repeat(self._judging, self.groups.queries.sizes)
            rows = np.flatnonzero(~places)
            for first in reversed(range(0, len(rows), ROWS_AT_ONCE)):
                some = rows[first : first + ROWS_AT_ONCE]
                features[some] = features[first : first + len(some)].copy()
            features[places] = judged
        self._parts = None
