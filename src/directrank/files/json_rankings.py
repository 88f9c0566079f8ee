"""Judgments and runs in JSON, recognised by their content; a format is a line of `FORMATS`."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from directrank.errors import DataFormatError
from directrank.files.json_lines import json_lines
from directrank.storage.strict_json import Plain

#: Columns by name, all of one length.
Table = dict[str, list]
#: The columns of grades and of scores.
LABEL, SCORE = "label", "score"
SHOWN = 40


class OddRankingError(ValueError):
    """A part of the file is not as in the rest of the format."""


class JSONFormat(NamedTuple):
    """A format of judgments or runs.

    `value` is its column of numbers, LABEL or SCORE, or None for either. `fits` says whether the first value
    of a file is of this format; `read` adds the rows of a value to a table, with the expected column.
    """

    name: str
    value: str | None
    fits: Callable[[Plain], bool]
    read: Callable[[Plain, Table, str], None]


#: A query, a document, and its grade or score.
Row = tuple[Any, Any, Any]


def of_rows(rows: Callable[[Plain], Iterable[Row]]) -> Callable[[Plain, Table, str], None]:
    """Return what reads the rows of a value into a table of three columns.

    It refuses a query or a document without a name, a value that is no number, and a document that is twice
    in a query.
    """

    def read(record: Plain, table: Table, value: str) -> None:
        columns = [table.setdefault(name, []) for name in ("qid", "docid", value)]
        seen = {}
        for qid, docid, number in rows(record):
            for what, name in (("query", qid), ("document", docid)):
                if type(name) not in (str, int) or name == "":
                    raise OddRankingError(
                        f"a {what} is called {shown(name)}, expected a text or a whole number"
                    )
            if type(number) not in (int, float):
                raise OddRankingError(
                    f"document {docid!r} of query {qid!r} has {shown(number)}, expected a number"
                )
            documents = seen.setdefault(str(qid), set())
            if str(docid) in documents:
                raise OddRankingError(f"document {docid!r} of query {qid!r} is listed twice; keep one")
            documents.add(str(docid))
            for column, cell in zip(columns, (str(qid), str(docid), number), strict=True):
                column.append(cell)

    return read


def shown(value: Plain) -> str:
    """Return a value for a message."""
    text = ascii(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def has(value: Plain, *keys: str) -> bool:
    """Whether a value is an object with these keys."""
    return type(value) is dict and all(key in value for key in keys)


# Elasticsearch and OpenSearch: ratings and results of _rank_eval, and hits of searches by query id.
QIDS = ("qid", "query_id", "id")


def _ratings(value: Plain) -> Iterator[Row]:
    for request in value["requests"]:
        if not has(request, "id", "ratings"):
            raise OddRankingError(f"a request is {shown(request)}, expected an id and ratings")
        for rating in request["ratings"]:
            if not has(rating, "_id", "rating"):
                raise OddRankingError(f"request {request['id']!r} has the rating {shown(rating)}")
            yield request["id"], rating["_id"], rating["rating"]


def _rated_hits(value: Plain) -> Iterator[Row]:
    for qid, detail in value["details"].items():
        yield from _documents(qid, [hit["hit"] for hit in detail["hits"] if has(hit, "hit")])


def _is_response(value: Plain) -> bool:
    return has(value, "hits") and has(value["hits"], "hits")


def _are_hits(value: Plain) -> bool:
    if type(value) is list:
        return any(map(_is_response, value))
    if has(value, "responses") or _is_response(value):
        return True
    return type(value) is dict and any(map(_is_response, value.values()))


def _hits(value: Plain) -> Iterator[Row]:
    if type(value) is list:
        for number, response in enumerate(value, 1):
            if not _is_response(response):
                raise OddRankingError(f"response {number} is {shown(response)}, expected one with hits")
            yield from _hits(response)
        return
    qid = next((value[name] for name in QIDS if name in value), None)
    if has(value, "responses") or (_is_response(value) and qid is None):
        raise OddRankingError(
            'a response does not say its query; write {"query id": response, …}, or "qid" beside "hits" '
            "on each line"
        )
    for name, response in ({qid: value} if _is_response(value) else value).items():
        if not _is_response(response):
            raise OddRankingError(f"query {name!r} has {shown(response)}, expected a response with hits")
        yield from _documents(name, response["hits"]["hits"])


def _documents(qid: Plain, hits: Plain) -> Iterator[Row]:
    """Yield documents with their scores; searches that sort by a field have none, and the order counts."""
    scored = all(has(hit, "_score") and hit["_score"] is not None for hit in hits)
    for rank, hit in enumerate(hits, 1):
        if not has(hit, "_id"):
            raise OddRankingError(f"query {qid!r} has the hit {shown(hit)}, expected an _id")
        yield qid, hit["_id"], hit["_score"] if scored else -rank


def _has_details(value: Plain) -> bool:
    details = value["details"] if has(value, "details") else None
    return type(details) is dict and all(has(detail, "hits") for detail in details.values())


# The Rated Ranking Evaluator (RRE), which Quepid exports: a group of queries shares ratings.
def _groups(value: Plain) -> list:
    """Return the groups of queries, which may be inside topics."""
    topics = value.get("topics") or [value]
    return [group for topic in topics for group in topic.get("query_groups", [])]


def _texts(group: Plain) -> list[str]:
    """Return the texts of a group's queries, which share its ratings; or its name where they have no text."""
    placeholders = [query.get("placeholders", {}) for query in group.get("queries", [])]
    texts = [
        found.get("$query", next(iter(found.values())) if len(found) == 1 else None) for found in placeholders
    ]
    return list(dict.fromkeys(texts)) if texts and None not in texts else [group.get("name")]


