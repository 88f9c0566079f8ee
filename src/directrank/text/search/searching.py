"""Search an index by a trained ranker: the candidates of BM25, ranked anew, and why."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.errors import DataError
from directrank.text.features.candidates import bm25_top
from directrank.text.features.matrix import feature_matrix
from directrank.text.features.names import Feature, features_named
from directrank.text.index.opening import Index
from directrank.text.search.contributions import contributions
from directrank.text.search.snippets import Marker, Piece

DEPTH = 200


class Hit(NamedTuple):
    """A document that was found.

    Attributes
    ----------
    rank, bm25_rank : int
        From 1.
    docid : str
    title, snippet : list of Piece
    score, bm25 : float
    contributions : list of (str, float)
        What each feature adds to the score, the largest one first; empty if the model does not say.
    """

    rank: int
    bm25_rank: int
    docid: str
    title: list[Piece]
    snippet: list[Piece]
    score: float
    bm25: float
    contributions: list[tuple[str, float]]


class Found(NamedTuple):
    """The hits of a query by the model, those of BM25, and the number of candidates."""

    hits: list[Hit]
    bm25: list[Hit]
    n_candidates: int


class Searcher:
    """Ranks the documents of an index for queries.

    Parameters
    ----------
    index : Index
    ranker : Ranker
        Trained on features with the names that `make_features` gives them.
    depth : int, default=200
        The number of candidates: as many as in training.
    own : sequence of Feature, default=()
        Features of one's own that the ranker was trained with.

    Raises
    ------
    DataError
        If the ranker does not know the names of its features, or one cannot be computed from the index.
    """

    def __init__(self, index: Index, ranker: Any, *, depth: int = DEPTH, own: Sequence[Feature] = ()):
        self.index, self.ranker, self.depth = index, ranker, depth
        names = getattr(ranker, "feature_names_in_", None)
        if names is None:
            raise DataError(
                "the model has no names of features; train it on Parquet or CSV of `directrank features`"
            )
        known: dict[str, str | Feature] = {feature.name: feature for feature in own}
        try:
            self._features = features_named([known.get(name, name) for name in map(str, names)], index.fields)
        except ValueError as error:
            raise DataError(f"the model needs a feature that the index cannot compute: {error}") from None

    def search(self, query: str, n: int = 10) -> Found:
        """Return the first `n` documents of a query; none if the collection has none of its terms."""
        terms = self.index.terms(query)
        documents, bm25 = bm25_top(self.index, terms, self.depth)
        if not len(documents):
            return Found([], [], 0)
        matrix = feature_matrix(self.index, [terms], [documents], self._features)
        names = [feature.name for feature in self._features]
        groups = QueryGroups(matrix, None, np.zeros(len(documents), np.int64), feature_names=names)
        scores = self.ranker.predict(groups)
        added = contributions(self.ranker.scorer_, matrix, np.array([0, len(documents)]))
        order = np.lexsort((np.arange(len(documents)), -scores))
        rank = np.empty_like(order)
        rank[order] = np.arange(1, len(order) + 1)
        marker = Marker({self.index.word(term) for term in np.unique(terms).tolist()}, self.index.analysis)

        def hit(place: int) -> Hit:
            reasons = [] if added is None else _sorted_terms(names, added[place])
            values = float(scores[place]), float(bm25[place])
            return Hit(int(rank[place]), place + 1, *self._texts(documents[place], marker), *values, reasons)

        firsts = range(min(n, len(documents)))
        return Found([hit(place) for place in order[:n].tolist()], list(map(hit, firsts)), len(documents))

    def _texts(self, document: int, marker: Marker) -> tuple[str, list[Piece], list[Piece]]:
        """Return the name of a document, its title and the part of its text that is shown."""
        title, body = self.index.titles[document], self.index.bodies[document]
        return self.index.ids[document], marker.marked(title), marker.snippet(body)


def _sorted_terms(names: list[str], values: np.ndarray) -> list[tuple[str, float]]:
    order = np.argsort(-np.abs(values), kind="stable")
    return [(names[column], float(values[column])) for column in order.tolist() if values[column] != 0.0]
