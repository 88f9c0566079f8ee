"""The features of all pairs of queries and documents, computed over blocks of queries."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from directrank.errors import DataError
from directrank.text.features.definitions import Feature
from directrank.text.features.matches import every_pair, find_matches, find_positions, look_up, query_terms
from directrank.text.index.opening import WHOLE, Index

#: Pairs times terms that are looked at together; their arrays stay in the processor's cache.
BLOCK = 1 << 16


def feature_matrix(
    index: Index, terms: Sequence[np.ndarray], documents: Sequence[np.ndarray], features: Sequence[Feature]
) -> np.ndarray:
    """Return the features of all pairs, float32 of shape (n_pairs, n_features), query after query.

    Each query has the terms that it has, as often as it has them, and its candidate documents.

    Raises
    ------
    DataError
        If a feature of one's own has another shape, or is infinite.
    """
    ends = np.concatenate([[0], np.cumsum([len(each) for each in documents], dtype=np.int64)])
    out = np.empty((ends[-1], len(features)), np.float32)
    fields = list(dict.fromkeys(each.field for each in features))
    for first, last in _blocks(terms, documents):
        asked = list(terms[first:last])
        wanted = query_terms(asked)
        sizes = np.diff(ends[first : last + 1])
        document = np.concatenate([np.zeros(0, np.int64), *documents[first:last]]).astype(np.int64)
        rows = out[ends[first] : ends[last]]
        whole = look_up(index.postings(WHOLE), wanted, *every_pair(wanted, sizes), document)
        for field in fields:
            postings = index.postings(field)
            # A part of a document has no term that the whole has not.
            found = whole if field == WHOLE else look_up(postings, wanted, whole.row, whole.pair, document)
            positions = partial(find_positions, index.forward, field, asked, sizes, document)
            matches = find_matches(postings, wanted, found, sizes, document, positions)
            for column, feature in enumerate(features):
                if feature.field == field:
                    rows[:, column] = _checked(feature, feature.compute(matches), len(document))
    return out


def _blocks(terms: Sequence[np.ndarray], documents: Sequence[np.ndarray]) -> Iterator[tuple[int, int]]:
    """Yield first and last query, exclusive, of blocks of bounded work."""
    first, work = 0, 0
    for query, (own_terms, own_documents) in enumerate(zip(terms, documents, strict=True)):
        more = len(own_terms) * len(own_documents)
        if query > first and work + more > BLOCK:
            yield first, query
            first, work = query, 0
        work += more
    if first < len(terms):
        yield first, len(terms)


def _checked(feature: Feature, values: np.ndarray, n_pairs: int) -> np.ndarray:
    values = np.asarray(values, np.float64)
    if values.shape != (n_pairs,):
        raise DataError(
            f"feature {feature.name}: has shape {values.shape}, expected ({n_pairs},): one a pair"
        )
    if np.isinf(values).any():
        raise DataError(f"feature {feature.name}: is infinite for a pair; expected finite numbers or NaN")
    return values
