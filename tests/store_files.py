"""The files of a comparison's store, read and changed without the code under test."""

import json
from pathlib import Path

from directrank.storage.strict_json import signed


def records_of(folder) -> dict[str, dict]:
    """Return what the file of every record holds, by key: its label, its value and its checksum."""
    return {path.stem: json.loads(path.read_bytes()) for path in sorted(Path(folder, "store").glob("*.json"))}


def values_by_label(folder, part: str) -> dict[str, dict]:
    """Return the values of the records whose label has a part."""
    records = records_of(folder).values()
    return {record["label"]: record["value"] for record in records if part in record["label"]}


def write_record(folder, record: dict, *, sign: bool) -> None:
    """Write a record to the file of its key, with its old checksum or signed again."""
    content = json.dumps(record)
    if sign:
        content = signed({name: value for name, value in record.items() if name != "sha256"})
    Path(folder, "store", f"{record['key']}.json").write_text(content, encoding="utf-8")