def _grades(group: Plain) -> Iterator[tuple[str, Plain]]:
    """Yield documents with their grades: documents by grade, or, in older files, each with its gain."""
    for key, content in group.get("relevant_documents", {}).items():
        if has(content, "gain"):
            yield key, content["gain"]
            continue
        if type(content) is not list or not key.isdecimal():
            raise OddRankingError(f"group {group.get('name')!r} has {shown({key: content})}, expected grades")
        for docid in content:
            yield docid, int(key)


def _of_groups(value: Plain) -> Iterator[Row]:
    for group in _groups(value):
        for qid in _texts(group):
            for docid, grade in _grades(group):
                yield qid, docid, grade


# A query with its candidates, as a list or as lines: results of rank_llm, and the retrieval of TREC RAG.
#: The list of documents of a query; older files of rank_llm call it hits.
LISTS = ("candidates", "hits")
DOCIDS = ("docid", "docno", "doc_id", "id")


def _list_of(record: Plain) -> Plain:
    lists = [record[name] for name in LISTS if has(record, "query", name) and type(record[name]) is list]
    return lists[0] if lists else None


def _are_candidates(value: Plain) -> bool:
    first = value[0] if type(value) is list and value else value
    return _list_of(first) is not None


def _candidates(value: Plain) -> Iterator[Row]:
    for number, record in enumerate(value if type(value) is list else [value], 1):
        documents = _list_of(record)
        if documents is None:
            raise OddRankingError(f"query {number} has no list of candidates, but {shown(record)}")
        query = record["query"]
        ids = query.get("qid") if type(query) is dict else record.get("qid")
        scored = all(has(document, "score") for document in documents)
        for rank, document in enumerate(documents, 1):
            if type(document) is not dict:
                raise OddRankingError(
                    f"query {number} has the candidate {shown(document)}, expected an object"
                )
            qid = document.get("qid") if ids is None else ids
            docid = next((document[name] for name in DOCIDS if name in document), None)
            if qid is None:
                raise OddRankingError(f'query {number} has no qid: expected "query": {{"qid": …}}')
            # Without scores the order of the list is the ranking.
            yield qid, docid, document["score"] if scored else -rank


# Records with a query, a document and a number, as a list or as lines (umbrela, MTEB, data frames).
def _are_records(value: Plain) -> bool:
    first = value[0] if type(value) is list and value else value
    return type(first) is dict and len(_plain(first)) > 1


def _plain(record: Plain) -> dict:
    return {name: cell for name, cell in record.items() if type(cell) not in (dict, list)}


def _read_records(value: Plain, table: Table, _: str) -> None:
    for record in value if type(value) is list else [value]:
        if type(record) is not dict:
            raise OddRankingError(f"found {shown(record)}, expected an object")
        cells = _plain(record)
        n_rows = len(next(iter(table.values()), ()))
        table.update({name: [None] * n_rows for name in cells if name not in table})
        for name, column in table.items():
            column.append(cells.get(name))


# {"query": {"document": number}}: ranx, BEIR, pytrec_eval, and MTEB, which nests it in subsets; and runs
# without scores, {"query": ["document", …]}, the best document first.
#: What MTEB writes beside the subsets.
META = "mteb_model_meta"


def _is_mapping(value: Plain) -> bool:
    return type(value) is dict and any(type(inner) is dict for inner in value.values())


def _of_mapping(value: Plain) -> Iterator[Row]:
    queries = {name: inner for name, inner in value.items() if name != META}
    while _nested(queries):
        if len(queries) > 1:
            several = ", ".join(list(queries)[:3])
            raise OddRankingError(f"it has several subsets or splits ({several}); save one of them in a file")
        (queries,) = queries.values()
    for qid, documents in queries.items():
        if type(documents) is not dict:
            raise OddRankingError(f"query {qid!r} has {shown(documents)}, expected documents with numbers")
        for docid, number in documents.items():
            yield qid, docid, number


def _nested(queries: Plain) -> bool:
    """Whether values are objects of objects, and no documents with numbers."""
    inner = [value for value in queries.values() if type(value) is dict and value]
    return bool(inner) and all(type(value) is dict for value in inner[0].values())


def _is_in_order(value: Plain) -> bool:
    return type(value) is dict and any(
        type(inner) is list and all(type(docid) in (str, int) for docid in inner) for inner in value.values()
    )


def _in_order(value: Plain) -> Iterator[Row]:
    for qid, documents in value.items():
        if type(documents) is not list:
            raise OddRankingError(f"query {qid!r} has {shown(documents)}, expected a list of documents")
        for rank, docid in enumerate(documents, 1):
            yield qid, docid, -rank


#: Every format, those that are told by their keys first.
FORMATS = (
    JSONFormat(
        "ratings of Elasticsearch's _rank_eval", LABEL,
        lambda value: has(value, "requests") and type(value["requests"]) is list, of_rows(_ratings),
    ),
    JSONFormat("a result of Elasticsearch's _rank_eval", SCORE, _has_details, of_rows(_rated_hits)),
    JSONFormat("hits of Elasticsearch", SCORE, _are_hits, of_rows(_hits)),
    JSONFormat(
        "ratings of RRE", LABEL, lambda value: has(value, "query_groups") or has(value, "topics"),
        of_rows(_of_groups),
    ),
    JSONFormat(
        "a run of queries with candidates (rank_llm, TREC RAG)", SCORE, _are_candidates, of_rows(_candidates)
    ),
    JSONFormat("records", None, _are_records, _read_records),
    JSONFormat(
        "an object of queries, each with documents and numbers", None, _is_mapping, of_rows(_of_mapping)
    ),
    JSONFormat("a run of queries with lists of documents", SCORE, _is_in_order, of_rows(_in_order)),
)  # fmt: skip
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
