"""Features of a query and a document: definitions, names such as ``title.bm25(b=0.4)``, and presets.

In formulas q are the terms of the query and d those of the field of the document; tf, df and cf are as in
`Matches`, N is n_docs and |C| collection_length.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from directrank.apps.text.features.matches import Feature, Matches
from directrank.apps.text.index.folder import ALL, BODY, TITLE, WHOLE

#: Lucene's defaults of BM25.
K1, B = 1.2, 0.75
BM25_PARAMETERS = {"k1": K1, "b": B}
WINDOW = {"window": 8}


class Definition(NamedTuple):
    """A feature that can be computed from any field."""

    name: str
    meaning: str  # A formula
    compute: Callable[..., np.ndarray]  # From `Matches` and the parameters to an array of shape (n_pairs,)
    parameters: Mapping[str, Any] = {}  # With their defaults


# Sums over the terms that a query shares with a document: tf, idf, their products and logarithms.

SUMS = (
    Definition("tf", "Σ tf", lambda m: m.sum(m.tf)),
    Definition("log_tf", "Σ log(1 + tf)", lambda m: m.sum(np.log1p(m.tf))),
    Definition("tf_share", "Σ tf / |d|", lambda m: m.sum(m.share)),
    Definition("log_tf_share", "Σ log(1 + tf / |d|)", lambda m: m.sum(np.log1p(m.share))),
    Definition("idf", "Σ log(N / df)", lambda m: m.sum(m.idf)),
    Definition("log_idf", "Σ log(1 + log(N / df))", lambda m: m.sum(m.of_terms(np.log1p(m.term_idf)))),
    Definition("icf", "Σ log(1 + |C| / cf)", lambda m: m.sum(m.of_terms(np.log1p(m.term_icf)))),
    Definition("tf_idf", "Σ tf · log(N / df)", lambda m: m.sum(m.tf * m.idf)),
    Definition("log_tf_idf", "Σ log(1 + tf / |d| · log(N / df))", lambda m: m.sum(np.log1p(m.share * m.idf))),
    Definition("log_tf_icf", "Σ log(1 + tf / |d| · |C| / cf)", lambda m: m.sum(np.log1p(m.share * m.icf))),
    Definition("length", "|d|", lambda m: m.length),
    Definition("log_length", "log(1 + |d|)", lambda m: np.log1p(m.length)),
)

# BM25, in the form of Lucene: no term has a negative weight.

BM25_FORMULA = "Σ log(1 + (N − df + ½) / (df + ½)) · tf / (tf + k1 · (1 − b + b · |d| / mean length))"


def bm25_idf(df: np.ndarray, n_docs: float) -> np.ndarray:
    """Return the weight of terms with these numbers of documents."""
    return np.log1p((n_docs - df + 0.5) / (df + 0.5))


def bm25_saturation(
    tf: np.ndarray, length: np.ndarray, mean_length: float, k1: float, b: float
) -> np.ndarray:
    """Return the share of its weight that a term gets from each document, between 0 and 1."""
    return tf / (tf + k1 * (1.0 - b + b / mean_length * length))


def bm25(m: Matches, k1: float = K1, b: float = B) -> np.ndarray:
    """Return BM25 of each pair."""
    saturation = bm25_saturation(m.tf, m.length[m.pair], m.mean_length, k1, b)
    return m.sum(m.of_terms(bm25_idf(m.term_df, m.n_docs)) * saturation)


BM25 = (
    Definition("bm25", BM25_FORMULA, bm25, BM25_PARAMETERS),
    Definition(
        "log_bm25", "log(1 + bm25)", lambda m, **parameters: np.log1p(bm25(m, **parameters)), BM25_PARAMETERS
    ),
)

# Language models: the logarithm of the probability that the document's model generates the query, of Zhai and
# Lafferty (2004), with p(t | C) = cf / |C|. Each is the sum of log p(t | d) over the terms t of the query. A
# term that the document lacks has the probability of the collection times a factor of the document. So the
# sum is that of the collection, plus the logarithm of the factor for each term, plus corrections at the
# matches. A document without a term has the probabilities of the collection.


def _with_factor(m: Matches, factor: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return Σ log p(t | d), p being factor · p(t | C), times ``1 + seen`` at the matches."""
    return m.background + m.query_length * np.log(factor) + m.sum(np.log1p(seen))


def _in_collection(m: Matches) -> np.ndarray:
    return m.cf / m.collection_length


def absolute(m: Matches, delta: float = 0.7) -> np.ndarray:
    """Return the model with absolute discounting: (max(tf − δ, 0) + δ · different · p(t | C)) / |d|."""
    factor = np.where(m.length > 0, delta * m.different / np.maximum(m.length, 1.0), 1.0)
    seen = np.maximum(m.tf - delta, 0.0) / (delta * m.different[m.pair] * _in_collection(m))
    return _with_factor(m, factor, seen)


