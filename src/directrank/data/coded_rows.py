"""Features as an array, of which some are codes of categories: rows of it keep what the codes stand for."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from directrank.data.tabular import frame_of


class CodedRows(np.ndarray):
    """Features, float32 (n_docs, n_features), with names of columns and the values of categorical ones.

    Rankers read its rows, such as ``X[:20]``, by the names of columns and the texts of categories. What is
    computed of it, and parts of its columns, are plain numbers.

    Attributes
    ----------
    columns : tuple of str
    categories : dict of str to tuple of str
        The values of each categorical column; a code is the place of one, and -1 where it is missing.
    """

    columns: tuple[str, ...]
    categories: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(
        cls, X: np.ndarray, columns: tuple[str, ...], categories: Mapping[str, tuple[str, ...]]
    ) -> "CodedRows":
        """Return a view of an array with what its codes stand for."""
        rows = X.view(cls)
        rows.columns, rows.categories = columns, categories
        return rows

    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        of_rows = not isinstance(key, tuple) or (len(key) == 2 and key[1] in (Ellipsis, slice(None)))
        if of_rows and hasattr(self, "columns") and part.ndim == 2 and part.shape[1] == self.shape[1]:
            return CodedRows.of(part, self.columns, self.categories)
        return part

    def texts(self, name: str) -> list[str | None]:
        """Return the texts of a categorical column, None where one is missing."""
        values = self.categories[name]
        codes = np.asarray(self)[:, self.columns.index(name)].astype(np.int64).tolist()
        return [values[code] if code >= 0 else None for code in codes]

    def table(self) -> dict[str, Any]:
        """Return the columns by name, numbers or texts."""
        X = np.asarray(self)
        return {
            name: self.texts(name) if name in self.categories else X[:, at]
            for at, name in enumerate(self.columns)
        }

    def frame(self) -> Any:
        """Return the rows as a data frame, whose categorical columns have a type of categories."""
        import narwhals as nw

        table: Any = nw.from_native(frame_of(self.table()), eager_only=True)
        return table.with_columns(nw.col(*self.categories).cast(nw.Categorical)).to_native()
