"""Coverage: which share of the query a document has."""

import numpy as np

from directrank.text.features.definitions.definition import Definition
from directrank.text.features.matches import Matches


def coverage(m: Matches) -> np.ndarray:
    """Return the share of the different terms of the query that the document has."""
    return m.plain_sum(np.ones(len(m.pair))) / np.maximum(m.query_terms, 1.0)


def idf_coverage(m: Matches) -> np.ndarray:
    """Return the same with terms weighted by idf; 0 if no term has any."""
    whole = m.idf_of_query
    return np.divide(m.plain_sum(m.idf), whole, out=np.zeros(len(whole)), where=whole > 0)


COVERAGE = (
    Definition("coverage", "share of the terms of q that are in d", coverage),
    Definition("idf_coverage", "share of the idf of the terms of q that are in d", idf_coverage),
)
