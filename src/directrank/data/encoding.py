"""Categorical columns: their values as codes in query groups, and one feature per common value in a model."""

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.data.memory import refuse_if_too_large
from directrank.errors import DataError, ModelFormatError
from directrank.features import Features
from directrank.storage.mapped import is_mapped

#: A value has a feature of its own if at least this many training queries have it. All other values, and
#: missing ones, share the feature `OTHER`.
LEAST_QUERIES, OTHER = 10, "other"
#: Values that a warning names.
SHOWN = 3
#: Whole numbers as pandas writes them where a cell of the column is missing.
WHOLE = re.compile(r"(-?\d+)\.0")
#: So many features of documents in all fit in any memory.
NEVER_TOO_LARGE = 2**22


@dataclass(frozen=True)
class Encoding:
    """The columns of the training data, and the values of categorical ones that are features.

    Attributes
    ----------
    columns : tuple of str
        All columns, in order.
    values : mapping of str to tuple of str
        The values of each categorical column that have a feature of their own, sorted.
    """

    columns: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: What the name of a feature has in place of a value that is none of these.
    other: ClassVar[str] = OTHER

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features, such as ``price``, ``brand=Acme`` and ``brand=other``."""
        of_values = {column: [f"{column}={value}" for value in (*values, OTHER)]
               for column, values in self.values.items()}  # fmt: skip
        return tuple(name for column in self.columns for name in of_values.get(column, [column]))

    @property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """The first feature of each categorical column, and their number, int32 (n_columns,)."""
        sizes = [len(self.values[column]) + 1 if column in self.values else 1 for column in self.columns]
        first, which = np.cumsum([0, *sizes]), [column in self.values for column in self.columns]
        return first[:-1][which].astype(np.int32), np.array(sizes, np.int32)[which]

    @property
    def note(self) -> str:
        """A sentence about the features of categorical columns."""
        sizes = ", ".join(f"{column} ({len(values)})" for column, values in self.values.items())
        return (
            f"categorical columns, with the number of values that have a feature: {sizes}; other and missing "
            f"values are {OTHER!r}"
        )

    def features(self, codes: Features, categories: Mapping[str, tuple[str, ...]]) -> Features:
        """Return the features of columns with codes, of which `categories` has the values.

        Raises DataError if other columns are categorical than in training, or the features would not fit in
        memory.
        """
        for column in self.columns:
            if (column in self.values) != (column in categories):
                kind, other = ("categorical", "numbers")[:: 1 if column in self.values else -1]
                raise DataError(
                    f"column {column!r} is {kind} in the model and {other} in the data; name the categorical "
                    f"columns by --categorical {','.join(self.values)} (in Python, "
                    f"categorical={list(self.values)})"
                )
        plan, n_features = [], 0
        for number, column in enumerate(self.columns):
            targets = None
            if column in self.values:
                place = {value: at for at, value in enumerate(self.values[column])}
                # The code of a missing value, -1, finds the last target.
                targets_of_values = [place.get(value, len(place)) for value in categories[column]]
                if targets_of_values and min(targets_of_values) == len(place):
                    warnings.warn(
                        f"column {column!r}: the model knows none of its values in the data, so that all are "
                        f"{OTHER!r}; it knows {', '.join(map(repr, self.values[column][:SHOWN]))}",
                        UserWarning,
                        stacklevel=2,
                    )
                targets = np.array([*targets_of_values, len(place)])
            plan.append((number, n_features, targets))
            n_features += 1 if targets is None else len(self.values[column]) + 1
        if codes.shape[0] * n_features > NEVER_TOO_LARGE and not is_mapped(codes.rows):
            refuse_if_too_large(f"categorical columns {', '.join(self.values)}", codes.shape[0], n_features)
        return codes.transformed(_expand, plan, n_features=n_features)

    @classmethod
    def read(cls, columns: Sequence[str], values: Mapping[str, Sequence[str]]) -> "Encoding":
        """Return the encoding that a model file states, or raise ModelFormatError."""
        is_sound = all(
            column in columns and isinstance(texts, list) and all(isinstance(value, str) for value in texts)
            and sorted(set(texts)) == texts
            for column, texts in values.items()
        )  # fmt: skip
        if not is_sound:
            raise ModelFormatError("its categorical columns do not fit its columns")
        return cls(tuple(columns), {column: tuple(texts) for column, texts in values.items()})


class Places(Encoding):
    """Columns of categories whose feature is the place of the value in a list, as in models of libraries.

    Missing values, and those that are not in the list, are NaN. Numbers without a text, such as those of
    LETOR files, are places already.
    """

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features, which are those of the columns."""
        return self.columns

    @property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """No features of values of their own."""
        return np.zeros(0, np.int32), np.zeros(0, np.int32)

    @property
    def note(self) -> str:
        """A sentence about the features of categorical columns."""
        return f"categories of {', '.join(self.values)} are their places in the lists of the model"

    def features(self, codes: Features, categories: Mapping[str, tuple[str, ...]]) -> Features:
        """Return the features of columns with codes, of which `categories` has the values.

        Raises DataError if other columns are categorical than in training, or no value of a column is in its
        list.
        """
        plan = []
        for number, column in enumerate(self.columns):
            if column in categories and column not in self.values:
                raise DataError(f"column {column!r} is categorical in the data and numbers in the model")
            if column in categories:
                place = {value: float(at) for at, value in enumerate(self.values[column])}
                places = [
                    place.get(value, place.get(_as_stored(value), np.nan)) for value in categories[column]
                ]
                if places and np.isnan(places).all():
                    raise DataError(
                        f"column {column!r}: none of its values, such as {categories[column][0]!r}, is a "
                        f"category of the model, such as {self.values[column][0]!r}"
                    )
                plan.append((number, np.array([*places, np.nan])))
        return codes.transformed(_to_places, plan, n_features=len(self.columns)) if plan else codes

    @classmethod
    def read(cls, columns: Sequence[str], values: Mapping[str, Sequence[str]]) -> "Places":
        """Return the encoding that a model file states, or raise ModelFormatError."""
        for column, column_values in values.items():
            texts = isinstance(column_values, list) and all(isinstance(value, str) for value in column_values)
            if column not in columns or not texts or len(set(column_values)) < len(column_values):
                raise ModelFormatError("its categorical columns do not fit its columns")
        return cls(tuple(columns), {column: tuple(column_values) for column, column_values in values.items()})


