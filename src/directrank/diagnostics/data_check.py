"""Checks of a collection before training: what would make training or comparisons misleading."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from directrank.contracts import Positions
from directrank.data.columns import outcomes_among
from directrank.data.encoding import Encoding, encoded, encoding_of
from directrank.data.groups import QueryGroups, as_groups
from directrank.data.queries import Queries
from directrank.data.sampling import sampling_note
from directrank.features.rounding import rounding_steps
from directrank.features.statistics import ColumnStatistics, column_statistics, missing_counts
from directrank.kernels.compile import kernel
from directrank.measures import AP
from directrank.scorers.scaling import choose_scaling, heavy_tailed
from directrank.storage.strict_json import JSONObject

N_EXAMPLES = 5
#: A feature may leak the labels if it alone orders queries so well, and lacks less than this share of what
#: the best other feature lacks; in at least so many queries, with so many documents, and such a share of all.
ALONE, SHARE_OF_NEXT = 0.95, 0.25
LEAST_QUERIES, LEAST_DOCUMENTS, LEAST_SHARE = 10, 100, 0.1
#: Cells of features for which this is computed: queries are taken evenly where there are more.
MOST_CELLS, CELLS_AT_ONCE, N_NAMED = 1 << 23, 1 << 20, 12
# A leak is reported if it moves the mean by this much, and by this many standard errors.
MATERIAL_DIFFERENCE, STANDARD_ERRORS = 0.02, 3.0


#: Fewer queries than this, each with more documents than this on average, are hardly queries.
FEW_QUERIES, MANY_DOCUMENTS = 10, 500
#: Kinds of findings, the gravest first: those that make every result wrong, those that bias it, those that
#: waste queries or features, and those that methods take care of.
GRAVITY = (
    "queries_unlikely", "features_tell_relevance", "order_leaks_relevance", "below_one",
    "sampled_candidates", "rounded_features", "no_relevant", "one_level", "no_irrelevant",
    "duplicate_names", "duplicate_documents", "missing_values", "duplicate_features", "constant_features",
    "constant_within_queries", "scale",
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """One remark on a collection.

    Attributes
    ----------
    code : str
        The kind of remark, for programs.
    message : str
        One sentence for people.
    count : int
        How many queries, features or documents it concerns.
    examples : list
        The first few qids or features.
    values : dict of str to float
        The figures behind it, if any.
    """

    code: str
    message: str
    count: int
    examples: list[Any] = field(default_factory=list)
    values: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class DataCheck:
    """The remarks on a collection.

    Attributes
    ----------
    name : str
    n_queries, n_docs, n_features : int
    findings : list of Finding
        The gravest first. Empty if there is nothing to remark.

    Examples
    --------
    >>> from directrank import QueryGroups, check_data
    >>> check = check_data(QueryGroups([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]], [0, 1, 2], qid=["a"] * 3))
    >>> check.n_features, check.lines()
    (2, ['1 feature is constant over all documents and cannot rank them (feature 2).'])
    """

    name: str
    n_queries: int
    n_docs: int
    n_features: int
    findings: list[Finding]

    def to_dict(self) -> JSONObject:
        """Return plain values, for JSON."""
        return asdict(self)

    def lines(self) -> list[str]:
        """Return the sentence of each finding."""
        return [finding.message for finding in self.findings]


class Scan(NamedTuple):
    """What one pass over the features finds.

    `constant` and `within` say which columns are constant over all rows, and within every query; `rows` and
    `columns` are 64-bit hashes, equal for equal rows and columns.
    """

    constant: np.ndarray
    within: np.ndarray
    rows: np.ndarray
    columns: np.ndarray


def check_data(groups: QueryGroups, *, candidates: QueryGroups | None = None) -> DataCheck:
    """Report what would make training or comparisons misleading. The data are not changed.

    Reported are, the gravest first, a number of queries that suggests that another column is the query;
    features that may leak the labels: that alone order the queries almost perfectly
    (`features_alone`), or are called like outcomes, such as ``clicked`` or ``position``; queries without
    relevant or without irrelevant documents and others of one grade, missing values, features that are
    constant, duplicated or rounded by float32, the scale of features where linear methods need another,
    documents that duplicate another of their query, by docid or by features, and an order of rows that leaks
    the labels.

    Parameters
    ----------
    groups : QueryGroups
    candidates : QueryGroups, optional
        Those whose candidates may be a sample of all documents, such as a test set; `groups` by default.

    Returns
    -------
    DataCheck
    """
    groups = as_groups(groups, "check_data")
    outcomes = [] if groups.feature_names is None else outcomes_among(groups.feature_names)
    if groups.categories:
        groups = encoded(groups, encoding_of(groups))
    scanned = scan(groups.features, groups.queries.indptr)
    checks = [
        _missing, partial(_features, scanned), _scale, _duplicate_names,
        partial(_duplicate_documents, scanned.rows),
    ]  # fmt: skip
    if groups.labelled:
        checks = [_grades, lambda _: _sampled(candidates or groups), *checks, _leaking_order]
    checks += [partial(_leaks, outcomes), _queries]
    findings = [finding for check in checks for finding in check(groups)]
    findings.sort(key=lambda finding: GRAVITY.index(finding.code))
    return DataCheck(groups.name, groups.n_queries, groups.n_docs, groups.n_features, findings)


def _queries(groups: QueryGroups) -> list[Finding]:
    """Report so few or so many queries that another column is probably the query."""
    n_queries, n_docs = groups.n_queries, groups.n_docs
    counts = f"{n_queries:,} quer{'y' if n_queries == 1 else 'ies'} for {n_docs:,} documents"
    if n_queries < FEW_QUERIES and n_docs > MANY_DOCUMENTS * n_queries:
        message = f"{counts}: is the right column the query (qid)?"
    elif n_queries >= FEW_QUERIES and 2 * n_queries > n_docs:
        message = f"{counts}, fewer than 2 each: is the right column the query (qid)?"
    else:
        return []
    return [Finding("queries_unlikely", message, n_queries)]


def _leaks(outcomes: Sequence[str], groups: QueryGroups) -> list[Finding]:
    alone, following = ({}, 0.0)
    if groups.labelled and groups.n_features and not groups.queries.standardised:
        alone, following = features_alone(groups)
    of_value = {} if groups.encoding is None else dict(_values_of(groups.encoding))
    names = list(dict.fromkeys(of_value.get(name, name) for name in [*alone, *outcomes]))
    if not names:
        return []
    parts = []
    if alone:
        parts.append(
            f"{_some(alone)} alone order{'s' * (len(alone) == 1)} the queries almost perfectly "
            f"(agreement with the grades {min(alone.values()):.3f}, of the next feature {following:.3f})"
        )
    if outcomes:
        verb = "is called like an outcome" if len(outcomes) == 1 else "are called like outcomes"
        parts.append(f"{_some(outcomes)} {verb}")
    which = "this feature leaks" if len(names) == 1 else "these features leak"
    remedy = f": --drop {shlex.quote(','.join(names))} (in Python, drop={names})" * bool(groups.feature_names)
    message = (
        f"Perhaps {which} the labels: {'; '.join(parts)}. Leave out what is not known before the ranking is "
        f"shown{remedy}."
    )
    return [Finding("features_tell_relevance", message, len(names), names[:N_EXAMPLES], dict(alone))]


def _values_of(encoding: Encoding) -> Iterator[tuple[str, str]]:
    """Yield each feature of a categorical column, and the column."""
    for column, values in encoding.values.items():
        yield from ((f"{column}={value}", column) for value in (*values, Encoding.other))


def _some(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:N_NAMED]) + (f" and {len(names) - N_NAMED} more" if names[N_NAMED:] else "")


def features_alone(groups: QueryGroups) -> tuple[dict[str, float], float]:
    """Return the features that alone order queries almost perfectly, and the agreement of the best other one.

    The agreement of a feature with the grades of a query is (C - D) / (C + D), Goodman and Kruskal's gamma: C
    and D count the pairs of documents of different grades that it orders as the grades do and against them;
    pairs that it ties do not count. Its agreement is the absolute mean over the queries in which it orders a
    pair. A missing value is less than any other. Features are returned whose agreement is at least .95, and
    lacks less of 1 than a quarter of what the best other feature lacks, if they order pairs in at least 10
    queries with 100 documents, which are at least a tenth of the queries with different grades.
    """
    queries, width = groups.queries, groups.n_features
    starts, ends = queries.indptr[:-1], queries.indptr[1:]
    (graded,) = np.nonzero(queries.relevance[starts] != queries.relevance[ends - 1])
    cells = int((ends - starts)[graded].sum()) * width
    chosen = graded[:: max(1, min(-(-cells // MOST_CELLS), len(graded) // LEAST_QUERIES))]
    total, n_ordered, n_documents = np.zeros(width), np.zeros(width, np.int64), np.zeros(width, np.int64)
    for query in chosen.tolist():
        rows = slice(starts[query], ends[query])
        agreement = agreements(groups.features[rows], queries.relevance[rows])
        ordered = ~np.isnan(agreement)
        total[ordered] += agreement[ordered]
        n_ordered += ordered
        n_documents += ordered * int(queries.sizes[query])
    gamma = np.abs(total) / np.maximum(n_ordered, 1)
    enough = (n_ordered >= max(LEAST_QUERIES, LEAST_SHARE * len(chosen))) & (n_documents >= LEAST_DOCUMENTS)
    best = np.argsort(-np.where(enough, gamma, -1.0), kind="stable")
    lacks = 1.0 - np.where(enough, gamma, 0.0)[best]
    count = 0
    for number in range(1, min(int((lacks <= 1.0 - ALONE).sum()), max(1, width - 1)) + 1):
        if lacks[number - 1] < SHARE_OF_NEXT * (lacks[number] if width > 1 else 1.0):
            count = number
    alone = {feature_name(groups, column): float(gamma[column]) for column in best[:count].tolist()}
    return alone, float(1.0 - lacks[count]) if count < width else 0.0


def agreements(X: np.ndarray, relevance: np.ndarray) -> np.ndarray:
    """Return the agreement of each feature with the grades of one query, NaN where it orders no pair."""
    step = max(1, CELLS_AT_ONCE // len(X))
    return np.concatenate([_agreements(X[:, k : k + step].T, relevance) for k in range(0, X.shape[1], step)])


def _agreements(columns: np.ndarray, relevance: np.ndarray) -> np.ndarray:
    values = np.array(columns, np.float32, order="C")
    values[np.isnan(values)] = -np.inf
    levels, grade = np.unique(relevance, return_inverse=True)
    agreement = np.full(len(values), np.nan)
    _compare(values, np.argsort(values, axis=1), grade, np.empty(len(levels), np.int64), agreement)
    return agreement


@kernel
def _compare(values, order, grade, below, agreement):
    n = values.shape[1]
    for k in range(len(values)):
        for h in range(len(below)):
            below[h] = 0  # the documents of grade h with less than the value at `start`
        right = wrong = start = 0
        for stop in range(1, n + 1):
            if stop == n or values[k, order[k, stop]] != values[k, order[k, start]]:
                for i in range(start, stop):
                    for h in range(len(below)):
                        right += below[h] * (h < grade[order[k, i]])
                        wrong += below[h] * (h > grade[order[k, i]])
                for i in range(start, stop):
                    below[grade[order[k, i]]] += 1
                start = stop
        if right + wrong > 0:
            agreement[k] = (right - wrong) / (right + wrong)


def _grades(groups: QueryGroups) -> list[Finding]:
    queries = groups.queries
    best, worst = queries.relevance[queries.indptr[:-1]], queries.relevance[queries.indptr[1:] - 1]
    kinds = (
        (
            "no_relevant",
            best <= 0,
            "without a relevant document: every measure is 0 there; not used in training",
        ),
        (
            "below_one",
            (best > 0) & (best < 1),
            "without a document of grade 1 or more: AP, P, RR and other measures of relevant documents are 0 "
            "there; name a lower grade, such as AP(rel=0.5)",
        ),
        ("no_irrelevant", worst >= 1, "without an irrelevant document: AP and P are constant there"),
        (
            "one_level",
            (best == worst) & (best > 0),
            "of one relevance level: all rankings are equally good there; not used in training",
        ),
    )
    return [
        finding
        for code, is_of_kind, what in kinds
        for finding in _listing(
            code, f"{{}} of {queries.n_queries} {what} (qid {{}}).", ("query", "queries"),
            _json_names(queries.qid[is_of_kind]),
        )
    ]  # fmt: skip


def _sampled(groups: QueryGroups) -> list[Finding]:
    """Report that the candidates of each query may be a sample of all documents."""
    note = sampling_note(groups.queries)
    return [Finding("sampled_candidates", note, groups.n_queries)] if note else []


def _missing(groups: QueryGroups) -> list[Finding]:
    counts = missing_counts(groups.features)
    shares, columns = counts / max(1, groups.n_docs), np.flatnonzero(counts)
    if not columns.size:
        return []
    values = {feature_name(groups, k): float(shares[k]) for k in columns.tolist()}
    names = [f"{name} {share:.0%}" for name, share in values.items()]
    sentence = f"{{}} missing values, {shares.mean():.1%} of all cells ({{}})."
    (finding,) = _listing("missing_values", sentence, ("feature has", "features have"), names)
    return [replace(finding, values=values)]


def _features(scanned: Scan, groups: QueryGroups) -> list[Finding]:
    constant = scanned.constant
    # Where every value is common, nothing is left for the feature of the others.
    values = groups.encoding.values if groups.encoding else ()
    of_others = {f"{column}={Encoding.other}" for column in values}

    def names(which: np.ndarray) -> list[str]:
        every = (feature_name(groups, column) for column in np.flatnonzero(which).tolist())
        return [name for name in every if name not in of_others]

    hashes, first, duplicates = scanned.columns.tolist(), {}, []
    for column in np.flatnonzero(~constant).tolist():
        earlier = first.setdefault(hashes[column], column)
        same = (groups.features[:, number] for number in (earlier, column))
        if earlier != column and np.array_equal(*same, equal_nan=True):
            duplicates.append(f"{feature_name(groups, column)} = {feature_name(groups, earlier)}")
    one_or_more = ("feature is", "features are")
    return [
        *_listing(
            "constant_features", "{} constant over all documents and cannot rank them ({}).",
            one_or_more, names(constant),
        ),
        *_listing(
            "constant_within_queries", "{} constant within every query and cannot rank alone ({}).",
            one_or_more, names(scanned.within & ~constant),
        ),
        *_listing(
            "duplicate_features", "{} an earlier one ({}).", ("feature duplicates", "features duplicate"),
            duplicates,
        ),
    ]  # fmt: skip


def _scale(groups: QueryGroups) -> list[Finding]:
    statistics = column_statistics(groups.source, np.full(groups.n_features, False))
    steps = rounding_steps(statistics.smallest, statistics.largest)
    rounded = [
        f"{feature_name(groups, k)} to multiples of {steps[k]:.0f}" for k in np.flatnonzero(steps).tolist()
    ]
    sentence = "{} so large and close together that float32 rounds them ({}): subtract a constant."
    words = ("feature has values", "features have values")
    return [*_listing("rounded_features", sentence, words, rounded), *_scaling(groups, statistics)]


def _scaling(groups: QueryGroups, statistics: ColumnStatistics) -> list[Finding]:
    chosen = choose_scaling(groups.source, statistics)
    if chosen.kind == "none":
        return []
    spread = statistics.deviation[statistics.varies]
    values = {"smallest_deviation": float(spread.min()), "largest_deviation": float(spread.max())}
    if chosen.kind == "standard":
        message = f"The {chosen.reason}: linear methods standardise them (scaling=auto)."
        return [Finding("scale", message, len(spread), [], values)]
    names = [feature_name(groups, column) for column in np.flatnonzero(heavy_tailed(statistics)).tolist()]
    which = "of every feature" if chosen.logarithm.all() else "first"
    sentence = f"{{}} a heavy tail ({{}}): linear methods take the logarithm {which} (scaling=auto)."
    (finding,) = _listing("scale", sentence, ("feature has", "features have"), names)
    return [replace(finding, values=values)]


def _listing(code: str, sentence: str, words: tuple[str, str], names: Sequence[object]) -> list[Finding]:
    """Return the finding about some queries or features, or none; `sentence` takes count and examples."""
    count, examples = len(names), list(names[:N_EXAMPLES])
    if not count:
        return []
    listed = ", ".join(map(str, examples)) + (", …" if count > N_EXAMPLES else "")
    return [Finding(code, sentence.format(f"{count} {words[count > 1]}", listed), count, examples)]


def feature_name(groups: QueryGroups, column: int) -> str:
    """Return the name of a feature: the caller's, or its number from 1 as in LETOR files."""
    return groups.feature_names[column] if groups.feature_names else f"feature {column + 1}"