def dirichlet(m: Matches, mu: float = 2000.0) -> np.ndarray:
    """Return the model with Dirichlet smoothing: (tf + μ · p(t | C)) / (|d| + μ)."""
    return _with_factor(m, mu / (m.length + mu), m.tf / (mu * _in_collection(m)))


def jelinek_mercer(m: Matches, weight: float = 0.1) -> np.ndarray:
    """Return the model with Jelinek-Mercer smoothing: (1 − λ) · tf / |d| + λ · p(t | C)."""
    factor = np.where(m.length > 0, weight, 1.0)
    return _with_factor(m, factor, (1.0 - weight) * m.share / (weight * _in_collection(m)))


LANGUAGE_MODELS = (
    Definition(
        "lm_absolute",
        "Σ log(max(tf − δ, 0) / |d| + δ · different / |d| · cf / |C|)",
        absolute,
        {"delta": 0.7},
    ),
    Definition("lm_dirichlet", "Σ log((tf + μ · cf / |C|) / (|d| + μ))", dirichlet, {"mu": 2000.0}),
    Definition(
        "lm_jelinek_mercer", "Σ log((1 − λ) · tf / |d| + λ · cf / |C|)", jelinek_mercer, {"weight": 0.1}
    ),
)

# Coverage: which share of the query a document has.


def coverage(m: Matches) -> np.ndarray:
    """Return the share of the different terms of the query that the document has."""
    return m.plain_sum(np.ones(len(m.pair))) / np.maximum(m.query_terms, 1.0)


def idf_coverage(m: Matches) -> np.ndarray:
    """Return the same with terms weighted by idf; 0 if no term has any."""
    idf_sum = m.idf_of_query
    return np.divide(m.plain_sum(m.idf), idf_sum, out=np.zeros(len(idf_sum)), where=idf_sum > 0)


COVERAGE = (
    Definition("coverage", "share of the terms of q that are in d", coverage),
    Definition("idf_coverage", "share of the idf of the terms of q that are in d", idf_coverage),
)

# Proximity: how near to each other the terms of the query are in the document. A place is counted in terms of
# the field: stop words have none. Neighbours are two terms side by side in the query. Two occurrences are in
# a window of w terms if their places differ by less than w. The sequential dependence model (Metzler and
# Croft 2005) has the windows of `phrases`, 2, and of `unordered_pairs`, 8.


def smallest_window(m: Matches) -> np.ndarray:
    """Return the size of the smallest window that has all terms that query and document share; 0 for none."""
    positions = m.positions
    # Places of all pairs on one axis, on which those of a pair begin at `first`.
    first = positions.pair * (int(m.length.max(initial=0)) + 1)
    place = first + positions.place
    begin, n_terms = place.copy(), np.zeros(len(place), np.int64)
    for number in range(positions.number.max(initial=-1) + 1):
        latest = np.maximum.accumulate(np.where(positions.number == number, place, -1))
        inside = latest >= first
        n_terms += inside
        begin = np.where(inside, np.minimum(begin, latest), begin)
    has_all = n_terms == np.bincount(m.pair, minlength=len(m.length))[positions.pair]
    sizes = np.full(len(m.length), np.inf)
    np.minimum.at(sizes, positions.pair[has_all], (place - begin + 1)[has_all])
    return np.where(np.isfinite(sizes), sizes, 0.0)


def window_share(m: Matches) -> np.ndarray:
    """Return the share of the smallest window that its different terms of the query make; 0 for none."""
    return m.plain_sum(np.ones(len(m.pair))) / np.maximum(smallest_window(m), 1.0)


def ordered_pairs(m: Matches, window: float = 8) -> np.ndarray:
    """Return how often neighbours are in a window in the order of the query."""
    return _counted(m, window, either_order=False)


def unordered_pairs(m: Matches, window: float = 8) -> np.ndarray:
    """Return how often neighbours are in a window in either order."""
    return _counted(m, window, either_order=True)


def _counted(m: Matches, window: float, *, either_order: bool) -> np.ndarray:
    """Return how many pairs of neighbours occur in a window, as often as the query has them."""
    positions, counts = m.positions, np.zeros(len(m.length))
    earlier = np.arange(len(positions.pair))
    for step in range(1, len(earlier)):
        earlier = earlier[earlier + step < len(positions.pair)]
        later = earlier + step
        near = (positions.pair[earlier] == positions.pair[later]) & (
            positions.place[later] - positions.place[earlier] < window
        )
        # What is too far away stays so at the next step.
        earlier, later = earlier[near], later[near]
        if not len(earlier):
            break
        one, other = positions.term[earlier], positions.term[later]
        times = positions.times_in_query(one, other)
        if either_order:
            times = times + np.where(one == other, 0, positions.times_in_query(other, one))
        counts += np.bincount(positions.pair[earlier], times, len(counts))
    return counts


