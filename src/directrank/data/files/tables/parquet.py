"""Parquet."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from directrank.data.files.tables.format import BATCH_ROWS, TableFormat, readable

KIND = "Parquet"


def schema(path: Path) -> Any:
    """Return the columns and their types."""
    with readable(path, KIND):
        from pyarrow.parquet import ParquetFile

        with ParquetFile(path) as file:
            return file.schema_arrow


def batches(path: Path, wanted: Mapping[str, Any]) -> Iterator[Any]:
    """Yield rows with the wanted columns, in the types of the file."""
    with readable(path, KIND):
        from pyarrow.parquet import ParquetFile

        with ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=list(wanted)):
                batch.validate(full=True)
                yield batch


FORMAT = TableFormat("Parquet", (".parquet", ".pq"), schema, batches)
