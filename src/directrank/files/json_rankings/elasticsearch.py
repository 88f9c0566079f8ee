"""Elasticsearch and OpenSearch: ratings and results of ``_rank_eval``, and hits of searches by query id."""

from collections.abc import Iterator

from directrank.files.json_rankings.format import (
    LABEL,
    SCORE,
    JSONFormat,
    OddRankingError,
    Row,
    has,
    of_rows,
    shown,
)
from directrank.storage.strict_json import Plain

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


def _has_requests(value: Plain) -> bool:
    return has(value, "requests") and type(value["requests"]) is list


def _has_details(value: Plain) -> bool:
    details = value["details"] if has(value, "details") else None
    return type(details) is dict and all(has(detail, "hits") for detail in details.values())


RATINGS = JSONFormat("ratings of Elasticsearch's _rank_eval", LABEL, _has_requests, of_rows(_ratings))
RATED_HITS = JSONFormat("a result of Elasticsearch's _rank_eval", SCORE, _has_details, of_rows(_rated_hits))
HITS = JSONFormat("hits of Elasticsearch", SCORE, _are_hits, of_rows(_hits))
