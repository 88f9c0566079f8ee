"""What a careful colleague would say about a collection before training on it."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.data.queries import Queries
from directrank.diagnostics.duplicates import column_hashes, column_ranges, row_hashes

N_EXAMPLES = 5
# A leak is worth a word if it moves the mean by this much, and by so many standard errors.
MATERIAL_DIFFERENCE, STANDARD_ERRORS = 0.02, 3.0


@dataclass(frozen=True)
class Finding:
    """One thing to know about a collection.

    Attributes
    ----------
    code : str
        Its name for programs.
    message : str
        One sentence for people.
    count : int
        How many queries, features or documents it is about.
    examples : list
        The first few qids or features.
    values : dict of str to float
        The figures behind it, where there are any.
    """

    code: str
    message: str
    count: int
    examples: list[Any] = field(default_factory=list)
    values: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class DataCheck:
    """The findings about a collection.

    Attributes
    ----------
    name : str
    n_queries, n_docs, n_features : int
    findings : list of Finding
        Empty if there is nothing to say.
    """

    name: str
    n_queries: int
    n_docs: int
    n_features: int
    findings: list[Finding]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        return asdict(self)

    def lines(self) -> list[str]:
        """Return one line of text a finding."""
        return [finding.message for finding in self.findings]


def check_data(groups: QueryGroups) -> DataCheck:
    """Look for what would make training or comparison misleading. Nothing is changed.

    Queries without relevant or without irrelevant documents and others of one relevance level, features that
    are constant or duplicated, documents that duplicate another of their query, and a row order that gives
    the relevance away.

    Parameters
    ----------
    groups : QueryGroups

    Returns
    -------
    DataCheck
    """
    looks: list[Callable[[QueryGroups], list[Finding]]] = [_features, _duplicate_documents]
    if groups.labelled:
        looks = [_levels, *looks, _leaking_order]
    findings = [finding for look in looks for finding in look(groups)]
    return DataCheck(groups.name, groups.n_queries, groups.n_docs, groups.n_features, findings)


def _levels(groups: QueryGroups) -> list[Finding]:
    queries = groups.queries
    best, worst = queries.relevance[queries.indptr[:-1]], queries.relevance[queries.indptr[1:] - 1]
    return [
        *_about_queries(
            queries,
            best <= 0,
            "no_relevant",
            "without a relevant document: every measure is 0 there; not used in training",
        ),
        *_about_queries(
            queries,
            worst > 0,
            "no_irrelevant",
            "without an irrelevant document: AP and P are constant there",
        ),
        *_about_queries(
            queries,
            (best == worst) & (best > 0),
            "one_level",
            "of one relevance level: all rankings are as good there; not used in training",
        ),
    ]


def _about_queries(queries: Queries, found: np.ndarray, code: str, what: str) -> list[Finding]:
    count = int(found.sum())
    if not count:
        return []
    examples = _plain(queries.qid[found][:N_EXAMPLES])
    word = "query" if count == 1 else "queries"
    message = f"{count} {word} of {queries.n_queries} {what} (qid {_listed(examples, count)})."
    return [Finding(code, message, count, examples)]


def _features(groups: QueryGroups) -> list[Finding]:
    constant, within = column_ranges(groups.features, groups.queries.indptr)
    pairs = _equal_columns(groups.features, ~constant)
    return [
        *_about_features(
            groups, constant, "constant_features", "constant over all documents: they cannot rank"
        ),
        *_about_features(
            groups,
            within & ~constant,
            "constant_within_queries",
            "constant within every query: alone they cannot rank",
        ),
        *_about_pairs(groups, pairs),
    ]


def _about_features(groups: QueryGroups, found: np.ndarray, code: str, what: str) -> list[Finding]:
    columns = np.flatnonzero(found)
    if not len(columns):
        return []
    examples = [feature_name(groups, column) for column in columns[:N_EXAMPLES]]
    word = "feature is" if len(columns) == 1 else "features are"
    message = f"{len(columns)} {word} {what} ({_listed(examples, len(columns))})."
    return [Finding(code, message, len(columns), examples)]


def feature_name(groups: QueryGroups, column: int) -> str:
    """Return the name of a feature: the caller's, or its number from 1 as LETOR files count."""
    return groups.feature_names[column] if groups.feature_names else f"feature {column + 1}"


