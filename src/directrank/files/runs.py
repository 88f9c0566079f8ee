"""Runs: rankings in TREC's form and those like it, and tables of them, with notes on their scores."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directrank.data.cells import first_rounded, is_number, numbers, quoted_cell
from directrank.data.columns import (
    GUESSES,
    ROW_NUMBERS,
    ReadOptions,
    choose_columns,
    guessed,
    known_column,
)
from directrank.data.grouping import id_array, text_array, whole_numbers
from directrank.data.groups import QueryGroups
from directrank.errors import DataError, DataFormatError, check_choice, listed
from directrank.files.forms import CALLED, CONSTANT, JSON, QRELS, TABLE, form_of, separator_of
from directrank.files.json_rankings import SCORE as SCORES_COLUMN
from directrank.files.json_rankings import read_json
from directrank.files.scores import document_names
from directrank.files.tables import (
    NO_DOCUMENT,
    TABLES,
    Place,
    column_numbers,
    id_texts,
    import_pyarrow,
    table_of,
)
from directrank.files.words import Rows, Words, encoded, numbered, quoted, read_words, rows_of, text_of

#: Names of numbers of which the least is the best.
DISTANCES = ("distance", "dist", "loss", "cost", "error", "perplexity")

__all__ = [
    "DOCUMENT",
    "EQUAL",
    "QUERY",
    "Run",
    "equal_scores",
    "indexed_scores",
    "read_ranking",
    "read_run",
    "read_run_table",
    "read_scored",
    "run_of",
    "run_of_frame",
]

RUN_EXPECTED = "expected six: query, Q0, document, rank, score and tag (a TREC run)"
SCORE_EXPECTED = "expected a score: a finite number"
#: What RankLib's runs write before the name of a document.
DOCID_PREFIX = "docid="
#: Columns of a run.
QUERY, DOCUMENT, RANK, SCORE, TAG = 0, 2, 3, 4, 5
BLANK = b" "[0]
#: From here on float64 does not tell neighbouring whole numbers apart.
LEAST_ROUNDED = 2.0**53
#: What columns of tables of runs may be.
ROLES = ("qid", "docid", "score", "rank")
EQUAL = "the scores of every query are all equal"
#: What a missing name of a document in a data frame is as text.
MISSING_NAMES = ("None", "nan", "<NA>", "NaT")


@dataclass(frozen=True, eq=False)
class Run:
    """The rows of a TREC run with their scores."""

    path: Path
    rows: Rows
    scores: np.ndarray
    notes: Sequence[str] = ()  # What a reader should know of the scores
    #: What callers call the queries, by their names as text; a file has texts alone.
    qids: Mapping[str, Any] = field(default_factory=dict)

    @property
    def in_words(self) -> bool:
        """Whether the name of every document is one word, as a TREC run needs."""
        documents = self.rows.column(DOCUMENT)
        content = documents.view(np.uint8) if documents.dtype.kind == "S" else b"".join(documents.tolist())
        return not (np.frombuffer(content, np.uint8) == BLANK).any()

    def without_self(self) -> "Run":
        """Return the run without documents that are called like their query.

        Raises DataError if none is left.
        """
        mask = self.rows.column(DOCUMENT) != self.rows.column(QUERY)
        if mask.all():
            return self
        if not mask.any():
            raise DataError(f"{self.path}: every document is called like its query, so that none is left")
        note = f"{self.path}: left out {(~mask).sum()} documents that are called like their query"
        return replace(self, rows=self.rows.chosen(mask), scores=self.scores[mask], notes=[*self.notes, note])


def read_run(path: str | Path) -> Run:
    """Read a run, plain or compressed: ``query Q0 document rank score tag`` on each line.

    The score decides the order, as in trec_eval; a note says where the rank contradicts it. Lines may lack
    the tag, the rank or Q0, or be those of MS MARCO, ``query document rank`` and ``query document rank
    score``; three words may end in a score instead. A name or a tag may have several words, as RankLib's runs
    have. Lines that begin with # are comments; a note says that tags differ. Raises DataFormatError if a line
    has another form than the first, or a score is not a finite number.
    """
    path = Path(path)
    words = read_words(path, RUN_EXPECTED, separator_of(path))
    layout = _layout(words)
    places: list[Any] = list(layout.places)
    if layout.documents_of_words:  # D of `docid = D …`, as in LETOR text
        spaced = [words.row(row)[2:4] == ["docid", "="] for row in range(len(words.counts))]
        places[DOCUMENT] = np.where(spaced, 4, 2)
    rows = words.rows(*places)
    scores = rows.numbers(SCORE, SCORE_EXPECTED)
    if layout.ranked:
        _check_ranks(rows, scores)
        scores = -scores
    if rows.text(0, DOCUMENT).startswith(DOCID_PREFIX):
        documents = rows.column(DOCUMENT).tolist()
        prefix = DOCID_PREFIX.encode()
        if all(docid.startswith(prefix) and docid != prefix for docid in documents):
            spans = list(rows.spans)
            spans[DOCUMENT] = spans[DOCUMENT] + (len(prefix), 0)
            rows = replace(rows, spans=spans)
    ranks = _plain_numbers(rows, RANK) if layout.has_rank else None
    notes = words.notes()
    if len(layout.places) > TAG and len(first := rows.numbered(TAG)[1]) > 1:
        tags = f"{quoted(rows.text(0, TAG))} and {quoted(rows.text(first[1], TAG))}"
        notes.append(
            f"{path}: the tag differs by line, {tags} for example; all lines are one run, as in trec_eval"
        )
    return _noted(Run(path, rows, scores, notes), ranks)


def indexed_scores(path: Path, groups: QueryGroups) -> np.ndarray | None:
    """Return the scores in row order of a file of RankLib: query, number of the document in it, and score.

    Numbers count from 0 in every query. None if the second words are not such numbers, or are names of
    documents. Raises DataError if they may be both, or a score is not a finite number.
    """
    words = read_words(path, RUN_EXPECTED, separator_of(path))
    words.refuse_other(3, "expected three as in the first line")
    rows = words.rows(0, 0, 1, 2, 2)
    query = groups.to_caller(groups.queries.query)
    qids, names = list(map(str, groups.qid.tolist())), list(map(str, document_names(groups).tolist()))
    order = np.argsort(query, kind="stable")
    place = np.arange(len(order)) - groups.queries.indptr[query[order]]
    expected = {
        (qids[row], str(number)): row for row, number in zip(order.tolist(), place.tolist(), strict=True)
    }
    keys = [(rows.text(row, QUERY), rows.text(row, DOCUMENT)) for row in range(len(rows.line))]
    if set(keys) != set(expected) or len(keys) != len(expected):
        return None
    if set(keys) == set(zip(qids, names, strict=True)):
        if all(names[row] == number for (_, number), row in expected.items()):
            return None
        problem = "the second word may be the name of a document, or its number in the query"
        raise rows.error(0, DOCUMENT, f"{problem}; {RUN_EXPECTED}")
    scores = np.empty(len(keys))
    scores[[expected[key] for key in keys]] = rows.numbers(SCORE, SCORE_EXPECTED)
    return scores


class _Layout(NamedTuple):
    """Where the columns of a run are in its lines: of each its place, from -1 backwards."""

    places: tuple[int, ...]  # of query, Q0, document, rank, score and, if there is one, tag
    has_rank: bool = True
    ranked: bool = False  # Whether the number is the rank, and not the score
    documents_of_words: bool = False


def _layout(words: Words) -> _Layout:
    """Return the layout of the lines of a run; raise DataFormatError if it is not certain."""
    first, width = words.row(0), int(words.counts[0])
    if int(words.counts.max()) > 6 <= width:
        return _long_layout(words)
    if width not in (3, 4, 5):
        words.refuse_other(6, RUN_EXPECTED)
        return _Layout((0, 1, 2, 3, 4, 5))
    words.refuse_other(width, f"expected {width} as in the first line")
    if width == 3:
        rows = words.rows(0, 0, 1, 2, 2)
        are_ranks = all(word.isdigit() for word in rows.column(SCORE).tolist())
        return _Layout((0, 0, 1, 2, 2), has_rank=False, ranked=are_ranks)
    if width == 4:
        rows = words.rows(0, 0, 1, 2, 3)
        if _counts_ranks(rows) and _plain_numbers(rows, SCORE) is not None:
            return _Layout((0, 0, 1, 2, 3))
        problem = f"this is {CALLED[QRELS]}, expected a TREC run or a file of scores"
        raise DataFormatError(str(words.block.path), 0, 0, problem)
    constant, numeric = first[1].lower() in CONSTANT, [is_number(word) for word in first]
    if constant and first[3].isdigit() and numeric[4]:
        return _Layout((0, 1, 2, 3, 4))
    if constant and numeric[3] and not numeric[4]:
        return _Layout((0, 1, 2, 3, 3, 4), has_rank=False)
    if not constant and first[2].isdigit() and numeric[3] and not numeric[4]:
        return _Layout((0, 0, 1, 2, 3, 4))
    raise words.error(0, f"found 5 words, {RUN_EXPECTED}")


def _long_layout(words: Words) -> _Layout:
    """Return the layout of a run with lines of more than six words: those of a document, or of the tag."""
    fits_after = fits_before = False
    if words.counts.min() >= 6:
        fits_after, fits_before = (
            all(rank.isdigit() for rank in rows.column(RANK).tolist())
            and _plain_numbers(rows, SCORE) is not None
            for rows in (words.rows(0, 1, 2, 3, 4), words.rows(0, 1, 2, -3, -2))
        )
    if fits_after == fits_before:
        row = int(np.argmax(words.counts != 6))
        raise words.error(row, f"found {words.counts[row]} words, {RUN_EXPECTED}")
    if fits_before:
        return _Layout((0, 1, 2, -3, -2, -1), documents_of_words=True)
    return _Layout((0, 1, 2, 3, 4, 5))


def _plain_numbers(rows: Rows, column: int) -> np.ndarray | None:
    """Return a column as numbers, None if it holds something else."""
    try:
        return rows.numbers(column, "")
    except DataFormatError:
        return None


def _counts_ranks(rows: Rows) -> bool:
    """Whether ranks count from 1, or from 0, in every query, scores do not rise, and documents differ."""
    documents = rows.column(DOCUMENT)
    query, _ = rows.numbered(QUERY)
    ranks, scores = (_plain_numbers(rows, column) for column in (RANK, SCORE))
    constant = all(word.decode("utf-8", "replace").lower() in CONSTANT for word in set(documents.tolist()))
    if ranks is None or scores is None or constant or len(numbered(documents, query)[1]) < len(documents):
        return False
    order = np.argsort(query, kind="stable")
    begins = np.diff(query[order], prepend=-1) != 0
    starts = np.where(begins, np.isin(ranks[order], (0, 1)), np.diff(ranks[order], prepend=0) == 1)
    return bool((starts & (begins | (np.diff(scores[order], prepend=0) <= 0))).all())


def _check_ranks(rows: Rows, values: np.ndarray) -> None:
    """Raise DataFormatError if whole numbers may be scores: they do not ascend from 0 or 1 in every query."""
    query, _ = rows.numbered(QUERY)
    order = np.argsort(query, kind="stable")
    begins = np.diff(query[order], prepend=-1) != 0
    wrong = np.where(begins, ~np.isin(values[order], (0, 1)), np.diff(values[order], prepend=0) <= 0)
    if wrong.any():
        row = int(order[int(wrong.argmax())])
        problem = "the third word may be a rank or a score, as it does not ascend from 0 or 1"
        raise rows.error(row, SCORE, f"{problem} within the query; {RUN_EXPECTED}")


def _noted(run: Run, ranks: np.ndarray | None) -> Run:
    """Return a run with notes of scores that are all equal, and of ranks that contradict them."""
    query, first = run.rows.numbered(QUERY)
    notes = [*run.notes, *_rounded_scores(run), *equal_scores(str(run.path), query, run.scores)]
    if ranks is not None:
        scores = run.scores
        ascends = np.diff(query) > 0
        if not (ascends | ((np.diff(query) == 0) & (np.diff(ranks) >= 0))).all():
            order = np.lexsort((ranks, query))
            query, ranks, scores = query[order], ranks[order], scores[order]
        rises = (np.diff(ranks) > 0) & (np.diff(scores) > 0) & (np.diff(query) == 0)
        wrong = np.unique(query[1:][rises])
        if len(wrong):
            notes.append(
                f"{run.path}: ranks contradict scores in {len(wrong)} of {len(first)} queries, such as "
                f"{run.rows.text(int(first[wrong[0]]), QUERY)}; the scores decide, as in trec_eval"
            )
    return replace(run, notes=notes)


def _rounded_scores(run: Run) -> list[str]:
    """Return a line if scores are so large that float64 does not tell whole numbers apart."""
    largest = np.abs(run.scores).max()
    if largest < LEAST_ROUNDED:
        return []
    return [
        f"{run.path}: scores are as large as {largest:.3g}: from {LEAST_ROUNDED:.3g} on whole numbers are "
        "rounded, and neighbours are tied"
    ]


def equal_scores(name: str, query: np.ndarray, scores: np.ndarray) -> list[str]:
    """Return a line if the scores of every query are equal, of which one has two documents or more."""
    low, high = (np.full(query.max() + 1, end) for end in (np.inf, -np.inf))
    np.minimum.at(low, query, scores)
    np.maximum.at(high, query, scores)
    if (low < high).any() or np.bincount(query).max() < 2:
        return []
    return [f"{name}: {EQUAL}, so that values of the convention standard are means over all orders"]


def read_run_table(path: Path, how: ReadOptions | None = None) -> Run:
    """Read a table with the columns qid, docid and score or rank; any other column is not read.

    Columns of queries and documents are those that `how` names, where the table has them.

    Raises DataError if a column is missing, or a cell cannot be used: names file, column, row and remedy.
    """
    table = table_of(path) or TABLES[0]
    pa = import_pyarrow(path)
    schema = table.schema(path)
    numeric = [name for name, kind in zip(schema.names, schema.types, strict=True) if _is_numeric(pa, kind)]
    columns, notes = _run_columns(schema.names, numeric, str(path), how)
    *_, score, rank = columns
    deciding = rank if score is None else score
    cells: dict[str, list] = {name: [] for name in columns if name is not None}
    kinds = {name: pa.float64() if name == deciding else pa.string() for name in cells}
    n_rows = 0
    for batch in table.batches(path, kinds):
        for name, values in cells.items():
            if name == deciding:
                values += column_numbers(batch, name, Place(path, n_rows), SCORE_EXPECTED).tolist()
            elif name == rank:  # Its only use is to be compared with scores.
                ranks = numbers(batch.column(name), np.float64)
                values += [None] * len(batch) if ranks is None else ranks.tolist()
            else:
                ids = id_texts(batch, name, Place(path, n_rows))
                values += ids.fill_null("").to_pylist()
        n_rows += len(batch)
    return _run_of_columns(cells, columns, path, notes)


def _is_numeric(pa: Any, kind: Any) -> bool:
    return pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)


def _run_of_columns(
    cells: Mapping[str, Any], columns: Sequence[str | None], path: Path, notes: Sequence[str]
) -> Run:
    qids, docids = (cells[str(name)] for name in columns[:2])
    scores, ranks = (cells.get(str(name)) for name in columns[2:])
    return run_of(qids, docids, scores, ranks, path=path, notes=notes)


def read_ranking(path: Path, how: ReadOptions | None = None) -> Run:
    """Read a run of any form: a table, JSON, or words; see `read_run_table` and `read_run`."""
    form = form_of(path)
    if form == TABLE:
        return read_run_table(path, how)
    if form != JSON:
        return read_run(path)
    table = read_json(path, SCORES_COLUMN)
    numeric = [name for name, column in table.items() if all(type(cell) in (int, float) for cell in column)]
    columns, notes = _run_columns(list(table), numeric, str(path), how)
    return _run_of_columns(table, columns, path, notes)


def read_scored(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return query, document and score of each row of a run, or of a table of qid, docid and score.

    Names are text. Raises DataError, with the place, if the file is neither.
    """
    run = read_ranking(path)
    names = [text_array([text_of(word) for word in run.rows.column(at).tolist()]) for at in (QUERY, DOCUMENT)]
    return names[0], names[1], run.scores


