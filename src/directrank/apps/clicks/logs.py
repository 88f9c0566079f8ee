"""Logs of clicks: impressions and clicks, counted by query, document, rank, ranker and context."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from directrank.errors import DataError, HeaderError
from directrank.files import json_lines, read_columns, table_columns
from directrank.storage.strict_json import JSONObject, Plain, StrictJSONError, parse

if TYPE_CHECKING:
    import pyarrow

#: The names of columns by their role, in lower case without punctuation, the most likely ones first.
ROLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "qid": ("qid", "queryid", "query", "userquery", "topic"),
        "docid": (
            "docid",
            "documentid",
            "doc",
            "document",
            "docno",
            "itemid",
            "productid",
            "objectid",
            "url",
        ),
        "position": ("position", "rank", "pos", "ordinal"),
        "clicked": ("clicked", "click", "clicks", "isclicked", "isclick"),
        "impressions": ("impressions", "impression", "views", "shown"),
        "session": ("session", "sessionid", "sessid", "searchid", "pageid"),
        "ranker": ("ranker", "policy", "system", "variant"),
        "time": ("time", "timestamp", "date"),
        "propensity": ("propensity",),
    }
)
NEEDED = ("qid", "docid", "position", "clicked")
EXPECTED = "qid, docid, position and clicked, a row for each document shown"
#: The roles whose values are names; all others are numbers.
NAMES = frozenset(("qid", "docid", "session", "ranker", "day"))
#: Endings of events of UBI (OpenSearch's User Behavior Insights); any other log is a table.
UBI_ENDINGS = (".ndjson", ".jsonl", ".json")
#: A number as JSON writes it.
_NUMERAL = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
#: The columns that events of UBI have as a table.
UBI_COLUMNS = {"query_id", "action_name"}
#: Actions of UBI that say that a document was shown, and that it was chosen.
SHOWN_ACTIONS = ("impression", "view", "show", "render", "display")
CLICKED_ACTIONS = ("click", "product_click", "item_click", "select", "add_to_cart", "purchase", "open")
METARANK_EVENTS = ("ranking", "interaction", "item", "user")
#: Positions above it are faults of a log, and so are counts above it in a row.
DEEPEST, MOST = 10_000, 10**12
#: Rows that are counted at a time.
CHUNK_ROWS = 1 << 21
#: Larger times are milliseconds.
LARGEST_SECONDS = 10**11
#: Letters of odd values that are shown.
SHOWN = 20
KEYS = ("qid", "docid", "position", "ranker", "context", "slot")
#: Positions count from 0 where the first has more than this share of the impressions of the second.
ZERO_SHARE = 2 / 3
#: A page begins with as many adverts at most, else it goes on from an earlier one; and sessions are no pages
#: where they are this many times the impressions at the fullest ranks.
MOST_ADVERTS, MOST_PAGES = 4, 1.5


@dataclass(frozen=True, eq=False)
class ClickLog:
    """Impressions and clicks, counted by query, document, rank, ranker and context.

    An item is a pair of a query and a document, a cell an item at a rank, by one ranker and in one context.

    Attributes
    ----------
    source : str
        Where the log came from, for messages.
    qid : ndarray of shape (n_queries,)
        Names of queries, text.
    docid, query : ndarray of shape (n_items,)
        The name of the document of each item, text, and the number of its query; items go by query.
    item, rank, ranker, context : ndarray of shape (n_cells,), int64
        The item, the rank from 1, and the numbers of ranker and context of each cell.
    impressions, clicks : ndarray of shape (n_cells,), int64
        How often the document was shown there, and clicked.
    rankers, contexts : tuple of str
        Their names; one empty name where the log does not tell them apart.
    propensity : ndarray of shape (n_ranks,), or None
        The propensity of each rank that the log itself states, NaN where it states none.
    n_rows : int
        Rows, or events, of the log.
    unused : mapping of str to int
        How many rows were not counted, by the reason.
    notes : tuple of str
        How the log was understood.
    session_rows, session_clicks : ndarray of shape (n_sessions,), int64
        Rows and clicks of each session; empty where the log has no sessions.
    slot : ndarray of shape (n_cells,), int64, or None
        Which document of its page each cell is, from 1: adverts leave ranks out. None where the log has no
        sessions.
    answers : ndarray of shape (n_queries,), or None
        How often each query was answered, where cells no longer tell it.
    """

    source: str
    qid: np.ndarray
    docid: np.ndarray
    query: np.ndarray
    item: np.ndarray
    rank: np.ndarray
    ranker: np.ndarray
    context: np.ndarray
    impressions: np.ndarray
    clicks: np.ndarray
    rankers: tuple[str, ...] = ("",)
    contexts: tuple[str, ...] = ("",)
    propensity: np.ndarray | None = None
    n_rows: int = 0
    unused: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    session_rows: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    session_clicks: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    slot: np.ndarray | None = None
    answers: np.ndarray | None = None

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.qid)

    @property
    def n_items(self) -> int:
        """Number of pairs of a query and a document."""
        return len(self.docid)

    @property
    def n_ranks(self) -> int:
        """The deepest rank."""
        return int(self.rank.max(initial=0))

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return the sum over the cells of each item, float64 (n_items,)."""
        return np.bincount(self.item, values, self.n_items)

    def pages(self) -> np.ndarray:
        """Return how often each query was answered, float64 (n_queries,).

        Counted are the first documents of pages, or impressions at the query's fullest rank.
        """
        if self.answers is not None:
            return self.answers
        query = self.query[self.item]
        if self.slot is not None:
            return np.bincount(query, self.impressions * (self.slot == 1), self.n_queries)
        ranks, place = np.unique(query * (self.n_ranks + 1) + self.rank, return_inverse=True)
        pages = np.zeros(self.n_queries)
        np.maximum.at(pages, ranks // (self.n_ranks + 1), np.bincount(place, self.impressions))
        return pages

    def cells(self, *, by_context: bool = False) -> "ClickLog":
        """Return the log without rankers, and without contexts unless asked: one cell an item and a rank."""
        context, contexts = (self.context, self.contexts) if by_context else (0 * self.context, ("",))
        key = (self.item * (self.n_ranks + 1) + self.rank) * len(contexts) + context
        values, place = np.unique(key, return_inverse=True)
        pairs = values // len(contexts)
        return replace(
            self, item=pairs // (self.n_ranks + 1), rank=pairs % (self.n_ranks + 1),
            ranker=np.zeros(len(values), np.int64), rankers=("",), context=values % len(contexts),
            contexts=contexts, slot=None, answers=self.pages(),
            impressions=np.bincount(place, self.impressions, len(values)).astype(np.int64),
            clicks=np.bincount(place, self.clicks, len(values)).astype(np.int64),
        )  # fmt: skip

    def where(self, cells: np.ndarray) -> "ClickLog":
        """Return the log of some cells, by a mask; queries and items keep their numbers."""
        names = ("item", "rank", "ranker", "context", "impressions", "clicks")
        slot = None if self.slot is None else self.slot[cells]
        return replace(self, **{name: getattr(self, name)[cells] for name in names}, slot=slot)

    def of_context(self, name: str) -> "ClickLog":
        """Return the log of one context.

        Raises
        ------
        DataError
            If the log has no such context.
        """
        if name not in self.contexts:
            raise DataError(
                f"{self.source}: no context is called {name!r}; there is {', '.join(self.contexts)}"
            )
        return self.of_cells(self.context == self.contexts.index(name))

    def first_ranks(self, n: int) -> "ClickLog":
        """Return the log of the first n ranks."""
        return self.of_cells(self.rank <= n)

    def of_queries(self, queries: np.ndarray) -> "ClickLog":
        """Return the log of some queries, by a mask."""
        return self.of_cells(queries[self.query[self.item]])

    def of_cells(self, cells: np.ndarray) -> "ClickLog":
        """Return the log of some cells, by a mask, with their items and queries alone.

        Raises
        ------
        DataError
            If there is none.
        """
        if not cells.any():
            raise DataError(f"{self.source}: no impression is left of {len(cells):,} cells of the log")
        part = self.where(cells)
        items, item = np.unique(part.item, return_inverse=True)
        queries, query = np.unique(self.query[items], return_inverse=True)
        answers = None if self.answers is None else self.answers[queries]
        return replace(
            part, item=item, docid=self.docid[items], query=query, qid=self.qid[queries], answers=answers
        )

    def with_items(self, qid: np.ndarray, docid: np.ndarray) -> "ClickLog":
        """Return the log with further documents of its queries, which were never shown."""
        number = {name: place for place, name in enumerate(self.qid.tolist())}
        names = zip(np.asarray(qid).astype(str).tolist(), np.asarray(docid).astype(str).tolist(), strict=True)
        logged = set(zip(self.query.tolist(), self.docid.tolist(), strict=True))
        pairs = {(number[q], d) for q, d in names if q in number} - logged
        query = np.append(self.query, np.array([q for q, _ in sorted(pairs)], np.int64))
        docids = np.append(self.docid, np.array([d for _, d in sorted(pairs)], self.docid.dtype.type))
        order = np.argsort(query, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return replace(self, query=query[order], docid=docids[order], item=place[self.item])

    @classmethod
    def of_counts(
        cls, qid, docid, position, impressions, clicks, *, ranker=None, context=None, slot=None,
        source: str = "log", **facts: object,
    ) -> "ClickLog":  # fmt: skip
        """Count rows that are counts already: impressions and clicks of a document at a position.

        Parameters
        ----------
        qid, docid : array of shape (n_rows,)
            Names, as text.
        position, impressions, clicks : array of shape (n_rows,)
            Whole numbers; positions count from 1. Rows of one cell are added up.
        ranker, context : array of shape (n_rows,), optional
            Names, as text.
        slot : array of shape (n_rows,), optional
            Which document of its page each row is, from 1.
        source : str, default="log"
            For messages.
        **facts
            Further attributes, such as `n_rows` and `unused`.
        """
        (qids, query), (docids, document) = _coded(qid), _coded(docid)
        rank = np.asarray(position, np.int64)
        empty = (("",), np.zeros(len(rank), np.int64))
        (rankers, by), (contexts, under) = (
            empty if names is None else _coded(names) for names in (ranker, context)
        )
        pairs, item = np.unique(query * max(len(docids), 1) + document, return_inverse=True)
        slots = np.zeros(len(rank), np.int64) if slot is None else np.asarray(slot, np.int64)
        cell = item
        for values in filter(np.any, (rank, by, under, slots)):
            # Numbered again at each step, so that no product of many names overflows.
            cell = np.unique(cell * (int(values.max(initial=0)) + 1) + values, return_inverse=True)[1]
        cells, first, place = np.unique(cell, return_index=True, return_inverse=True)
        return cls(
            source, np.asarray(qids), np.asarray(docids)[pairs % max(len(docids), 1)],
            pairs // max(len(docids), 1), item[first], rank[first], by[first], under[first],
            *(
                np.bincount(place, counts, len(cells)).astype(np.int64)
                for counts in (np.asarray(impressions), np.asarray(clicks))
            ),
            rankers=tuple(map(str, rankers)), contexts=tuple(map(str, contexts)),
            slot=None if slot is None else slots[first], **facts,
        )  # fmt: skip

    def columns(self) -> dict[str, np.ndarray]:
        """Return the cells as columns of a table, which `read_clicks` reads back."""
        columns = {
            "qid": self.qid[self.query[self.item]], "docid": self.docid[self.item], "position": self.rank,
            "clicked": self.clicks, "impressions": self.impressions,
        }  # fmt: skip
        if len(self.rankers) > 1:
            columns["ranker"] = np.asarray(self.rankers)[self.ranker]
        if len(self.contexts) > 1:
            columns["context"] = np.asarray(self.contexts)[self.context]
        return columns


def _coded(names: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the different names, sorted, and the number of each row's."""
    if hasattr(names, "dictionary_encode"):
        from pyarrow import compute

        coded = names.combine_chunks().dictionary_encode()
        order = compute.call_function("array_sort_indices", [coded.dictionary]).to_numpy()
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return np.asarray(coded.dictionary.to_pylist())[order], place[coded.indices.to_numpy()]
    words, numbers = np.unique(np.asarray(names, dtype=str), return_inverse=True)
    return words, numbers.astype(np.int64)


def read_clicks(
    source: Any, *, columns: Mapping[str, str] | None = None, context: Sequence[str] = (),
    clicks: Sequence[str] = CLICKED_ACTIONS, shown: Sequence[str] = SHOWN_ACTIONS, by_day: bool = False,
) -> ClickLog:  # fmt: skip
    """Read a log of clicks, and count its impressions and clicks; rows pass once and are not kept.

    Parameters
    ----------
    source : path-like or data frame
        A CSV, Parquet or Arrow file, or a data frame, with a row for each document that was shown: qid,
        docid, position, clicked, and perhaps session, ranker and propensity; or counts, with a column
        impressions. Or events of UBI, as JSON lines or a table, with or without the queries between them.
    columns : mapping of str to str, optional
        Names of columns by role, such as ``{"qid": "search"}``; others are found by usual names. ``""`` for
        qid: the log has no queries, and all of it is one.
    context : sequence of str, default=()
        Columns, or attributes of events, in which propensities may differ, such as a device.
    clicks, shown : sequence of str
        Actions of UBI that choose a document, and that show one.
    by_day : bool, default=False
        Whether contexts are days instead: of a column of times, dates such as 2025-03-31T09:30 or seconds or
        milliseconds since 1970; or of timestamps of UBI.

    Returns
    -------
    ClickLog
        Rows that cannot be counted are in `ClickLog.unused`, by the reason.

    Raises
    ------
    DataError
        If a column is missing or holds words in place of numbers, no row can be used, or all rows are
        clicked: propensities need the documents that were shown and not clicked.
    """
    if not isinstance(source, (str, os.PathLike)):
        import narwhals as nw

        table, name = nw.from_native(source, eager_only=True), "data frame"
        roles = _roles(table.columns, columns or {}, context, name, by_day)
        counts = _counted(_by_role(table.to_arrow().to_batches(CHUNK_ROWS), roles, name))
        return counts.log(name, {}, _notes_of_roles(table.columns, roles, columns or {}), 0)
    path, name = Path(source), str(source)

    def counted_events() -> ClickLog:
        events = _Events(path, ("timestamp",) if by_day else tuple(context), clicks, shown, by_day)
        return _counted(events.impressions()).log(name, events.unused, events.notes, events.n_rows)

    if _is_json(path):
        return counted_events()
    try:
        names = table_columns(path)
    except HeaderError as error:
        raise HeaderError(error.finding, f"write a line of names above it: {EXPECTED}") from None
    if {name.removeprefix("_source.") for name in names} >= UBI_COLUMNS:
        return counted_events()
    roles = _roles(names, columns or {}, context, name, by_day)
    kinds = {column: str if _is_name(role) else float for role, column in roles.items() if column}
    notes = _notes_of_roles(names, roles, columns or {})
    return _counted(_by_role(read_columns(path, kinds), roles, name)).log(name, {}, notes, 0)


def _is_json(path: Path) -> bool:
    return re.sub(r"\.(gz|bz2|xz)$", "", path.name.lower()).endswith(UBI_ENDINGS)


def _rows_of_ubi(path: Path) -> Iterator[Plain]:
    """Yield records of UBI: of JSON lines, or of a table, whose columns are keys or paths with dots."""
    if _is_json(path):
        yield from (record for _, record in json_lines(path, "an event or a query of UBI on each line"))
        return
    for batch in read_columns(path, dict.fromkeys(table_columns(path), str)):
        for row in batch.to_pylist():
            record: JSONObject = {}
            for name, text in row.items():
                if text:
                    _put(record, name.split("."), text)
            yield record


def _put(record: JSONObject, keys: Sequence[str], text: str) -> None:
    """Set the value at a path of keys: JSON, such as event_attributes, a number for an ordinal, or text."""
    *path, last = keys
    for key in path:
        inner = record.setdefault(key, {})
        record = inner if type(inner) is dict else {}
    value: Plain = text
    if text[0] in "{[" or (last == "ordinal" and _NUMERAL.fullmatch(text)):
        with suppress(StrictJSONError):
            value = parse(text.encode())
    record[last] = value


def _counted(batches: Iterable["pyarrow.RecordBatch"]) -> "_Counts":
    counts = _Counts()
    for batch in batches:
        counts.add(batch)
    return counts


def _is_name(role: str) -> bool:
    return role in NAMES or role.startswith("context")


def _roles(
    names: Sequence[str], by_role: Mapping[str, str], context: Sequence[str], where: str, by_day: bool
) -> dict[str, str]:
    """Return the column of each role; contexts are the roles ``context0``, ``context1`` and so on."""
    columns = {re.sub(r"[\W_]", "", name.lower()): name for name in reversed(names)}
    roles = {}
    for role, guesses in ROLES.items():
        wanted = by_role.get(role)
        if role == "qid" and wanted == "":
            roles[role] = ""
            continue
        column = (
            wanted if wanted in names else next((columns[word] for word in guesses if word in columns), None)
        )
        needed = role in NEEDED or (by_day and role == "time")
        if wanted not in (None, *names) or (column is None and needed):
            problem = f"no column {wanted!r}" if wanted else f"no column is called like {role}"
            if role == "qid":
                problem += " (a log without queries is read as one query by --columns qid=)"
            raise DataError(
                f"{where}: {problem}; expected {'a time, ' * by_day}{EXPECTED}; name them by "
                f"--columns {role}=NAME; the columns are {', '.join(names)}"
            )
        if column is not None and list(names).count(column) > 1:
            raise DataError(f"{where}: two columns are called {column!r}; drop or rename one")
        if column is not None:
            roles[role] = column
    if unknown := set(by_role) - set(ROLES):
        raise DataError(f"{where}: no role {min(unknown)!r}; the roles are {', '.join(ROLES)}")
    for number, name in enumerate(() if by_day else context):
        if name not in names:
            raise DataError(f"{where}: no column {name!r} for --context; the columns are {', '.join(names)}")
        roles[f"context{number}"] = name
    time = roles.pop("time", None)
    return {**roles, "day": time} if by_day and time is not None else roles


def _notes_of_roles(names: Sequence[str], roles: Mapping[str, str], by_role: Mapping[str, str]) -> list[str]:
    """Return a note on each role that another column is called like too."""
    notes = []
    for role in roles.keys() & ROLES.keys() - by_role.keys():
        like = [name for name in names if re.sub(r"[\W_]", "", name.lower()) in ROLES[role]]
        if more := [name for name in like if name != roles[role]]:
            notes.append(f"{role} is read from {roles[role]!r}, not from {', '.join(map(repr, more))}")
    return sorted(notes)


def _by_role(
    batches: Iterable["pyarrow.RecordBatch"], roles: Mapping[str, str], where: str
) -> Iterator["pyarrow.RecordBatch"]:
    """Yield batches with the columns of the roles: text, or float64 with NaN for a missing number."""
    import pyarrow as pa

    for batch in batches:
        columns = {}
        for role, column in roles.items():
            if not column:
                columns[role] = pa.array(["all"] * len(batch), pa.string())
                continue
            try:
                values = batch.column(column).cast(pa.string() if _is_name(role) else pa.float64())
            except pa.ArrowInvalid as error:
                raise DataError(f"{where}: column {column!r}: {error}; expected numbers") from None
            columns[role] = values.fill_null("" if _is_name(role) else np.nan)
        yield pa.table(columns)


class _Events:
    """Queries and events of UBI; after `impressions` also how many, and what could not be used."""

    def __init__(
        self, path: Path, context: tuple[str, ...], clicks: Sequence[str], shown: Sequence[str], by_day: bool
    ):
        self._path, self._context, self._clicks, self._shown = path, context, clicks, shown
        self._role = "day" if by_day else "context"
        self.unused, self.notes, self.n_rows = Counter(), [], 0

    def impressions(self) -> Iterator["pyarrow.RecordBatch"]:
        """Yield the documents that all searches showed, as one batch: a last event may concern the first.

        A search is a ``query_id``. Its query is the text ``user_query``, where a record tells it; else the
        search stands for itself. Ranks are places in the answer, where a record tells it; else ordinals.
        """
        import pyarrow as pa

        texts, pages, contexts = {}, {}, {}
        for event in self._records():
            search, attributes = event["query_id"], event.get("event_attributes") or {}
            if isinstance(event.get("user_query"), str):
                texts[search] = event["user_query"]
            for name in self._context:
                value = event.get(name, attributes.get(name))
                if value is not None and _is_text(str(value)):
                    contexts[search, name] = str(value)
            for document, fact, ordinal in self._documents(event, attributes):
                if not _is_text(document):
                    self.unused["names with half of a pair of surrogates"] += 1
                    continue
                page = pages.setdefault((search, document), {})
                self.unused["events that repeat another one of their search"] += fact in page
                page[fact] = True
                if ordinal is not None:
                    page.setdefault("place" if fact == "answer" else "ordinal", ordinal)
        impressions = {key: page for key, page in pages.items() if "shown" in page or "answer" in page}
        self.unused["clicks without an impression of their document"] += len(pages) - len(impressions)
        ordinals = Counter(page.get("ordinal") for page in impressions.values() if "place" not in page)
        from_0 = ordinals[0.0] > ZERO_SHARE * ordinals[1.0]
        self.notes += ["position.ordinal counts from 0 in this log; ranks here from 1"] * from_0
        if nameless := {search for search, _ in impressions} - set(texts):
            self.notes.append(f"{len(nameless):,} searches have no user_query: each is a query of its own")
        columns = {
            "qid": [texts.get(search, search) for search, _ in impressions],
            "docid": [document for _, document in impressions],
            "session": [search for search, _ in impressions],
            "position": [
                page["place"] if "place" in page else _rank(page.get("ordinal", np.nan), from_0)
                for page in impressions.values()
            ],
            "clicked": [float("clicked" in page) for page in impressions.values()],
        }
        for number, name in enumerate(self._context):
            columns[self._role + str(number) * (self._role != "day")] = [
                contexts.get((search, name), "") for search, _ in impressions
            ]
        kinds = {name: pa.string() if _is_name(name) else pa.float64() for name in columns}
        yield pa.table(columns, schema=pa.schema(kinds))

    def _records(self) -> Iterator[JSONObject]:
        """Yield records with a ``query_id``."""
        for record in _rows_of_ubi(self._path):
            for event in record if type(record) is list else [record]:
                self.n_rows += 1
                event = event.get("_source", event) if type(event) is dict else {}
                if "query_id" not in event and event.get("event") in METARANK_EVENTS:
                    raise DataError(
                        f"{self._path}: events of Metarank are not read: write a table with {EXPECTED}, an "
                        "item of a ranking, with clicked 1 where an interaction names it; or events of "
                        "OpenSearch's UBI"
                    )
                if not isinstance(event.get("query_id"), str) or not event["query_id"]:
                    self.unused["records without a query_id"] += 1
                elif not _is_text(event["query_id"], event.get("user_query")):
                    self.unused["names with half of a pair of surrogates"] += 1
                elif type(event.get("event_attributes")) not in (dict, type(None)):
                    self.unused["event_attributes that are no object"] += 1
                else:
                    yield event

    def _documents(self, event: JSONObject, attributes: JSONObject) -> Iterator[tuple[str, str, Any]]:
        """Yield each document of a record, what happened to it, and its ordinal, None if it has none."""
        action, answer = event.get("action_name"), event.get("query_response_hit_ids")
        if action is None and type(answer) is list:
            for place, document in enumerate(answer, 1):
                if type(document) in (str, int):
                    yield str(document), "answer", place
                else:
                    self.unused["entries of query_response_hit_ids that are no name"] += 1
        elif action is None:
            self.unused["records with neither action_name nor query_response_hit_ids"] += 1
        elif action not in self._clicks and action not in self._shown:
            self.unused[f"events of the action {str(action)[:SHOWN]!r}"] += 1
        else:
            match attributes:
                case {"object": {"object_id": str() | int() as document}}:
                    place = attributes.get("position")
                    ordinal = place.get("ordinal") if type(place) is dict else None
                    fact = "clicked" if action in self._clicks else "shown"
                    yield str(document), fact, _number(ordinal)
                case _:
                    self.unused["events without event_attributes.object.object_id"] += 1


class _Counts:
    """Sums of rows by cell, a part of the log at a time, so that memory holds cells and not rows."""

    def __init__(self) -> None:
        self.unused, self.n_rows, self._n_unclicked = Counter(), 0, 0
        self._rows, self._cells, self._sessions, self._pages = [], [], [], []
        self._odd = Counter()  # Rows that are counted, and that the notes name
        self._n_at_0, self._has_pages = 0, True
        # By position: rows, and the sum, the least and the largest of the propensities that the log states.
        self._stated = np.array([[0.0], [0.0], [np.inf], [-np.inf]]).repeat(DEEPEST + 1, axis=1)

    def add(self, batch: "pyarrow.RecordBatch") -> None:
        """Count the rows of a batch that can be counted."""
        import pyarrow as pa

        names = set(batch.column_names)
        if "day" in names:
            place = batch.column_names.index("day")
            batch = batch.set_column(place, "day", [_days(batch.column("day"))])
        numbers = {
            name: batch.column(name).to_numpy() for name in names - NAMES if not name.startswith("context")
        }
        numbers.setdefault("impressions", np.ones(len(batch)))
        usable = self._usable(batch, numbers)
        self.n_rows += len(batch)
        batch = batch.filter(pa.array(usable))
        position, clicked, impressions = (
            numbers[name][usable].astype(np.int64) for name in ("position", "clicked", "impressions")
        )
        self._n_unclicked += int((clicked < impressions).sum())
        self._n_at_0 += int((position == 0).sum())
        blank = pa.array([""] * len(batch), pa.string())
        contexts = [batch.column(name) for name in sorted(names) if name.startswith(("context", "day"))]
        cells = pa.table(
            {
                "qid": batch.column("qid"), "docid": batch.column("docid"), "position": position,
                "ranker": batch.column("ranker") if "ranker" in names else blank,
                "context": _context_names(contexts) if contexts else blank,
                "impressions": impressions, "clicks": clicked,
            }
        )  # fmt: skip
        with_session = cells.append_column("session", batch["session"] if "session" in names else blank)
        self._rows.append(with_session)
        self._has_pages &= "session" in names and "impressions" not in names
        if "session" in names:
            some = np.array(~_is_empty(batch["session"]))
            self._odd["rows have no session"] += len(some) - int(some.sum())
            with_session = with_session if some.all() else with_session.filter(pa.array(some))
            by_session = with_session.select(["session", "impressions", "clicks"])
            self._sessions = _added_up([*self._sessions, by_session], ["session"], len(self._sessions) > 64)
            if "impressions" not in names:
                self._pages.append(with_session.select(["session", "qid", "position", "docid"]))
        if "propensity" in names:
            propensity = numbers["propensity"][usable]
            right = (propensity > 0) & (propensity <= 1)
            self._odd["rows have a propensity that is not above 0 and at most 1: it is not read"] += int(
                (~right & ~np.isnan(propensity)).sum()
            )
            propensity, at = propensity[right], position[right]
            np.add.at(self._stated[0], at, 1)
            np.add.at(self._stated[1], at, propensity)
            np.minimum.at(self._stated[2], at, propensity)
            np.maximum.at(self._stated[3], at, propensity)
        if sum(map(len, self._rows)) >= CHUNK_ROWS:
            self._add_up()

    def _usable(self, batch: "pyarrow.RecordBatch", numbers: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return which rows can be counted, and note why others cannot."""
        position, clicked, impressions = (numbers[name] for name in ("position", "clicked", "impressions"))
        faults = {f"no {role}": _is_empty(batch.column(role)) for role in ("qid", "docid")}
        if "day" in batch.column_names:
            faults["no time that is a date or a number of seconds"] = _is_empty(batch.column("day"))
        faults["no position"] = np.isnan(position)
        faults[f"a position that is no whole number from 0 to {DEEPEST}"] = ~(
            (position >= 0) & (position <= DEEPEST) & (position == np.floor(position))
        )
        faults["no value of clicked"] = np.isnan(clicked)
        for name, counts, least in (("clicked", clicked, 0), ("impressions", impressions, 1)):
            is_count = (counts <= MOST) & (counts == np.floor(counts))
            faults[f"a value of {name} that is no whole number from {least}"] = ~(
                is_count & (counts >= least)
            )
        usable = np.ones(len(batch), bool)
        for reason, wrong in faults.items():
            self.unused[reason] += int((wrong & usable).sum())
            usable &= ~wrong
        return usable

    def _add_up(self) -> None:
        import pyarrow as pa

        self._note_repeated()
        if self._rows:
            rows = pa.concat_tables(self._rows)
            codes = _slot_codes(rows) if self._has_pages else np.zeros(len(rows), np.int64)
            self._cells += _added_up([rows.append_column("slot", pa.array(codes))], KEYS)
        self._rows = []
        if len(self._cells) > 1 and sum(map(len, self._cells[1:])) > max(CHUNK_ROWS, len(self._cells[0])):
            self._cells = _added_up(self._cells, KEYS)

    def _note_repeated(self) -> None:
        """Count the rows that repeat one of their session: among so many rows as are added up at a time."""
        import pyarrow as pa

        if not self._pages:
            return
        pages, self._pages = pa.concat_tables(self._pages), []
        documents = pages.group_by(pages.column_names).aggregate([])
        positions = documents.group_by(documents.column_names[:-1]).aggregate([])
        for what, n in (
            (
                "rows repeat query, document and position of a session, and count: drop them if the log has "
                "them twice",
                len(pages) - len(documents),
            ),
            (
                "rows share query, session and position with another document, and count",
                len(documents) - len(positions),
            ),
        ):
            self._odd[what] += n

    def log(self, source: str, unused: Mapping[str, int], notes: Sequence[str], n_records: int) -> ClickLog:
        """Return the log of all rows; those that no batch had are counted by the caller.

        Raises DataError if no row can be counted, or all are clicked.
        """
        self._add_up()
        lost = +Counter(unused) + +self.unused
        cells: Any = _added_up(self._cells, KEYS)[0] if self._cells else ()
        if not len(cells):
            reasons = "; ".join(f"{count:,}: {reason}" for reason, count in lost.items()) or "it holds none"
            raise DataError(f"{source}: no impression of a document can be counted ({reasons})")
        if not self._n_unclicked:
            raise DataError(
                f"{source}: holds clicked rows only ({self.n_rows - self.unused.total():,}); propensities "
                "need every document that was shown: log impressions without a click too, with clicked 0"
            )
        position, shown = (cells.column(name).to_numpy() for name in ("position", "impressions"))
        at_0, at_1 = (int(shown[position == k].sum()) for k in (0, 1))
        from_0, n_positions = int(at_0 > ZERO_SHARE * at_1), int(position.max()) + 1
        if at_0 and not from_0:
            lost["position 0, which is rarer than position 1: the log counts from 1"] += self._n_at_0
            cells = cells.filter(position > 0)
            position, shown = position[position > 0], shown[position > 0]
        n, total, least, largest = self._stated[:, 1 - from_0 : n_positions]
        with np.errstate(invalid="ignore"):
            stated = total / n if n.any() else None
        notes = [*notes, *["positions count from 0 in this log; ranks here from 1"] * from_0]
        notes += [f"{count:,} {what}" for what, count in (+self._odd).items()]
        if stated is not None and (largest - least > 1e-6).any():
            notes.append("the log states several propensities of one rank; their mean is taken")
        sessions = _added_up(self._sessions, ["session"])[0] if self._sessions else None
        by_session = {} if sessions is None else {
            f"session_{name}": sessions.column(column).to_numpy()
            for name, column in (("rows", "impressions"), ("clicks", "clicks"))
        }  # fmt: skip
        code = cells.column("slot").to_numpy()
        log = ClickLog.of_counts(
            cells.column("qid"), cells.column("docid"), position + from_0, shown,
            cells.column("clicks").to_numpy(), ranker=cells.column("ranker"),
            context=cells.column("context"), slot=code // 2 + from_0 * (code % 2), source=source,
            propensity=stated, n_rows=n_records or self.n_rows, unused=dict(lost), notes=tuple(notes),
            **by_session,
        )  # fmt: skip
        by_rank = replace(log, slot=None)
        # Where rows are samples of pages, or those of a page lie far apart, sessions are no pages.
        is_paged = code.all() and log.pages().sum() <= MOST_PAGES * by_rank.pages().sum()
        return log if is_paged else by_rank


def _number(ordinal: object) -> float | None:
    """Return an ordinal of UBI, −1 for one that no float holds, and None for what is no number."""
    if not isinstance(ordinal, int | float) or isinstance(ordinal, bool):
        return None
    return float(ordinal) if abs(ordinal) <= MOST else -1.0


def _is_text(*names: object) -> bool:
    """Return whether names can be encoded: half of a pair of surrogates cannot."""
    return not any(re.search("[\ud800-\udfff]", name) for name in names if isinstance(name, str))


def _rank(ordinal: float, from_0: bool) -> float:
    """Return the rank of an ordinal of UBI; one below 0 stays as it is, and is none."""
    return ordinal + from_0 if ordinal >= 0 else ordinal


def _is_empty(names: object) -> np.ndarray:
    from pyarrow import compute

    return compute.call_function("equal", [names, ""]).to_numpy()


def _days(times: "pyarrow.Array") -> "pyarrow.Array":
    """Return the days of times, as text such as 2025-03-31; empty where a time is no date and no number."""
    import pyarrow as pa
    from pyarrow import compute

    if not len(times):
        return times

    def like(pattern: str) -> np.ndarray:
        options = compute.MatchSubstringOptions(pattern)  # pyright: ignore[reportAttributeAccessIssue]
        return compute.call_function("match_substring_regex", [times], options).to_numpy().astype(bool)

    words = times.to_numpy().astype(str)
    days, whole_seconds = words.astype("U10"), np.char.partition(words, ".")[:, 0]
    dated, timed = like(r"^\d{4}-\d\d-\d\d"), like(r"^\d{1,15}(\.\d*)?$")
    seconds = whole_seconds[timed].astype(np.int64)
    seconds //= np.where(seconds > LARGEST_SECONDS, 1000, 1)
    days[timed] = seconds.astype("datetime64[s]").astype("datetime64[D]").astype(str)
    days[~(dated | timed)] = ""
    names, place = np.unique(days, return_inverse=True)
    days = np.array([name if _is_date(name) else "" for name in names.tolist()])[place]
    return pa.array(days.tolist(), pa.string())


def _is_date(day: str) -> bool:
    try:
        return np.datetime64(day) is not None
    except ValueError:
        return False


def _context_names(contexts: Sequence["pyarrow.Array"]) -> "pyarrow.Array":
    """Return the names of contexts of one or several columns; a slash in a value gets a backslash first."""
    from pyarrow import compute

    if len(contexts) == 1:
        return contexts[0]
    for sign in ("\\", "/"):
        options = compute.ReplaceSubstringOptions(sign, f"\\{sign}")  # pyright: ignore[reportAttributeAccessIssue]
        contexts = [compute.call_function("replace_substring", [each], options) for each in contexts]
    return compute.call_function("binary_join_element_wise", [*contexts, " / "])


def _slot_codes(rows: "pyarrow.Table") -> np.ndarray:
    """Return which document of its page each row is, from 1 at position 1 on; 0 for a row without a session.

    Twice it, and 1 more where it is one document later if positions count from 0.
    """
    session, query = (
        rows.column(name).combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
        for name in ("session", "qid")
    )
    page, position = session * (int(query.max(initial=0)) + 1) + query, rows.column("position").to_numpy()
    order = np.lexsort((position, page))
    page, ranks = page[order], position[order]
    starts = np.diff(page, prepend=-1) != 0
    first = np.flatnonzero(starts)
    number = np.cumsum(starts | (np.diff(ranks, prepend=-1) != 0))
    of_page = np.cumsum(starts) - 1
    # A page that begins further down goes on from an earlier one.
    before = np.where(ranks[first] > MOST_ADVERTS + 1, ranks[first] - 1, 0)
    has_0 = ranks[first] == 0
    slot = number - number[first][of_page] + 1 + (before - has_0)[of_page]
    codes = np.empty_like(slot)
    codes[order] = 2 * slot + (has_0 | (before > 0))[of_page]
    return np.where(_is_empty(rows.column("session")), 0, codes)


def _added_up(tables: Sequence["pyarrow.Table"], keys: Sequence[str], wanted: bool = True) -> list[Any]:
    """Return tables as one, with the sums of impressions and clicks by keys."""
    import pyarrow as pa

    if not wanted:
        return list(tables)
    sums = (
        pa.concat_tables(tables).group_by(list(keys)).aggregate([("impressions", "sum"), ("clicks", "sum")])
    )
    return [
        sums.select([*keys, "impressions_sum", "clicks_sum"]).rename_columns([*keys, "impressions", "clicks"])
    ]
