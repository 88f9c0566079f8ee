"""Documents as an engine has them: columns by name, in which a file is run for a check."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from directrank.data import QueryGroups
from directrank.data.encoding import Encoding
from directrank.errors import ExportError, listed
from directrank.estimators.documents import missing_in_training, names_of_columns, with_missing_as_in_training
from directrank.estimators.ranker import Ranker

#: The rule by which a missing value is the least of its query.
LEAST = "query_min"
#: Numbers, NaN where missing; or texts, None where missing.
Column = np.ndarray


@dataclass(frozen=True)
class Documents:
    """Columns of documents by name, and the features of the model in its order.

    Attributes
    ----------
    columns : mapping of str to ndarray
        Float32 numbers with NaN, or texts (of type object) with None.
    in_order : ndarray
        Float32 features in the order of the model, for files that know features by their place.
    """

    columns: Mapping[str, Column]
    in_order: np.ndarray

    def __len__(self) -> int:
        return len(self.in_order)

    @classmethod
    def of_features(cls, names: Sequence[str], features: np.ndarray) -> "Documents":
        """Return documents that have features of numbers alone."""
        rows = np.asarray(features)
        return cls(dict(zip(names, rows.T, strict=True)), rows)

    def column(self, name: str) -> Column:
        """Return a column.

        Raises
        ------
        ExportError
            If there is none of this name.
        """
        if name not in self.columns:
            raise ExportError(
                f"the file asks for the column {name!r}, which the documents have not (theirs are "
                f"{listed([*self.columns])}): give the columns of the engine and of --check the names that "
                "the model has, or train with these names"
            )
        return self.columns[name]

    def numbers(self, name: str) -> Column:
        """Return a column of numbers."""
        if is_text(column := self.column(name)):
            raise ExportError(f"the file asks for numbers in the column {name!r}, which holds texts")
        return column

    def features(self, names: Sequence[str] = ()) -> np.ndarray:
        """Return the features that a file names in its order, or those of the model where it names none.

        A name is a column of numbers; or COLUMN=VALUE, which is 1 where a column of texts has the value, else
        0; or COLUMN=other, which is 1 where the column has none of the values that are named.
        """
        found = [each for name in names if (each := self._feature(name, names)) is not None]
        if len(found) < max(len(names), 1):
            return self.in_order  # The engine knows features by their place.
        return np.column_stack(found).astype(self.in_order.dtype)

    def _feature(self, name: str, names: Sequence[str]) -> np.ndarray | None:
        column = self.columns.get(name)
        if column is not None and not is_text(column):
            return column
        for column, texts in self.columns.items():
            if is_text(texts) and name.startswith(f"{column}="):
                value = name[len(column) + 1 :]
                texts_of_features = {
                    each[len(column) + 1 :] for each in names if each.startswith(f"{column}=")
                }
                if value != Encoding.other:
                    return (texts == value).astype(np.float32)
                return np.array(
                    [text not in texts_of_features - {Encoding.other} for text in texts.tolist()], np.float32
                )
        return None

    def having(self, columns: Mapping[str, Column]) -> "Documents":
        """Return the documents with more columns, or others in the place of those of these names."""
        return replace(self, columns={**self.columns, **columns})


def is_text(column: Column) -> bool:
    """Return whether a column has texts."""
    return column.dtype == object


def documents_of(ranker: Ranker, groups: QueryGroups, in_order: np.ndarray) -> Documents:
    """Return documents as they are: under their own names of columns, and with texts in those of categories.

    Documents without names have those of the ranker, whose columns they are by their place. A missing value
    is missing, unless no engine can tell what it was in training.
    """
    names = groups.feature_names or names_of_columns(ranker)
    filled = missing_in_training(ranker) == LEAST
    rows = groups.to_caller((with_missing_as_in_training(ranker, groups) if filled else groups).source.rows)
    columns: dict[str, Column] = {}
    for name, column in zip(names, rows.T, strict=True):
        if name in groups.categories:
            texts = np.array([*groups.categories[name], None], object)
            columns[name] = texts[column.astype(np.int64)]  # The code of a missing value is −1.
        else:
            columns[name] = np.ascontiguousarray(column)
    return Documents(columns, in_order)
