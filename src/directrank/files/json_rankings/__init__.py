"""Judgments and runs in JSON, recognised by their content; a format is one file and one line of `FORMATS`."""

from pathlib import Path

from directrank.errors import DataFormatError
from directrank.files.json_lines import json_lines
from directrank.files.json_rankings import candidates, elasticsearch, mapping, records, rre
from directrank.files.json_rankings.format import LABEL, SCORE, OddRankingError, Table

#: Every format, those that are told by their keys first.
FORMATS = (
    elasticsearch.RATINGS,
    elasticsearch.RATED_HITS,
    elasticsearch.HITS,
    rre.RATINGS,
    candidates.CANDIDATES,
    records.RECORDS,
    mapping.MAPPING,
    mapping.ORDERED,
)
EXPECTED = (
    'judgments or a run, such as {"query": {"document": number}}, or on each line '
    '{"qid": …, "docid": …, "score": …}'
)


def read_json(path: Path, value: str | None = None) -> Table:
    """Return judgments, or a run, as columns by name; `value` says which is expected: LABEL or SCORE.

    Raises DataFormatError if the file has no known format, or is of the other kind.
    """
    kind, table = None, {}
    for line, record in json_lines(path, EXPECTED):
        if kind is None:
            kind = next((one for one in FORMATS if one.fits(record)), None)
            if kind is None:
                raise DataFormatError(str(path), line, 0, f"JSON of an unknown form; expected {EXPECTED}")
            if None not in (value, kind.value) and kind.value != value:
                expected = "judgments; give them first" if value == LABEL else "a run"
                raise DataFormatError(str(path), line, 0, f"this is {kind.name}, expected {expected}")
        try:
            kind.read(record, table, value or SCORE)
        except OddRankingError as error:
            raise DataFormatError(str(path), line, 0, f"{error} ({kind.name})") from None
    if not any(table.values()):
        raise DataFormatError(str(path), 0, 0, f"holds no document; expected {EXPECTED}")
    return table
