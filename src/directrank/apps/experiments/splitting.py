"""How one set is divided into training, validation and test set: by queries, or by time within them."""

import datetime
import hashlib
import re
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directrank.data import QueryGroups
from directrank.data.columns import guessed, is_number
from directrank.errors import DataError, of_option
from directrank.files import TABLE_ENDINGS, read_columns, table_columns

#: Columns of a table that hold the text of a query, in lower case without punctuation.
TEXT_NAMES = ("query", "querytext", "searchterm", "searchterms", "searchquery", "keywords", "question")
#: The share of the queries before the test queries that validate, unless the first one is named.
VALIDATION = 0.2
#: A day, the time with its fraction, and the zone.
TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(?:[.,](\d{1,9}))? ?(Z|UTC|[+-]\d{2}(?::?\d{2})?)?)?",
    re.ASCII,
)
TIMES = "dates and times such as 2026-09-01, 2026-09-01 14:05 or 2026-09-01T14:05:09+02:00"


@dataclass(frozen=True)
class Splitting:
    """How queries are divided: at values of a column, or at random into pieces.

    Attributes
    ----------
    k, seed : int
        The number of pieces, None for a division at values, and the seed of the random order.
    split_by : str or array of shape (n_docs,), optional
        The column, or its values, of which later ones test.
    test_from, vali_from : object
        The first value that tests, and the first that validates.
    fold_by : str or array of shape (n_docs,), optional
        The column, or its values, of which equal ones are in one piece.
    split_last : int, optional
        How many last interactions of each query, by the times of `split_by`, test.
    """

    k: int | None = None
    seed: int = 0
    split_by: Any = None
    test_from: Any = None
    vali_from: Any = None
    fold_by: Any = None
    split_last: int | None = None

    def __post_init__(self) -> None:
        limits = ("test_from", "vali_from")
        for option in (*limits, "split_last"):
            if getattr(self, option) is not None and self.split_by is None:
                what = "times" if option == "split_last" else "this value"
                with of_option(option):
                    raise ValueError(f"name the column of {what} by --split-by (in Python, split_by=)")
        if self.split_by is None:
            return
        if self.split_last is not None:
            with of_option("split_last"):
                if self.split_last < 1:
                    raise ValueError(f"expected one interaction or more, got {self.split_last}")
                if not (self.test_from is self.vali_from is None):
                    raise ValueError("it divides the rows of each query: omit --test-from and --vali-from")
        with of_option("split_by"):
            if self.test_from is None and self.split_last is None:
                raise ValueError(
                    "name the first value that tests by --test-from (in Python, test_from=), or leave the "
                    "last interactions of each query out by --split-last 1 (split_last=1)"
                )
            if self.k is not None or self.fold_by is not None:
                raise ValueError(
                    "it makes one fold: omit --kfold and --fold-by (in Python, kfold=, fold_by=)"
                )

    @property
    def at_values(self) -> bool:
        """Whether queries are divided at values of a column."""
        return self.split_by is not None

    @property
    def divides(self) -> bool:
        """Whether queries are divided at all."""
        return self.at_values or self.k is not None

    @property
    def names(self) -> list[str]:
        """The names of the folds."""
        if self.split_last is not None:
            return [f"last-{self.split_last}"]
        if self.at_values:
            return [f"from {self.test_from}"]
        return [f"Fold{turn + 1}" for turn in range(self.k or 0)]

    @property
    def columns(self) -> list[str]:
        """The columns of a table that divide its queries: none of them is a feature."""
        return [column for column in (self.split_by, self.fold_by) if isinstance(column, str)]

    @property
    def settings_text(self) -> str:
        """What the division depends on, beside the queries."""
        if self.split_by is None and self.fold_by is None:
            return f"{self.k} {self.seed}"
        facts = self.k, self.seed, self.split_by, self.test_from, self.vali_from, self.fold_by
        last = [] if self.split_last is None else [f"last {self.split_last}"]
        return " ".join([*map(_text_or_digest, facts), *last])

    def line(self) -> str:
        """Return the sentence about the division."""
        if self.split_last is not None:
            column = self.split_by if isinstance(self.split_by, str) else "the given times"
            return (
                f"divided by {column}: of the interactions (rows of relevance above 0) of each query the "
                f"last {self.split_last} test, the {self.split_last} before them validate; rows of relevance "
                "0 are in all three sets"
            )
        if self.at_values:
            column = self.split_by if isinstance(self.split_by, str) else "the given values"
            before = "of the queries before them the last fifth"
            vali = before if self.vali_from is None else f"those from {self.vali_from}"
            return f"divided by {column}: queries from {self.test_from} test, {vali} validate"
        if self.k is None:
            return ""
        by = "query" if self.fold_by is None else "the given values"
        by = self.fold_by if isinstance(self.fold_by, str) else by
        return f"{self.k} random folds, divided by {by} with seed {self.seed}"

    def select(self, groups: QueryGroups) -> Callable[[np.ndarray], QueryGroups]:
        """Return what makes a set of one of the `parts` of some groups."""
        return groups.select if self.split_last is None else groups.select_documents

    def parts(self, groups: QueryGroups, files: Sequence[Path]) -> list[list[np.ndarray]]:
        """Return the training, validation and test queries of each fold, as numbers of queries.

        With `split_last`, the documents of each set, bool of shape (n_docs,), in the caller's row order.
        Warns if a text is in training and in test queries.

        Raises
        ------
        DataError
            If the queries cannot be divided, or a column does not exist or cannot be read.
        """
        if self.columns and len(files) != 1:
            raise DataError(
                f"{self.columns[0]!r} must be a column of one table with all queries; name one file"
            )
        file = files[0] if len(files) == 1 else None
        if self.split_last is not None:
            return [self._last(groups, file, self.split_last)]
        folds = [self._at_values(groups, file)] if self.at_values else list(self._at_random(groups, file))
        if self.fold_by is None and file is not None:
            self._warn_of_texts(groups, file, folds[0])
        return folds

    def _at_values(self, groups: QueryGroups, file: Path | None) -> list[np.ndarray]:
        values, where = _values_of(self.split_by, groups, file)
        first = {
            option: value
            for option, value in (("test_from", self.test_from), ("vali_from", self.vali_from))
            if value is not None
        }
        row = groups.queries.row + (file is not None)  # Rows of a file count from 1.
        numbers, first = _comparable(values, row, first, where)
        starts = groups.queries.indptr[:-1]
        earliest, latest = (limit.reduceat(numbers, starts) for limit in (np.minimum, np.maximum))
        if (divided := (earliest < first["test_from"]) & (latest >= first["test_from"])).any():
            raise DataError(
                f"{where}: query {groups.queries.qid[divided][0]} has rows before and from {self.test_from} "
                f"({divided.sum()} such queries); name a column that tells searches apart by --qid (in "
                "Python, qid=)"
            )
        tests = latest >= first["test_from"]
        before = np.sort(latest[~tests])
        if not len(before) or not tests.any():
            side = "before" if tests.any() else "from"
            least, largest = values[np.argmin(numbers)], values[np.argmax(numbers)]
            raise DataError(
                f"{where}: no query is {side} {self.test_from}; values are from {least} to {largest}"
            )
        limit = first.get("vali_from", before[int(len(before) * (1.0 - VALIDATION))])
        validates = ~tests & (latest >= limit)
        if not validates.any() or (validates | tests).all():
            raise DataError(
                f"{where}: there are no queries to train on, or none to validate, before {self.test_from}; "
                "name the first value that validates by --vali-from (in Python, vali_from=)"
            )
        return [np.flatnonzero(part) for part in (~tests & ~validates, validates, tests)]

    def _last(self, groups: QueryGroups, file: Path | None, n_last: int) -> list[np.ndarray]:
        queries = groups.queries
        relevant = queries.relevance > 0.0
        values, where = _values_of(self.split_by, groups, file, relevant)
        row, counts = queries.row[relevant], queries.n_positive
        places, _ = _comparable(values[relevant], row + (file is not None), {}, where)
        order = np.lexsort((row, places, queries.query[relevant]))
        later = np.repeat(np.cumsum(counts), counts) - 1 - np.arange(len(order))
        long_enough = np.repeat(counts > 2 * n_last, counts)
        # The number of the set: test 2, validation 1, training 0.
        part = np.where(long_enough, np.maximum(2 - later // n_last, 0), 0)
        cuts = order[:-1][(part[:-1] < part[1:]) & (places[order[:-1]] == places[order[1:]])]
        part[order] = part.copy()
        masks = []
        for number in range(3):
            mask = ~relevant & (counts > 2 * n_last if number else counts > 0)[queries.query]
            mask[relevant] = part == number
            masks.append(groups.to_caller(mask))
        if not (counts > 2 * n_last).any():
            raise DataError(
                f"{where}: no query has {2 * n_last + 1} interactions (rows of relevance above 0), of which "
                f"{n_last} can test and {n_last} validate"
            )
        if groups.select_documents(masks[2]).queries.single_grade.all():
            raise DataError(
                f"{where}: all test documents of a query have one relevance, so that any order is right; add "
                "what each query has no interaction with as rows of relevance 0"
            )
        if len(cuts):
            warnings.warn(
                f"{where}: {len(cuts)} times that divide interactions of a query are equal on both sides; of "
                "equal times the later row is the later one",
                UserWarning,
                stacklevel=2,
            )
        return masks

    def _at_random(self, groups: QueryGroups, file: Path | None) -> Iterator[list[np.ndarray]]:
        assert self.k is not None
        rng, n_queries = np.random.default_rng(self.seed), groups.n_queries
        if self.fold_by is None:
            if n_queries < self.k:
                raise DataError(f"{self.k} folds need {self.k} queries or more, not {n_queries}")
            pieces = np.array_split(rng.permutation(n_queries), self.k)
        else:
            pieces = self._pieces(groups, file, rng)
        for turn in range(self.k):
            test, vali, *train = [pieces[(turn + place) % self.k] for place in range(self.k)]
            yield [np.sort(piece) for piece in (np.concatenate(train), vali, test)]

    def _pieces(self, groups: QueryGroups, file: Path | None, rng: np.random.Generator) -> list[np.ndarray]:
        """Return pieces of about as many queries each, of which queries with equal values are in one."""
        assert self.k is not None
        values, where = _values_of(self.fold_by, groups, file)
        starts, sizes = groups.queries.indptr[:-1], groups.queries.sizes
        differs = values != np.repeat(values[starts], sizes)
        if differs.any():
            qid = np.repeat(groups.queries.qid, sizes)[differs][0]
            raise DataError(
                f"{where}: query {qid} has several values; expected one value per query, such as its text"
            )
        distinct, code, counts = np.unique(values[starts], return_inverse=True, return_counts=True)
        if len(distinct) < self.k:
            raise DataError(f"{where}: {self.k} folds need {self.k} values or more, not {len(distinct)}")
        order = rng.permutation(len(distinct))
        order = order[np.argsort(-counts[order], kind="stable")]
        piece, filled = np.empty(len(distinct), np.int64), np.zeros(self.k, np.int64)
        for value in order:
            piece[value] = np.argmin(filled)
            filled[piece[value]] += counts[value]
        return [np.flatnonzero(piece[code] == number) for number in range(self.k)]

    def _warn_of_texts(self, groups: QueryGroups, file: Path, parts: list[np.ndarray]) -> None:
        """Warn if test queries have a text that training or validation queries have, too."""
        is_table = file.name.lower().endswith(tuple(TABLE_ENDINGS))
        column = guessed(TEXT_NAMES, table_columns(file)) if is_table else None
        if column is None:
            return
        values = groups.to_inner(np.array(_cells(file, column), dtype=str))
        train, vali, test = (values[groups.queries.indptr[part]] for part in parts)
        n_shared = int(np.isin(test, np.concatenate((train, vali))).sum())
        if n_shared:
            remedy = f"; --fold-by {column} (in Python, fold_by=) keeps a text on one side"
            warnings.warn(
                f"{file}: {n_shared} of {len(test)} test queries have a text (column {column!r}) that "
                f"training or validation queries have, too{'' if self.at_values else remedy}",
                UserWarning,
                stacklevel=2,
            )


def _text_or_digest(value: Any) -> str:
    """Return a value as text, of an array the digest."""
    if value is None or np.ndim(value) == 0:
        return str(value)
    return hashlib.sha256("\0".join(map(str, np.asarray(value).tolist())).encode()).hexdigest()


def _cells(file: Path, column: str) -> list[str | None]:
    return [cell for batch in read_columns(file, {column: str}) for cell in batch.column(0).to_pylist()]


def _values_of(
    column: object, groups: QueryGroups, file: Path | None, needed: np.ndarray | None = None
) -> tuple[np.ndarray, str]:
    """Return the values of a column as text, in the inner order, and its name in messages.

    Cells of a file may be empty where `needed`, bool in the inner order, says that none is needed.
    """
    if not isinstance(column, str):
        values = np.asarray(column).astype(str)
        if values.shape != (groups.n_docs,):
            raise DataError(f"values to divide by have shape {values.shape}, expected ({groups.n_docs},)")
        return groups.to_inner(values), "the values to divide by"
    assert file is not None
    cells = _cells(file, column)
    where = f"{file}: column {column!r}"
    empty = groups.to_inner(np.array([not cell for cell in cells]))
    if needed is not None:
        empty &= needed
    if empty.any():
        row = groups.queries.row[empty].min()
        what = "query" if needed is None else "interaction"
        raise DataError(f"{where} is empty in row {row + 1}; every {what} needs a value to be divided by")
    return groups.to_inner(np.array([cell or "" for cell in cells])), where


def _comparable(
    values: np.ndarray, row: np.ndarray, first: Mapping[str, object], where: str
) -> tuple[np.ndarray, dict[str, Any]]:
    """Return values and limits as places among all numbers, or among all instants.

    Raises DataError if a value is neither a number nor a time, ValueError if a limit is.
    """
    distinct, code = np.unique(values, return_inverse=True)
    texts, limits = distinct.tolist(), {option: str(value) for option, value in first.items()}
    if all(map(is_number, texts)):
        keys = [_number(text) for text in texts]
        _refuse_odd([key is None for key in keys], values, code, row, where, "finite numbers")
        found = {option: _number(text) if is_number(text) else None for option, text in limits.items()}
        expected = "a number, as in the column"
    else:
        times = [_time(text) for text in texts]
        # A number is odd only among times.
        odd = [
            not time and (any(times) or not is_number(text)) for time, text in zip(times, texts, strict=True)
        ]
        _refuse_odd(odd, values, code, row, where, f"numbers, or {TIMES}")
        zones = {time.zone for time in times if time}
        if len(zones) > 1 and None in zones:
            odd = [time is not None and time.zone is None for time in times]
            _refuse_odd(odd, values, code, row, where, "a time with a zone, as in other rows")
        found = {option: _limit(text, zones, where) for option, text in limits.items()}
        keys = [time.instant(None) for time in times if time]
        example = "2026-09-01" if None in zones else "2026-09-01T00:00Z"
        expected = f"a date or time such as {example}, as in the column"
    order: list[Any] = sorted(set(keys))
    for option, limit in found.items():
        if limit is None:
            with of_option(option):
                raise ValueError(f"expected {expected}")
    # Python compares whole numbers of any size exactly.
    place = {key: number for number, key in enumerate(order)}
    places = np.array([place[key] for key in keys], np.int64)
    return places[code], {option: bisect_left(order, limit) for option, limit in found.items()}


def _number(text: str) -> float | int | None:
    """Return a finite number, a whole one with all its digits."""
    if text.strip().lstrip("+-").isdecimal():
        return int(text)
    number = float(text)
    return number if np.isfinite(number) else None


class _Time(NamedTuple):
    """A time as it is written, in nanoseconds from 1970 on, and the offset of its zone in them."""

    nanoseconds: int
    zone: int | None

    def instant(self, zone: int | None) -> int:
        """Return the nanoseconds in UTC; `zone` is that of a time without one."""
        return self.nanoseconds - (self.zone if self.zone is not None else zone or 0)


def _time(text: str) -> _Time | None:
    """Return the time that a text is, a day being its first moment; None if it is none."""
    match = TIME.fullmatch(text.strip())
    if match is None:
        return None
    day, time, fraction, zone = match.groups()
    zone = {None: "", "Z": "+00:00", "UTC": "+00:00"}.get(zone, zone)
    try:
        moment = datetime.datetime.fromisoformat(f"{day}T{time or '00:00'}{zone}")
    except ValueError:
        return None
    offset = moment.utcoffset()
    seconds = (moment.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)) // datetime.timedelta(seconds=1)
    nanoseconds = seconds * 10**9 + int((fraction or "").ljust(9, "0"))
    return _Time(nanoseconds, None if offset is None else int(offset.total_seconds()) * 10**9)


def _limit(text: str, zones: set[int | None], where: str) -> int | None:
    """Return the instant of a limit; without a zone it has that of the column, or UTC if that has several."""
    time = _time(text)
    if time is None or (time.zone is not None and None in zones):
        return None
    if time.zone is None and len(zones) > 1:
        warnings.warn(
            f"{where}: times are of {len(zones)} zones, and {text} is that of UTC; name its zone, as in "
            f"{text[:10]}T00:00+02:00, for another",
            UserWarning,
            stacklevel=2,
        )
        return time.instant(0)
    return time.instant(next(iter(zones)))


def _refuse_odd(
    odd: Sequence[bool], values: np.ndarray, code: np.ndarray, row: np.ndarray, where: str, expected: str
) -> None:
    """Raise DataError that names the first row whose value is odd, if there is one."""
    rows = np.flatnonzero(np.array(odd, bool)[code])
    if len(rows):
        at = rows[np.argmin(row[rows])]
        raise DataError(f"{where}, row {row[at]}: found {str(values[at])!r}, expected {expected}")


def leave_last_out(
    groups: QueryGroups, times: Any, *, last: int = 1
) -> tuple[QueryGroups, QueryGroups, QueryGroups]:
    """Divide the interactions of each query, such as a user, by time: the last ones test.

    Parameters
    ----------
    groups : QueryGroups
        Documents of relevance above 0 are interactions; those of relevance 0 are in all three sets.
    times : array of shape (n_docs,)
        Numbers, or dates and times as text. Rows of relevance 0 need none.
    last : int, default=1
        How many interactions of each query test; as many before them validate. Queries with at most twice as
        many are in the training set alone.

    Returns
    -------
    tuple of QueryGroups
        Training, validation and test set.

    Raises
    ------
    DataError
        If an interaction has no time, no query has enough of them, or nothing is left to be ranked.

    Examples
    --------
    >>> from directrank import QueryGroups, leave_last_out
    >>> groups = QueryGroups([[1.0], [2.0], [3.0], [4.0]], [1, 1, 1, 0], ["ann"] * 4)
    >>> _, _, test = leave_last_out(groups, [30, 10, 20, 0])
    >>> test.X.ravel().tolist()
    [1.0, 4.0]
    """
    splitting = Splitting(split_by=np.asarray(times), split_last=last)
    train, vali, test = map(splitting.select(groups), splitting.parts(groups, [])[0])
    return train, vali, test


#: Queries stay as the data divide them.
UNDIVIDED = Splitting()