def _duplicate_names(groups: QueryGroups) -> list[Finding]:
    """Report queries with two rows of one docid."""
    queries = groups.queries
    if queries.docid is None:
        return []
    names, ends = queries.docid.tolist(), queries.indptr.tolist()
    is_twice = [len({*names[start:end]}) < end - start for start, end in pairwise(ends)]
    return _listing(
        "duplicate_names", "{} a document twice, by docid (qid {}): every row counts.",
        ("query has", "queries have"), _json_names(queries.qid[is_twice]),
    )  # fmt: skip


def _duplicate_documents(hashes: np.ndarray, groups: QueryGroups) -> list[Finding]:
    queries = groups.queries
    query = queries.query
    order = np.lexsort((hashes, query))
    same = (hashes[order[1:]] == hashes[order[:-1]]) & (query[order[1:]] == query[order[:-1]])
    count = int(same.sum())
    if not count:
        return []
    differ = same & (queries.relevance[order[1:]] != queries.relevance[order[:-1]])
    examples = _json_names(queries.qid[np.unique(query[order[1:][same]])][:N_EXAMPLES])
    share = f"{count} of {queries.n_docs} documents ({count / queries.n_docs:.0%})"
    grades = ", some with another relevance" if differ.any() else ""
    message = f"{share} with the features of another one of their query{grades}: every model ties them."
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
        "The order of the rows leaks the labels: a constant score has AP "
        f"{values['input_order']:.3f} if ties keep the order of rows and {values['expected']:.3f} in "
        "expectation. Evaluate ties by their expected value, the default; under the order of rows a model "
        "gains by tying documents."
    )
    return [Finding("order_leaks_relevance", message, len(gain), [], values)]