PROXIMITY = (
    Definition("window", "terms in the smallest window of d that has all terms that q and d share",
               smallest_window),
    Definition("window_share", "different terms that q and d share / window", window_share),
    Definition("phrases", "how often neighbours in q are neighbours in d, in the same order",
               lambda m: ordered_pairs(m, 2)),
    Definition("ordered_pairs", "how often neighbours in q are within a window of d, in the same order",
               ordered_pairs, WINDOW),
    Definition("unordered_pairs", "how often neighbours in q are within a window of d, in either order",
               unordered_pairs, WINDOW),
)  # fmt: skip

#: Every definition, by its name.
DEFINITIONS: dict[str, Definition] = {
    definition.name: definition for definition in (*SUMS, *BM25, *LANGUAGE_MODELS, *COVERAGE, *PROXIMITY)
}
#: LETOR's content features (Qin et al. 2010); here Σ runs over the terms that query and document share.
LETOR = (
    "tf", "log_tf", "tf_share", "log_tf_share", "idf", "log_idf", "icf", "log_tf_icf", "tf_idf", "log_tf_idf",
    "bm25", "log_bm25", "lm_absolute", "lm_dirichlet", "lm_jelinek_mercer",
)  # fmt: skip
#: The features of AdaRank's paper, to which Xu et al. (2008, section 5.2) refer.
XU2008 = ("log_tf", "icf", "log_idf", "log_tf_share", "log_tf_idf", "log_tf_icf", "log_bm25")
#: The features that the text of section 5.2 lists.
XU2008_PRINTED = ("tf", "idf", "length", "bm25")
#: From the name of a preset to its features, and the fields that they are computed from.
PRESETS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "letor": (LETOR, ALL),
    "xu2008": (XU2008, (WHOLE,)),
    "xu2008-printed": (XU2008_PRINTED, (TITLE, BODY)),
    "all": (tuple(DEFINITIONS), ALL),
}
NAME = re.compile(r"(\w+)\.(\w+)(?:\(([^()]*)\))?")


def own_feature(name: str, compute: Callable[[Matches], np.ndarray]) -> Feature:
    """Return a custom feature.

    Parameters
    ----------
    name : str
        With the field first, such as ``"body.root_tf"``.
    compute : callable
        From `Matches` to an array of shape (n_pairs,).

    Examples
    --------
    >>> own_feature("body.root_tf", lambda m: m.sum(m.tf**0.5)).field
    'body'
    """
    field = name.partition(".")[0]
    if field not in ALL:
        raise ValueError(f"{name!r}: expected a field first: {', '.join(ALL)}, as in body.root_tf")
    return Feature(name, field, compute)


def parse_features(wanted: str | Sequence[str | Feature], fields: Sequence[str]) -> list[Feature]:
    """Return features from presets, names and custom features, each once.

    Raises ValueError if a name is not known, or its field is not among those of the index.
    """
    features: dict[str, Feature] = {}
    for spec in [wanted] if isinstance(wanted, str) else wanted:
        for feature in [spec] if isinstance(spec, Feature) else _of_text(spec, fields):
            if feature.field not in fields:
                raise ValueError(
                    f"{feature.name}: the index has no field {feature.field}, only {', '.join(fields)}"
                )
            features[feature.name] = feature
    return list(features.values())


def _of_text(text: str, fields: Sequence[str]) -> list[Feature]:
    if text in PRESETS:
        names, where = PRESETS[text]
        # An index without titles has the whole text alone.
        chosen = [field for field in fields if field in where] or [WHOLE]
        return [parse_feature(f"{field}.{name}") for field in chosen for name in names]
    return [parse_feature(text)]


def parse_feature(text: str) -> Feature:
    """Return the feature of a name; raise ValueError if there is none."""
    match = NAME.fullmatch(text.replace(" ", ""))
    if match is None or match[1] not in ALL or match[2] not in DEFINITIONS:
        raise ValueError(
            f"no feature {text!r}; expected a preset ({', '.join(PRESETS)}), or a field ({', '.join(ALL)}), "
            f"a dot and one of {', '.join(DEFINITIONS)}"
        )
    definition = DEFINITIONS[match[2]]
    parameters = dict(
        _parameter(assignment, definition, text) for assignment in (match[3] or "").split(",") if assignment
    )
    inner = ",".join(f"{name}={parameters[name]:g}" for name in definition.parameters if name in parameters)
    name = f"{match[1]}.{match[2]}" + (f"({inner})" if inner else "")
    return Feature(name, match[1], partial(definition.compute, **parameters))


def _parameter(text: str, definition: Definition, feature: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = np.nan
    if name not in definition.parameters or not 0 <= number < np.inf:
        defaults = ", ".join(
            f"{parameter}={default:g}" for parameter, default in definition.parameters.items()
        )
        raise ValueError(f"{feature}: {text!r} is no parameter; expected numbers for {defaults or 'none'}")
    return name, number
