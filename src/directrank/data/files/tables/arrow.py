"""Arrow's file format, which Feather files have too."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from directrank.data.files.tables.format import TableFormat, readable

KIND = "an Arrow or Feather file"


def schema(path: Path) -> Any:
    """Return the columns and their types."""
    with readable(path, KIND) as pa, pa.memory_map(str(path)) as file:
        columns = pa.ipc.open_file(file).schema
        # Names are decoded here: bytes that are no text are an error of this file.
        return pa.schema(list(zip(columns.names, columns.types, strict=True)))


def batches(path: Path, wanted: Mapping[str, Any]) -> Iterator[Any]:
    """Yield rows with the wanted columns, in the types of the file."""
    places = {name: place for place, name in enumerate(schema(path).names)}
    with readable(path, KIND) as pa, pa.memory_map(str(path)) as file:
        fields = [places[name] for name in wanted]
        reader = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=fields))
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number)
            batch.validate(full=True)
            yield batch


FORMAT = TableFormat("Arrow", (".arrow", ".feather", ".ipc"), schema, batches)