def run_of_frame(frame: Any, name: str, how: ReadOptions | None = None) -> Run:
    """Return the columns qid, docid and score or rank of a data frame as a run.

    Columns of queries and documents are those that `how` names, where the frame has them.

    Raises DataError if a column is missing, or a score is not a finite number.
    """
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    numeric = [column for column, kind in table.schema.items() if kind.is_numeric()]
    columns, notes = _run_columns(table.columns, numeric, name, how)
    cells = {column: table.get_column(column).to_list() for column in columns[2:] if column is not None}
    ids = {column: table.get_column(str(column)).to_numpy() for column in columns[:2]}
    return _run_of_columns({**cells, **ids}, columns, Path(name), notes)


def run_of(
    qids: Sequence[object] | np.ndarray, docids: Sequence[object] | np.ndarray,
    scores: Sequence[object] | None,
    ranks: Sequence[object] | None = None, *, path: Path, notes: Sequence[str] = (),
) -> Run:  # fmt: skip
    """Return documents of queries with their scores, or ranks, as a run; `path` names it in messages.

    Raises DataError if a score is not a finite number, or a document has no name.
    """
    deciding, column = (ranks, "rank") if scores is None else (scores, SCORES_COLUMN)
    if not deciding:
        raise DataError(f"{path}: {NO_DOCUMENT}")
    for row, value in enumerate(deciding):
        if not isinstance(value, Real) or not math.isfinite(value):
            raise Place(path, 0).error(column, row, f"found {quoted_cell(value)}, {SCORE_EXPECTED}")
    if (wrong := first_rounded(np.fromiter(deciding, object, len(deciding)))) is not None:
        raise Place(path, 0).error(column, wrong[0], f"found {wrong[1]}")
    ids_of = {"qid": qids, "docid": docids}
    names = [whole_numbers(id_array(ids, f"{path}: {what}")).tolist() for what, ids in ids_of.items()]
    queries, documents = (
        encoded(column, f"{path}: {what}") for what, column in zip(ids_of, names, strict=True)
    )
    by_text = {str(name): name for name in names[0]}
    for what, ids in ids_of.items():
        nameless = (
            row
            for row, name in enumerate(ids)
            if name == "" or (not isinstance(name, str) and str(name) in MISSING_NAMES)
        )
        if (row := next(nameless, None)) is not None:
            raise Place(path, 0).error(what, row, "has no value; name every query and document of a run")
    # The names of columns are line 1.
    line = np.arange(2, len(documents) + 2)
    rows = rows_of(path, line, [queries, queries, documents])
    values = np.array(deciding, np.float64)
    if scores is None:
        return _noted(Run(path, rows, -values, notes, by_text), None)
    has_ranks = ranks is not None and all(isinstance(rank, Real) and math.isfinite(rank) for rank in ranks)
    return _noted(Run(path, rows, values, notes, by_text), np.array(ranks, np.float64) if has_ranks else None)


