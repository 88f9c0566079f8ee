"""What a record has of a ranking: values of measures, the curve of nDCG, ties, and the first documents."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from directrank.apps.evaluation import evaluate
from directrank.apps.experiments.store.records import CUTOFFS, Measured, Part, Ties
from directrank.contracts import Measure
from directrank.data import Queries, QueryGroups


class Scored(NamedTuple):
    """Documents with scores in row order; `retrieved` says which of them a run holds, None for all."""

    documents: QueryGroups | Queries
    scores: np.ndarray
    retrieved: np.ndarray | None


def sizes(n_queries: int, relevance: np.ndarray) -> Part:
    """Return the number of queries and of documents, and how many have each grade."""
    grades, counts = np.unique(relevance, return_counts=True)
    by_grade = {f"{grade:g}": int(count) for grade, count in zip(grades, counts, strict=True)}
    distinct = by_grade if len(by_grade) <= 32 else {"distinct": len(by_grade)}
    return Part(queries=n_queries, documents=len(relevance), relevance=distinct)


def sizes_of_sets(splits: Mapping[str, QueryGroups]) -> dict[str, Part]:
    """Return the sizes of the sets of a fold, with the number of features."""
    return {
        name: replace(sizes(split.n_queries, split.queries.relevance), features=split.n_features)
        for name, split in splits.items()
    }


def measured_sets(
    scored: Mapping[str, Scored], measures: Sequence[Measure], conventions: Sequence[str], *,
    max_grade: float | None = None, diagnostics: bool = True,
) -> Measured:  # fmt: skip
    """Measure the ranking of the test set, and the means of that of the validation set if it is scored."""
    test = scored["test"]
    evaluations = {
        convention: {
            name: evaluate(
                part.documents, part.scores, measures=measures, convention=convention,
                per_query=name == "test", max_grade=max_grade, retrieved=part.retrieved,
            )
            for name, part in scored.items()
        }
        for convention in conventions
    }  # fmt: skip
    tests = {convention: sets["test"] for convention, sets in evaluations.items()}
    return Measured(
        values={
            convention: {name: dict(evaluation) for name, evaluation in sets.items()}
            for convention, sets in evaluations.items()
        },
        per_query={
            convention: {
                name: [None if math.isnan(value) else value for value in values.tolist()]
                for name, values in (evaluation.per_query or {}).items()
            }
            for convention, evaluation in tests.items()
        },
        computed={
            convention: {name: measure.name for name, measure in evaluation.computed.items()}
            for convention, evaluation in tests.items()
        },
        qid=tests[conventions[0]].qid.tolist(),
        curve={convention: curve(test, convention) for convention in conventions if diagnostics},
        ranked=ranked(*test[:2]),
        ties=ties(test, measures) if diagnostics else None,
    )


def curve(test: Scored, convention: str) -> list[float]:
    """Return mean nDCG@1 … nDCG@10 of a ranking, each in [0, 1]."""
    names = [f"nDCG@{cutoff}" for cutoff in range(1, CUTOFFS + 1)]
    values = evaluate(
        test.documents, test.scores, measures=names, convention=convention, retrieved=test.retrieved
    )
    return [values[name] for name in names]


def ties(test: Scored, measures: Sequence[Measure]) -> Ties:
    """Count documents with the score of another one of their query, and queries with ties between grades.

    Measures are evaluated with ties in the order of rows. Documents whose score is NaN tie with nothing.
    """
    queries = test.documents if isinstance(test.documents, Queries) else test.documents.queries
    inner = test.scores[queries.row]
    query = queries.query
    order = np.lexsort((queries.relevance, inner, query))
    same = (query[order[1:]] == query[order[:-1]]) & (inner[order[1:]] == inner[order[:-1]])
    tied = np.zeros(queries.n_docs, dtype=bool)
    tied[:-1] |= same
    tied[1:] |= same
    differ = same & (queries.relevance[order[1:]] != queries.relevance[order[:-1]])
    values = evaluate(test.documents, test.scores, measures=measures, ties="input", retrieved=test.retrieved)
    n_affected = len(np.unique(query[order[1:][differ]]))
    return Ties(documents=int(tied.sum()), queries=n_affected, input=dict(values))


def ranked(test: QueryGroups | Queries, scores: np.ndarray) -> list[list[float]]:
    """Return the relevance of the top documents of every query as ranked, ties in the order of rows.

    Documents whose score is NaN are left out.
    """
    queries = test if isinstance(test, Queries) else test.queries
    return [queries.relevance[start + order].tolist() for start, order in tops(queries, scores)]


def tops(queries: Queries, scores: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield where each query begins, and its top documents counted from there."""
    inner = scores[queries.row]
    for start, stop in zip(queries.indptr[:-1], queries.indptr[1:], strict=True):
        order = np.lexsort((queries.row[start:stop], -inner[start:stop]))[: Measured.depth]
        yield start, order[~np.isnan(inner[start:stop][order])]
