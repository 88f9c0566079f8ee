"""Records with a query, a document and a number, as a list or as lines (umbrela, MTEB, data frames)."""

from directrank.files.json_rankings.format import JSONFormat, OddRankingError, Table, shown
from directrank.storage.strict_json import Plain


def _fits(value: Plain) -> bool:
    first = value[0] if type(value) is list and value else value
    return type(first) is dict and len(_plain(first)) > 1


def _plain(record: Plain) -> dict:
    return {name: cell for name, cell in record.items() if type(cell) not in (dict, list)}


def _read(value: Plain, table: Table, _: str) -> None:
    for record in value if type(value) is list else [value]:
        if type(record) is not dict:
            raise OddRankingError(f"found {shown(record)}, expected an object")
        cells = _plain(record)
        n_rows = len(next(iter(table.values()), ()))
        table.update({name: [None] * n_rows for name in cells if name not in table})
        for name, column in table.items():
            column.append(cells.get(name))


RECORDS = JSONFormat("records", None, _fits, _read)
