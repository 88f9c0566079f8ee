"""What each feature adds to the scores of documents, as an array with names."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from directrank.data.tabular import Bars, Tabular
from directrank.errors import DataError


class Explanation(Tabular, np.ndarray):
    """Contributions of features, float64 (n_rows, n_features).

    What is computed of it, and parts of it, are plain numbers.

    Attributes
    ----------
    features : tuple of str
    rows : tuple of int
        The rows of the documents.
    """

    features: tuple[str, ...]
    rows: tuple[int, ...]

    @classmethod
    def of(cls, values: np.ndarray, features: Sequence[str], rows: np.ndarray) -> "Explanation":
        """Return a view of an array with the names of features and the numbers of documents."""
        explanation = values.view(cls)
        explanation.features, explanation.rows = tuple(features), tuple(rows.tolist())
        return explanation

    def _table(self) -> dict[str, Any]:
        if not hasattr(self, "features"):
            raise DataError("a part of an explanation has no names: call explain for the rows that you need")
        columns = zip(self.features, np.asarray(self).T, strict=True)
        name = "row" if "row" not in self.features else "row of X"
        return {name: np.array(self.rows), **dict(columns)}

    def _title(self) -> str:
        return "what each feature adds to the score"

    def _bars(self) -> Bars:
        self._table()
        values = np.asarray(self)
        alone = len(values) == 1
        adds = values[0] if alone else np.abs(values).mean(axis=0)
        order = np.argsort(-np.abs(adds), kind="stable")
        of = f"added to the score of row {self.rows[0]}" if alone else "mean absolute contribution"
        return Bars(of, [self.features[at] for at in order], adds[order].tolist())

    def _repr_html_(self) -> str:
        return super()._repr_html_() if hasattr(self, "features") else f"<pre>{np.asarray(self)!r}</pre>"
