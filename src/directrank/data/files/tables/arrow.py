"""Arrow's file format, which Feather files have too."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from directrank.data.files.tables.format import TableFormat, readable

KIND = "an Arrow or Feather file"


def schema(path: Path) -> Any:
    """Return the columns and their types."""
    with readable(path, KIND) as pa, pa.memory_map(str(path)) as file:
        return pa.ipc.open_file(file).schema


def batches(path: Path, wanted: Mapping[str, Any]) -> Iterator[Any]:
    """Yield rows with the wanted columns, in the types of the file."""
    names = schema(path).names
    with readable(path, KIND) as pa, pa.memory_map(str(path)) as file:
        fields = [names.index(name) for name in wanted]
        reader = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=fields))
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)


FORMAT = TableFormat("Arrow", (".arrow", ".feather", ".ipc"), schema, batches)
