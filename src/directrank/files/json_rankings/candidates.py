"""A query with its candidates: results of rank_llm, and the retrieval of TREC RAG, as a list or as lines."""

from collections.abc import Iterator

from directrank.files.json_rankings.format import JSONFormat, OddRankingError, Row, has, of_rows, shown
from directrank.storage.strict_json import Plain

#: The list of documents; older files of rank_llm call it hits.
LISTS = ("candidates", "hits")
DOCIDS = ("docid", "docno", "doc_id", "id")


def _list_of(record: Plain) -> Plain:
    lists = [record[name] for name in LISTS if has(record, "query", name) and type(record[name]) is list]
    return lists[0] if lists else None


def _fits(value: Plain) -> bool:
    first = value[0] if type(value) is list and value else value
    return _list_of(first) is not None


def _rows(value: Plain) -> Iterator[Row]:
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


CANDIDATES = JSONFormat(
    "a run of queries with candidates (rank_llm, TREC RAG)", "score", _fits, of_rows(_rows)
)