def constant_score_ap(queries: Queries) -> tuple[np.ndarray, np.ndarray]:
    """Return AP of each query for a score that ties all: with ties in the caller's order, and expected."""
    above = np.empty(queries.n_docs, np.int32)
    above[np.lexsort((queries.row, queries.query))] = queries.place
    in_order = Positions(above, np.ones_like(above))
    tied = Positions(np.zeros_like(above), queries.sizes[queries.query].astype(above.dtype))
    return AP().query_values(queries, in_order), AP().query_values(queries, tied)


def _json_names(values: np.ndarray) -> list[Any]:
    return [value if isinstance(value, (bool, int, float)) else str(value) for value in values.tolist()]


MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
NEGATIVE_ZERO = np.uint32(0x80000000)


def scan(X: np.ndarray, indptr: np.ndarray) -> Scan:
    """Pass once over the features, float32 (n_docs, n_features), whose queries start at `indptr`."""
    n_docs, n_features = X.shape
    constant, within = np.ones(n_features, np.bool_), np.ones(n_features, np.bool_)
    result = Scan(constant, within, np.zeros(n_docs, np.uint64), np.zeros(n_features, np.uint64))
    with np.errstate(over="ignore"):  # Without compilation NumPy would warn of products that wrap around.
        _scan(X, X.view(np.uint32), indptr, *result)
    return result


@kernel
def _scan(X, bits, indptr, constant, within, rows, columns):
    first_row = X[0]
    for q in range(len(indptr) - 1):
        first = X[indptr[q]]
        for i in range(indptr[q], indptr[q + 1]):
            x, b, h = X[i], bits[i], np.uint64(0)
            for k in range(len(x)):
                within[k] &= x[k] == first[k]
                constant[k] &= x[k] == first_row[k]
            for k in range(len(b)):
                h = _mixed(h, b[k])
                columns[k] = _mixed(columns[k], b[k])
            rows[i] = h


@kernel
def _mixed(h, bits):
    # 0.0 and -0.0 are equal and must have the same hash.
    value = np.uint64(0) if bits == NEGATIVE_ZERO else np.uint64(bits)
    h = (h ^ (value + MULTIPLIER)) * MULTIPLIER
    return h ^ (h >> np.uint64(29))
