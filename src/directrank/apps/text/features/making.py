"""From queries and judgements to features: candidates, their grades, and one row for each."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from directrank.apps.fusion import FIXED
from directrank.apps.text.collections.reading import read_judgements, read_queries
from directrank.apps.text.collections.records import (
    LISTED,
    CollectionOptions,
    Faults,
    Judgement,
    Query,
    known_name,
    with_like_names,
)
from directrank.apps.text.collections.tables import called
from directrank.apps.text.features.candidates import (
    DEFAULT,
    CandidateRule,
    Ranking,
    bm25_top,
    candidates_of,
    parse_rule,
)
from directrank.apps.text.features.definitions import Feature, parse_features
from directrank.apps.text.features.matches import feature_matrix
from directrank.apps.text.features.outside import embedding_scores, first_of_run, outside_scores
from directrank.apps.text.index.folder import Index, open_index
from directrank.data.groups import QueryGroups
from directrank.data.queries import Queries
from directrank.errors import DataError
from directrank.files.trec import Union

#: What the data set is called in messages.
NAME = "features"
UNKNOWN_TERMS = "queries have no term that the collection has and are left out"
NO_CANDIDATE = "queries have no candidate document and are left out"
#: Features of the rankings that give candidates.
FUSED: dict[str, Callable[[Union], np.ndarray]] = dict(
    zip(("rrf", "combsum", "combmnz"), FIXED.values(), strict=True)
)
NO_DOCUMENT = "judged documents are not in the index"
#: The feature that is BM25's score, by which candidates are retrieved.
BM25 = "whole.bm25"


class CandidateFeatures(NamedTuple):
    """The features of the candidates of all queries.

    Attributes
    ----------
    groups : QueryGroups
        With names of documents and features; relevance if there are judgements.
    lines : list of str
        What was read, what was wrong with it, and how many relevant documents are candidates.
    relevant : dict of str to list of float
        The grades of the relevant documents of each query, candidates or not, the highest first.
    """

    groups: QueryGroups
    lines: list[str]
    relevant: dict[str, list[float]]


class _Judged(NamedTuple):
    """The grades of the judged documents of a query that are in the index, and those of all relevant ones."""

    grades: dict[int, float]
    relevant: list[float]


def make_features(
    index: Index | str | os.PathLike,
    queries: object,
    judgements: object = None,
    *,
    features: str | Sequence[str | Feature] = "letor",
    candidates: str = DEFAULT,
    scores: Mapping[str, object] | None = None,
    embeddings: Mapping[str, Sequence[object]] | None = None,
    options: CollectionOptions | None = None,
) -> CandidateFeatures:
    """Compute the features of the candidate documents of queries.

    Parameters
    ----------
    index : Index or path
    queries : path, or data frame
        TREC topics, SMART queries, JSON lines, or a table of qid and text.
    judgements : path, or data frame, optional
        TREC qrels, SMART's form, or a table of qid, docid and grade. Documents without a judgement are not
        relevant. With judgements, queries without one are left out.
    features : str or sequence of str and Feature, default="letor"
        Presets (``letor``, ``xu2008``, ``xu2008-printed``, ``all``), names such as
        ``body.bm25(k1=0.9,b=0.4)``, custom features, and ``rrf``, ``combsum`` and ``combmnz`` of the
        rankings that give candidates.
    candidates : str, default="bm25:200"
        The union of ``bm25:200``, ``run:FILE:200`` (the first documents of a TREC run or a table of scores)
        and ``judged``, with commas.
    scores : mapping of str to path or data frame, optional
        Scores of others by the name of their feature: TREC runs, or tables of qid, docid and score.
    embeddings : mapping of str to sequence of two paths or data frames, optional
        Document and query vectors by the name of the feature, which is their inner product:
        ``{"dense": ("documents.parquet", "queries.parquet")}``. With ``"cosine"`` as third it is the cosine.
    options : CollectionOptions, optional

    Returns
    -------
    CandidateFeatures

    Raises
    ------
    DataError
        If files cannot be used, or no query has a candidate.
    ValueError
        If a feature or a rule of candidates is not known.
    """
    index = index if isinstance(index, Index) else open_index(index)
    options, faults = options or CollectionOptions(), Faults()
    rule, definitions = parse_rule(candidates), [features] if isinstance(features, str) else list(features)
    fused = [name for name in FUSED if name in definitions]
    wanted = parse_features([feature for feature in definitions if feature not in FUSED], index.fields)
    if fused and bool(rule.depth) + len(rule.runs) < 2:
        raise ValueError(
            f"{fused[0]} needs two rankings or more in candidates, such as bm25:200,run:FILE:200"
        )
    if rule.judged and judgements is None:
        raise ValueError(f"candidates {candidates!r} need judgements")
    queries, lines = read_queries(queries, options, faults)
    judged = None
    if judgements is not None:
        records, sentences = read_judgements(judgements, queries, options, faults)
        judged, lines = _by_query(index, records, called(judgements), faults), lines + sentences
        queries = [query for query in queries if query.qid in judged]
    rows = _rows(index, queries, judged or {}, rule, faults)
    docids = [[index.ids[document] for document in documents.tolist()] for documents in rows.documents]
    columns = [(name, FUSED[name](_union(rows))) for name in fused]
    for name, source in (scores or {}).items():
        columns.append((name, outside_scores(source, name, rows.qids, docids, faults)))
    for name, source in (embeddings or {}).items():
        columns.append((name, embedding_scores(source, name, rows.qids, docids, options, faults)))
    matrix = feature_matrix(index, rows.terms, rows.documents, wanted)
    grades = None
    if judged is not None:
        pairs = zip(rows.qids, rows.documents, strict=True)
        grades = np.array(
            [judged[qid].grades.get(row, 0.0) for qid, documents in pairs for row in documents.tolist()]
        )
    groups = QueryGroups(
        np.column_stack([matrix, *(values for _, values in columns)]),
        grades,
        np.repeat(np.array(rows.qids), [len(documents) for documents in rows.documents]),
        docid=np.array([name for names in docids for name in names]),
        feature_names=[*(feature.name for feature in wanted), *(name for name, _ in columns)],
        name=NAME,
    )
    relevant = {} if judged is None else {qid: judged[qid].relevant for qid in rows.qids}
    return CandidateFeatures(groups, [*lines, *faults.lines(), _summary(groups, rule, relevant)], relevant)


def bm25_run(
    index: Index | str | os.PathLike,
    queries: object,
    *,
    depth: int = 200,
    options: CollectionOptions | None = None,
) -> CandidateFeatures:
    """Return BM25's run of queries: the first documents of each, with the score as their one feature.

    Parameters
    ----------
    index : Index or path
    queries : path, or data frame
        As `make_features` takes them.
    depth : int, default=200
        The number of documents of each query.
    options : CollectionOptions, optional

    Returns
    -------
    CandidateFeatures

    Raises
    ------
    DataError
        If files cannot be used, or no query has a document.
    """
    return make_features(index, queries, features=[BM25], candidates=f"bm25:{depth}", options=options)


class _Rows(NamedTuple):
    """Queries that have candidates: names, terms, documents, and their scores in the rankings."""

    qids: list[str]
    terms: list[np.ndarray]
    documents: list[np.ndarray]
    scores: list[np.ndarray]


def _union(rows: _Rows) -> Union:
    """Return the rankings that gave candidates as runs."""
    indptr = np.append(0, np.cumsum([len(documents) for documents in rows.documents]))
    n_docs = int(indptr[-1])
    queries = Queries(np.zeros(n_docs), indptr, np.arange(n_docs), np.array(rows.qids))
    return Union(queries, np.concatenate(rows.scores), np.zeros(n_docs, bool))


def _by_query(index: Index, records: Sequence[Judgement], source: str, faults: Faults) -> dict[str, _Judged]:
    docids = {judgement.docid for judgement in records}
    places = {docid: index.ids.find(known_name(docid, index.ids)) for docid in docids}
    missing = sorted(docid for docid, place in places.items() if place < 0)
    texts = dict(zip(missing, with_like_names(missing, index.ids), strict=True))
    if len(missing) > len(docids) / 2:
        raise DataError(
            f"{source}: the index has {len(docids) - len(missing)} of {len(docids)} judged documents; it "
            f"lacks {', '.join(texts[docid] for docid in missing[:LISTED])}, for example; give the "
            "judgements of this collection, with its names of documents, or index all of it"
        )
    judged: dict[str, _Judged] = {}
    for judgement in records:
        of_query = judged.setdefault(judgement.qid, _Judged({}, []))
        if places[judgement.docid] < 0:
            faults.add(NO_DOCUMENT, texts[judgement.docid])
        else:
            of_query.grades.setdefault(places[judgement.docid], judgement.grade)
        # Relevant documents that the collection lacks cannot be found, and count all the same.
        if judgement.grade > 0:
            of_query.relevant.append(judgement.grade)
    for of_query in judged.values():
        of_query.relevant.sort(reverse=True)
    return judged


def _rows(
    index: Index, queries: Sequence[Query], judged: Mapping[str, _Judged], rule: CandidateRule, faults: Faults
) -> _Rows:
    terms = [index.terms(query.text) for query in queries]
    judged_documents = [
        np.array(sorted(judged[query.qid].grades if query.qid in judged else ()), np.int64)
        for query in queries
    ]
    qids = [query.qid for query in queries]
    runs = [first_of_run(path, depth, qids, index, faults) for path, depth in rule.runs]
    rows = _Rows([], [], [], [])
    for query, own_terms, own_judged in zip(queries, terms, judged_documents, strict=True):
        rankings = [Ranking(*bm25_top(index, own_terms, rule.depth))] if rule.depth else []
        rankings += [run[query.qid] for run in runs]
        candidates = candidates_of(rankings, own_judged if rule.judged else own_judged[:0])
        if not len(own_terms):
            faults.add(UNKNOWN_TERMS, query.qid)
        elif not len(candidates.documents):
            faults.add(NO_CANDIDATE, query.qid)
        else:
            rows.qids.append(query.qid)
            rows.terms.append(own_terms)
            rows.documents.append(candidates.documents)
            rows.scores.append(candidates.scores)
    if not rows.qids:
        raise DataError(f"no query has a candidate document; {'; '.join(faults.lines())}")
    return rows


def _summary(groups: QueryGroups, rule: CandidateRule, relevant: Mapping[str, list[float]]) -> str:
    sizes = f"{groups.n_queries} queries, {groups.n_features} features"
    line = f"{sizes}; candidates: {rule}, {groups.n_docs} in all"
    if not relevant:
        return line
    total, retrieved = sum(map(len, relevant.values())), int((groups.relevance > 0).sum())
    share = f" ({retrieved / total:.2f})" if total else ""
    return (
        f"{line}; they hold {retrieved} of {total} relevant documents{share}, and `compare` divides AP by "
        "those that are candidates; candidates without a judgement are not relevant"
    )
