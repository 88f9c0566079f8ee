"""Search an index by a trained ranker: the candidates of BM25, ranked anew, with snippets, and why."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from directrank.apps.text.features.candidates import bm25_top
from directrank.apps.text.features.definitions import Feature, parse_features
from directrank.apps.text.features.matches import feature_matrix
from directrank.apps.text.features.outside import Embeddings
from directrank.apps.text.index.analysis import WORDS, Analysis
from directrank.apps.text.index.folder import Index
from directrank.data.groups import QueryGroups
from directrank.errors import DataError

DEPTH = 200
#: Words of a snippet.
WIDTH = 30


class Piece(NamedTuple):
    """A piece of text, and whether it is a term of the query."""

    text: str
    marked: bool


class Marker:
    """Marks the terms of a query in texts, by the analysis of the index."""

    def __init__(self, terms: set[str], analysis: Analysis):
        self._terms, self._term_of = terms, analysis.term()

    def marked(self, text: str) -> list[Piece]:
        """Return a whole text in pieces."""
        return self._pieces(text, 0, len(text))

    def snippet(self, text: str, width: int = WIDTH) -> list[Piece]:
        """Return the `width` words of a text that have most different terms, the first of equal ones."""
        spans = [match.span() for match in WORDS.finditer(text)]
        if len(spans) <= width:
            return self.marked(text)
        terms = [self._term(text[first:last]) for first, last in spans]
        hits = [place for place, term in enumerate(terms) if term is not None]
        starts = [min(place, len(spans) - width) for place in hits] or [0]
        start = max(starts, key=lambda place: (len({*terms[place : place + width], None}), -place))
        # Some words before the first term make it readable.
        start = max(0, min(start - 3, len(spans) - width))
        first, last = spans[start][0], spans[start + width - 1][1]
        pieces = self._pieces(text, first, last)
        before, after = [Piece("… ", False)] * (start > 0), [Piece(" …", False)] * (last < len(text))
        return [*before, *pieces, *after]

    def _term(self, word: str) -> str | None:
        term = self._term_of(word.lower())
        return term if term in self._terms else None

    def _pieces(self, text: str, first: int, last: int) -> list[Piece]:
        pieces, end = [], first
        for match in WORDS.finditer(text, first, last):
            if self._term(match[0]) is not None:
                pieces += [Piece(text[end : match.start()], False), Piece(match[0], True)]
                end = match.end()
        pieces.append(Piece(text[end:last], False))
        return [piece for piece in pieces if piece.text]


class Hit(NamedTuple):
    """A document of the results of a search.

    Attributes
    ----------
    rank, bm25_rank : int
        From 1.
    docid : str
    title, snippet : list of Piece
    score, bm25 : float
    contributions : list of tuple of str and float, optional
        What each feature adds to the score above the mean of all candidates, the largest one first; see
        `Ranker.explain`. None if the model has weak rankers of another library.
    """

    rank: int
    bm25_rank: int
    docid: str
    title: list[Piece]
    snippet: list[Piece]
    score: float
    bm25: float
    contributions: list[tuple[str, float]] | None


class SearchResults(NamedTuple):
    """The hits of a query by the model, those of BM25, the number of candidates and their mean score."""

    hits: list[Hit]
    bm25: list[Hit]
    n_candidates: int
    mean_score: float | None = None


class Searcher:
    """Ranks the documents of an index for queries.

    Parameters
    ----------
    index : Index
    ranker : Ranker
        Trained on features with the names that `make_features` gives them.
    depth : int, default=200
        The number of candidates: as many as in training.
    own_features : sequence of Feature, default=()
        Custom features that the ranker was trained with.
    embeddings : mapping of str to sequence, optional
        Inner products that the ranker was trained with, by the name of the feature: vectors of documents as
        in `make_features`; a function from a list of texts to one vector per text, or a table with the texts
        of queries and their vectors; and ``"cosine"`` where it was one.

    Raises
    ------
    DataError
        If the ranker does not know the names of its features, or one cannot be computed from the index.
    """

    def __init__(
        self,
        index: Index,
        ranker: Any,
        *,
        depth: int = DEPTH,
        own_features: Sequence[Feature] = (),
        embeddings: Mapping[str, Sequence[object]] | None = None,
    ):
        self.index, self.ranker, self.depth = index, ranker, depth
        names = getattr(ranker, "feature_names_in_", None)
        if names is None:
            raise DataError(
                "the model has no names of features; train it on Parquet or CSV of `directrank features`"
            )
        own_by_name: dict[str, str | Feature] = {feature.name: feature for feature in own_features}
        sources, names = embeddings or {}, list(map(str, names))
        if unused := sources.keys() - set(names):
            raise DataError(f"embeddings {min(unused)}: the model has no feature of this name")
        try:
            self._features = parse_features(
                [own_by_name.get(name, name) for name in names if name not in sources], index.fields
            )
        except ValueError as error:
            raise DataError(
                f"the model needs a feature that the index cannot compute: {error}. Inner products of "
                "vectors are given as embeddings: --embed NAME=DOCUMENTS,MODULE:FUNCTION"
            ) from None
        self._embeddings = {name: Embeddings(source, name, index.ids) for name, source in sources.items()}

    def search(self, query: str, n: int = 10) -> SearchResults:
        """Return the first `n` documents of a query; none if the collection has none of its terms."""
        terms = self.index.terms(query)
        documents, bm25 = bm25_top(self.index, terms, self.depth)
        if not len(documents):
            return SearchResults([], [], 0)
        matrix = feature_matrix(self.index, [terms], [documents], self._features)
        names = [*(feature.name for feature in self._features), *self._embeddings]
        docids = [self.index.ids[document] for document in documents]
        dense = [
            embedding.products(query, docids).astype(np.float32) for embedding in self._embeddings.values()
        ]
        matrix = np.column_stack([matrix, *dense])
        groups = QueryGroups(matrix, None, np.zeros(len(documents), np.int64), feature_names=names)
        scores = self.ranker.predict(groups)
        order = np.lexsort((np.arange(len(documents)), -scores))
        rank = np.empty_like(order)
        rank[order] = np.arange(1, len(order) + 1)
        marker = Marker({self.index.word(term) for term in np.unique(terms).tolist()}, self.index.analysis)
        firsts = range(min(n, len(documents)))
        printed = sorted({*order[:n].tolist(), *firsts})
        try:
            why = dict(zip(printed, self.ranker.explain(groups, rows=printed), strict=True))
        except DataError:  # weak rankers of another library
            why = {}

        def hit(place: int) -> Hit:
            document, reasons = documents[place], None
            if why:
                added = [
                    (name, float(contribution))
                    for name, contribution in zip(names, why[place], strict=True)
                    if contribution
                ]
                reasons = sorted(added, key=lambda reason: -abs(reason[1]))
            title, snippet = marker.marked(self.index.titles[document]), self.index.bodies[document]
            return Hit(
                int(rank[place]), place + 1, docids[place], title, marker.snippet(snippet),
                float(scores[place]), float(bm25[place]), reasons,
            )  # fmt: skip

        hits = [hit(place) for place in order[:n].tolist()]
        return SearchResults(hits, list(map(hit, firsts)), len(documents), float(scores.mean()))