def _run_columns(
    names: Sequence[str], numeric: Sequence[str], where: str, how: ReadOptions | None
) -> tuple[tuple[str, str, str | None, str | None], list[str]]:
    """Return the columns of queries, names of documents, scores and ranks of a run, and a note.

    Columns that `how` names for runs must be there; those that it names for judgments count where they are.
    """
    of_runs = {} if how is None else {**how.run_columns}
    for role, name in of_runs.items():
        check_choice("run_columns", role, ROLES)
        known_column(name, names, where, f", which is named as the {role} of runs")
    shared = {} if how is None else {"qid": how.qid, "docid": how.docid}
    roles = {role: name for role, name in shared.items() if name in names} | of_runs
    free, notes = [name for name in names if name not in of_runs.values()], []
    score, rank = roles.get("score"), roles.get("rank")
    if score is None and rank is None:
        score, rank = guessed(GUESSES["score"], free), guessed(GUESSES["rank"], free)
        columns = (guessed([name], free) for name in GUESSES["score"])
        rest = [column for column in columns if column not in (None, score)]
        if rest and score != SCORES_COLUMN:
            raise DataError(
                f"{where}: columns {score!r} and {rest[0]!r} are both called like scores; name the right "
                f"one by --run-columns score={score} (in Python, run_columns=)"
            )
        notes += [f"{where}: scores are those of the column {score!r} (not {listed(rest)})"] if rest else []
    options = ReadOptions(
        qid=roles.get("qid"), docid=roles.get("docid"), labelled=False, grouped=False, features=()
    )
    columns = choose_columns(names, options, where)
    for role, name in (("qid", columns.qid), ("docid", columns.docid)):
        if name is None:
            raise DataError(
                f"{where}: no column is called like a {role}; name it by --run-columns {role}=COLUMN (in "
                f"Python, run_columns=); the columns are {listed(names)}"
            )
    if score is None and rank is None:
        score = _only_score(names, numeric, (columns.qid, columns.docid), where)
        notes.append(f"{where}: scores are those of the column {score!r}, its only other number")
    return (str(columns.qid), str(columns.docid), score, rank), notes


def _only_score(names: Sequence[str], numeric: Sequence[str], roles: Sequence[str | None], where: str) -> str:
    """Return the only column of numbers that has no role; raise DataError if there is none, or several."""
    possible = [name for name in numeric if name not in roles and not ROW_NUMBERS.fullmatch(name)]
    if len(possible) == 1 and guessed(DISTANCES, possible) is None:
        return possible[0]
    problem = (
        "no column is called like a score; name it by --run-columns score=COLUMN (in Python, run_columns=)"
    )
    if len(possible) == 1:
        problem = (
            f"column {possible[0]!r} is called like a distance, of which the least is the best; write its "
            f"negative, or name it by --run-columns score={possible[0]} if the largest is the best"
        )
    raise DataError(f"{where}: {problem}; the columns are {listed(names)}")
