"""``{"query": {"document": number}}``: ranx, BEIR, pytrec_eval, and MTEB, which nests it in subsets.

And runs without scores, ``{"query": ["document", …]}``, the best document first.
"""

from collections.abc import Iterator

from directrank.files.json_rankings.format import SCORE, JSONFormat, OddRankingError, Row, of_rows, shown
from directrank.storage.strict_json import Plain

#: What MTEB writes beside the subsets.
META = "mteb_model_meta"


def _fits(value: Plain) -> bool:
    return type(value) is dict and any(type(inner) is dict for inner in value.values())


def _rows(value: Plain) -> Iterator[Row]:
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


MAPPING = JSONFormat("an object of queries, each with documents and numbers", None, _fits, of_rows(_rows))


def _fits_in_order(value: Plain) -> bool:
    return type(value) is dict and any(
        type(inner) is list and all(type(docid) in (str, int) for docid in inner) for inner in value.values()
    )


def _rows_in_order(value: Plain) -> Iterator[Row]:
    for qid, documents in value.items():
        if type(documents) is not list:
            raise OddRankingError(f"query {qid!r} has {shown(documents)}, expected a list of documents")
        for rank, docid in enumerate(documents, 1):
            yield qid, docid, -rank


ORDERED = JSONFormat(
    "a run of queries with lists of documents", SCORE, _fits_in_order, of_rows(_rows_in_order)
)
