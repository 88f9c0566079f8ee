"""Values of categorical columns, and the codes that stand for them in query groups."""

from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from directrank.data.cells import is_missing
from directrank.errors import DataError

#: float32 tells the codes of this many values apart.
MOST_VALUES = 2**24


class Values(dict[str, int]):
    """The values of a column, numbered in the order in which they appear."""

    #: The code of a missing value. It is no NaN, so that no rule for missing numbers applies to it.
    MISSING: ClassVar = -1.0

    def codes(self, cells: Iterable) -> np.ndarray:
        """Return the number of the value of each cell, float64; `MISSING` for None, NaN and empty text.

        Raises TypeError for a cell that is neither text nor a whole number.
        """
        texts = map(self.text, cells)
        return np.array([self.setdefault(text, len(self)) if text else self.MISSING for text in texts])

    def ordered(self) -> tuple[tuple[str, ...], np.ndarray]:
        """Return the sorted values, and the code in their order for each number; the last is `MISSING`."""
        if len(self) > MOST_VALUES:
            raise DataError(
                f"a categorical column has {len(self):,} values, at most {MOST_VALUES:,} are read"
            )
        codes = np.full(len(self) + 1, self.MISSING)
        values = tuple(sorted(self))
        codes[[self[value] for value in values]] = np.arange(len(values))
        return values, codes

    @staticmethod
    def text(cell) -> str:
        """Return the text of a value: that of whole numbers has no point, that of a missing one is empty.

        Raises TypeError for a cell that is neither text nor a whole number.
        """
        if isinstance(cell, str):
            return cell
        if is_missing(cell):
            return ""
        if isinstance(cell, bool | np.bool_):
            return str(cell).lower()
        if isinstance(cell, int | np.integer):
            return str(cell)
        if isinstance(cell, float | np.floating) and cell.is_integer():
            return str(int(cell))
        raise TypeError(f"found {cell}, expected a category: text or a whole number")
