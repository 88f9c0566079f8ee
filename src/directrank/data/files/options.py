"""How a file of documents is read: which columns are what, and what a missing value means."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike

import numpy as np

from directrank.data.files.opening import Digests

#: Rules for missing values, beside numbers: they stay missing, are refused, or are the least of the query.
MISSING_RULES = ("nan", "error", "query_min")
#: The rule that holds unless another is given.
MISSING = MISSING_RULES[0]


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How to read a file of documents; LETOR text has no columns, and ignores their names.

    Attributes
    ----------
    qid, label, docid : str, optional
        Columns of queries, of grades and of names of documents; guessed by their names if not given.
    features : sequence of str, optional
        Columns of features, or patterns such as ``bm25*``; by default, all other columns.
    drop : sequence of str, default=()
        Columns to leave out, or patterns.
    categorical : sequence of str, optional
        Features that are categories, or patterns; by default those of a type of categories.
    missing : {"nan", "error", "query_min"} or float, default="nan"
        The meaning of a missing feature: NaN, an error, the least value within the query, or a number.
    labelled : bool, default=True
        Whether the documents have relevance.
    grouped : bool, default=True
        Whether a table must have a column of queries; without one, all documents are one query.
    n_features : int, optional
        The number of features; any other number is refused, and LETOR text is padded with zeros.
    first_feature : {0, 1}, optional
        The number of the first feature of LETOR text; 1 by default.
    counts_fit : bool, default=False
        Whether to refuse LETOR text with fewer features than `n_features` where `first_feature` is not given.
    qrels : path-like, optional
        TREC qrels: the file is a log of features, and `qid` and `docid` are keys of its JSON, with dots.
    log : str, optional
        The name of the log, where the plugins logged several; or the field where Solr logged features.
    verify : bool, default=True
        Whether the features of a store are compared with their digests, which reads all of them.
    digests : mapping of Path to str
        The SHA-256, in hex, that the bytes of these files must have: a comparison keeps its results under it.
    """

    qid: str | None = None
    label: str | None = None
    docid: str | None = None
    features: Sequence[str] | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] | None = None
    missing: str | float = MISSING
    labelled: bool = True
    grouped: bool = True
    n_features: int | None = None
    first_feature: int | None = None
    counts_fit: bool = False
    qrels: str | PathLike | None = None
    log: str | None = None
    verify: bool = True
    digests: Digests = field(default_factory=dict)

    def null(self) -> np.float32:
        """Return what a missing value becomes: NaN, which ``query_min`` replaces; infinity if it is refused.

        Raises
        ------
        ValueError
            If `missing` is not one of the rules.
        """
        if isinstance(self.missing, str):
            if self.missing in MISSING_RULES:
                return np.float32(np.inf if self.missing == "error" else np.nan)
        elif math.isfinite(self.missing) and abs(self.missing) <= float(np.finfo(np.float32).max):
            return np.float32(self.missing)
        raise ValueError(f"missing={self.missing!r}, expected 'nan', 'error', 'query_min' or a finite number")