def _as_stored(value: str) -> str:
    """Return a value that CSV of pandas has as True or 3.0 as the list of a model has it: true, 3."""
    if value in ("True", "False"):
        return value.lower()
    match = WHOLE.fullmatch(value)
    return value if match is None else match[1]


def _to_places(codes: np.ndarray, indptr, blocks, plan: Sequence[tuple], out: np.ndarray) -> None:
    out[:] = codes
    for number, places in plan:
        out[:, number] = places[codes[:, number].astype(np.int64)]  # The code of a missing value is -1.


def _expand(codes: np.ndarray, indptr, blocks, plan: Sequence[tuple], out: np.ndarray) -> None:
    rows = np.arange(len(codes))
    for number, first, targets in plan:
        if targets is None:
            out[:, first] = codes[:, number]
        else:
            out[rows, first + targets[codes[:, number].astype(np.int64)]] = 1.0


def encoding_of(groups: QueryGroups) -> Encoding | None:
    """Return the encoding of training queries; None if no column is categorical.

    Raises DataError if no value of a column is in enough queries: it would tell nothing.
    """
    if not groups.categories:
        return None
    columns, values = groups.feature_names or (), {}
    for column, texts in groups.categories.items():
        counts = groups.source.total(_queries_with, columns.index(column), len(texts))
        common = tuple(value for value, count in zip(texts, counts, strict=True) if count >= LEAST_QUERIES)
        if not common:
            raise DataError(
                f"column {column!r}: none of its {len(texts):,} values is in {LEAST_QUERIES} training "
                f"queries, so that it tells nothing; leave it out: --drop {column} (in Python, "
                f"drop=[{column!r}], or X.drop(columns=…))"
            )
        values[column] = tuple(value for value in common if value != OTHER)
    return Encoding(columns, values)


def _queries_with(codes: np.ndarray, indptr: np.ndarray, blocks, number: int, n_values: int) -> np.ndarray:
    """Return how many queries of a shard have each value of a column."""
    code = codes[:, number].astype(np.int64)
    query = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))[code >= 0]
    pairs = np.unique(query * n_values + code[code >= 0])
    return np.bincount(pairs % n_values, minlength=n_values)


def encoded(groups: QueryGroups, encoding: Encoding | None) -> QueryGroups:
    """Return query groups with features in place of categorical columns.

    Raises DataError if the columns are not those of the encoding; without one none may be categorical.
    """
    if encoding is None:
        if groups.categories:
            raise DataError(
                f"column {next(iter(groups.categories))!r} is categorical in the data, and the model was "
                "fitted with numbers; in Python read the data with categorical=()"
            )
        return groups
    expanded = groups.with_features(
        encoding.features(groups.source, groups.categories), encoding.feature_names
    )
    expanded.encoding = encoding
    return expanded
