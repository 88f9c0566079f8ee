"""What a file of judgments or of a ranking holds, by its first line."""

import re
from pathlib import Path

from directrank.data.cells import is_number
from directrank.data.columns import guessed_roles, has_header
from directrank.errors import DataFormatError
from directrank.files.opening import blocks_of
from directrank.files.store import manifest_of
from directrank.files.tables import SEPARATORS, TABLES, csv_head, table_of
from directrank.files.words import cells_between_tabs, text_of

__all__ = [
    "CALLED",
    "JSON",
    "JUDGED_FORMS",
    "LETOR",
    "QRELS",
    "RUN",
    "SCORES",
    "TABLE",
    "TRIPLES",
    "form_of",
]

LETOR, QRELS, TRIPLES, RUN, SCORES, TABLE, JSON = (
    "letor", "qrels", "triples", "run", "scores", "table", "json",
)  # fmt: skip
#: What each form is called in messages.
CALLED = {
    LETOR: "labelled documents",
    QRELS: "qrels",
    TRIPLES: "lines of a query, a document and a number",
    RUN: "a TREC run",
    SCORES: "a file of scores",
    TABLE: "a table",
    JSON: "JSON",
}
#: The forms that judgments have.
JUDGED_FORMS = (LETOR, QRELS, TRIPLES, TABLE, JSON)
#: An object with a name, or a list of objects, perhaps over several lines.
_JSON = re.compile(rb"\s*(\{\s*[\"}]|\[\s*[\[{\]])")
#: Words of a line of qrels, and of prels: query, document, grade, method and probability.
QRELS_WORDS, PRELS_WORDS = 4, 5
#: The second column of qrels and runs, which says nothing, in small letters.
CONSTANT = ("q0", "0")
_BY_WORDS = {1: SCORES, 3: TRIPLES, QRELS_WORDS: QRELS, 5: RUN, 6: RUN}


def form_of(path: Path) -> str:
    """Return the form of a file: labelled documents, qrels, a run, one score per line, a table, or JSON.

    A table names its columns; of other files the number of words of the first line tells the form. Raises
    DataFormatError if the first line fits none of them, or there is none.
    """
    if manifest_of(path):
        return LETOR
    separator, table = separator_of(path), table_of(path)
    if table is not None and (table is not TABLES[0] or (separator and has_header(*csv_head(path)[1:]))):
        return TABLE
    for block in blocks_of(path):
        if block.first_line == 1 and _JSON.match(block.bytes.data):
            return JSON
        for start, stop in zip(block.starts, block.stops, strict=True):
            line = block.bytes[start:stop].tobytes()
            words = line.split(separator.encode() if separator else None)
            if not words or words[0].startswith(b"#"):
                continue
            words = (not separator and cells_between_tabs(line)) or words
            if words[QRELS_WORDS:] and words[QRELS_WORDS].startswith(b"#"):
                words = words[:QRELS_WORDS]
            if len(words) > 1 and b":" in words[1] and not separator:
                return LETOR
            if _names_columns(text_of(line)):
                return TABLE
            if (
                len(words) == PRELS_WORDS
                and text_of(words[1]).lower() not in CONSTANT
                and _numbers(words[2:])
            ):
                problem = "prels, with the method and the probability of each judgment, are not read"
                raise block.error(int(start), f"{problem}; write qrels: query, 0, document and grade")
            form = RUN if len(words) > max(_BY_WORDS) and not separator else _BY_WORDS.get(len(words))
            if form is not None:
                return form
            raise block.error(
                int(start),
                f"found {len(words)} words, expected qrels (four, or three without the second), a TREC run "
                "(six), one score, or labelled documents (grade qid:query feature:value …)",
            )
    raise DataFormatError(str(path), 0, 0, "is empty, expected labelled documents, qrels, a run or scores")


def separator_of(path: Path) -> str | None:
    """Return what separates the words of a file: by its name that of CSV, if the first line has one."""
    if table_of(path) is not TABLES[0]:
        return None
    separator, first, _ = csv_head(path)
    return separator if len(first) > 1 else None


def _numbers(words: list[bytes]) -> bool:
    return all(is_number(text_of(word)) for word in words)


def _names_columns(line: str) -> bool:
    """Whether a line names columns, those of judgments or of a run."""
    cells = line.split(max(SEPARATORS, key=line.count))
    roles = guessed_roles(cells)
    return len(cells) > 1 and None not in (roles["qid"], roles["docid"])