def _equal_columns(X: np.ndarray, wanted: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of an earlier column and one that equals it."""
    hashes = column_hashes(X).tolist()
    first: dict[int, int] = {}
    pairs = []
    for column in np.flatnonzero(wanted).tolist():
        earlier = first.setdefault(hashes[column], column)
        if earlier != column and np.array_equal(X[:, earlier], X[:, column]):
            pairs.append((earlier, column))
    return pairs


def _about_pairs(groups: QueryGroups, pairs: list[tuple[int, int]]) -> list[Finding]:
    if not pairs:
        return []
    examples = [f"{feature_name(groups, b)} = {feature_name(groups, a)}" for a, b in pairs[:N_EXAMPLES]]
    word = "feature duplicates" if len(pairs) == 1 else "features duplicate"
    message = f"{len(pairs)} {word} an earlier one ({_listed(examples, len(pairs))})."
    return [Finding("duplicate_features", message, len(pairs), examples)]


def _duplicate_documents(groups: QueryGroups) -> list[Finding]:
    queries = groups.queries
    query = np.repeat(np.arange(queries.n_queries), queries.sizes)
    hashes = row_hashes(groups.features)
    order = np.lexsort((hashes, query))
    same = (hashes[order[1:]] == hashes[order[:-1]]) & (query[order[1:]] == query[order[:-1]])
    count = int(same.sum())
    if not count:
        return []
    torn = same & (queries.relevance[order[1:]] != queries.relevance[order[:-1]])
    examples = _plain(queries.qid[np.unique(query[order[1:][same]])][:N_EXAMPLES])
    share = f"{count} documents of {queries.n_docs} ({count / queries.n_docs:.0%})"
    split = ", some with another relevance" if torn.any() else ""
    message = f"{share} repeat the features of another of their query{split}: every model ties them."
    return [Finding("duplicate_documents", message, count, examples)]


def _leaking_order(groups: QueryGroups) -> list[Finding]:
    in_order, expected = constant_score_ap(groups.queries)
    gain = in_order - expected
    difference = float(gain.mean())
    error = float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else np.inf
    if abs(difference) <= MATERIAL_DIFFERENCE or abs(difference) <= STANDARD_ERRORS * error:
        return []
    values = {
        "input_order": float(in_order.mean()),
        "expected": float(expected.mean()),
        "standard_error": error,
    }
    message = (
        "The row order gives the relevance away: a constant score has AP "
        f"{values['input_order']:.3f} if ties keep the row order and {values['expected']:.3f} in "
        "expectation. Score ties by their expected value (ties='expected'); under the row order a model "
        "gains by tying."
    )
    return [Finding("order_leaks_relevance", message, len(gain), [], values)]


def constant_score_ap(queries: Queries) -> tuple[np.ndarray, np.ndarray]:
    """AP of a score that ties all documents: in the caller's row order, and expected.

    With R of n documents relevant the expectation is ``((1 - c) H_n + c n) / n``, where
    ``c = (R - 1) / (n - 1)`` and H_n is the harmonic number; 0 if R is 0.

    Returns
    -------
    in_order, expected : ndarray of shape (n_queries,), float64
    """
    query = np.repeat(np.arange(queries.n_queries), queries.sizes)
    order = np.lexsort((queries.row, query))
    relevant = queries.relevance[order] > 0
    n, n_relevant = queries.sizes, queries.n_positive
    place = np.arange(queries.n_docs) - np.repeat(queries.indptr[:-1], n) + 1
    before = np.concatenate(([0], np.cumsum(relevant)))
    so_far = before[1:] - np.repeat(before[queries.indptr[:-1]], n)
    sums = np.bincount(query, weights=np.where(relevant, so_far / place, 0.0), minlength=queries.n_queries)
    in_order = sums / np.maximum(n_relevant, 1)
    harmonic = np.cumsum(1.0 / np.arange(1, n.max(initial=0) + 1))[n - 1]
    c = (n_relevant - 1) / np.maximum(n - 1, 1)
    expected = np.where(n_relevant > 0, ((1 - c) * harmonic + c * n) / n, 0.0)
    return in_order, expected


def _plain(values: np.ndarray) -> list[Any]:
    return [value if isinstance(value, (bool, int, float)) else str(value) for value in values.tolist()]


def _listed(examples: list[Any], count: int) -> str:
    return ", ".join(map(str, examples)) + (", …" if count > len(examples) else "")
