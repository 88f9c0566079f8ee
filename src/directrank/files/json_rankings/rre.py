"""Ratings of the Rated Ranking Evaluator (RRE), which Quepid exports: a group of queries shares them."""

from collections.abc import Iterator

from directrank.files.json_rankings.format import LABEL, JSONFormat, OddRankingError, Row, has, of_rows, shown
from directrank.storage.strict_json import Plain


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


def _rows(value: Plain) -> Iterator[Row]:
    for group in _groups(value):
        for qid in _texts(group):
            for docid, grade in _grades(group):
                yield qid, docid, grade


RATINGS = JSONFormat(
    "ratings of RRE", LABEL, lambda value: has(value, "query_groups") or has(value, "topics"), of_rows(_rows)
)
