"""Vectors of documents and queries that others computed, from tables with a column of lists of numbers."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directrank.errors import DataError
from directrank.text.collections.columns import called, chosen, text_of
from directrank.text.collections.options import CollectionOptions
from directrank.text.collections.records import Faults
from directrank.text.collections.tables import BINARY

REPEATED = "vectors have the name of an earlier one and are left out"


class Vectors(NamedTuple):
    """Vectors of the same length, one a row, and the row of each name."""

    rows: dict[str, int]
    values: np.ndarray


def read_vectors(
    source: Any, role: str, wanted: Collection[str], options: CollectionOptions, faults: Faults
) -> Vectors:
    """Return the vectors of some names, float32; rows without a vector are skipped.

    Parameters
    ----------
    source : path of Parquet or Arrow, or data frame
        With a column of names, and one of lists of numbers.
    role : str
        The role of the column of names: docid or qid.
    wanted : collection of str
    options : CollectionOptions
    faults : Faults

    Raises
    ------
    DataError
        If there is no such column, or vectors have different lengths or numbers that are not finite.
    """
    where, rows, parts = called(source), {}, [np.zeros((0, 0), np.float32)]
    for names, vectors in _columns(source, role, options):
        places = []
        for place, (value, known) in enumerate(
            zip(names.to_pylist(), vectors.is_valid().to_pylist(), strict=True)
        ):
            name = text_of(value)
            if name in rows:
                faults.add(REPEATED, name)
            elif known and name in wanted:
                rows[name] = len(rows)
                places.append(place)
        if places:
            parts.append(_matrix(vectors.take(places), where))
    if len({part.shape[1] for part in parts[1:]}) > 1:
        raise DataError(f"{where}: its vectors have different lengths; expected the same for all")
    values = np.concatenate(parts[1:] or parts)
    finite = np.isfinite(values).all(axis=1)
    if not finite.all():
        name = list(rows)[int(np.argmin(finite))]
        raise DataError(f"{where}: the vector of {name!r} has a number that is missing or not finite")
    return Vectors(rows, values)


def _columns(source: Any, role: str, options: CollectionOptions) -> Iterator[tuple[Any, Any]]:
    """Yield names and vectors, some rows at a time, as arrays of pyarrow."""
    if not isinstance(source, Path):
        import narwhals as nw

        table = nw.from_native(source, eager_only=True).to_arrow()
        columns = _chosen(table.schema, role, options, called(source))
        for batch in table.to_batches():
            yield batch.column(columns[0]), batch.column(columns[1])
        return
    form = next((each for each in BINARY if source.name.lower().endswith(each.endings)), None)
    if form is None:
        raise DataError(f"{source}: expected vectors in Parquet or Arrow, a file such as vectors.parquet")
    schema = form.schema(source)
    columns = _chosen(schema, role, options, called(source))
    for batch in form.batches(source, {name: schema.field(name).type for name in columns}):
        yield batch.column(columns[0]), batch.column(columns[1])


def _chosen(schema: Any, role: str, options: CollectionOptions, where: str) -> tuple[str, str]:
    """Return the columns of names and of vectors."""
    found = [field.name for field in schema if _has_vectors(field.type)]
    if len(found) != 1:
        raise DataError(
            f"{where}: has {len(found)} columns of lists of numbers, expected one; "
            f"the columns are {', '.join(schema.names)}"
        )
    (name,) = chosen(schema.names, [role], options, where)
    return name, found[0]  # pyright: ignore[reportReturnType]


def _has_vectors(kind: Any) -> bool:
    from pyarrow import types

    lists = types.is_list, types.is_large_list, types.is_fixed_size_list
    numbers = types.is_floating, types.is_integer
    return any(each(kind) for each in lists) and any(each(kind.value_type) for each in numbers)


def _matrix(vectors: Any, where: str) -> np.ndarray:
    """Return lists of numbers as rows."""
    from pyarrow.compute import list_value_length  # pyright: ignore[reportAttributeAccessIssue]

    lengths = list_value_length(vectors).unique().to_pylist()
    if len(lengths) > 1:
        raise DataError(f"{where}: its vectors have different lengths; expected the same for all")
    numbers = vectors.flatten().to_numpy(zero_copy_only=False).astype(np.float32)
    return numbers.reshape(len(vectors), lengths[0])
