"""Queries for hypothesis: ties, nothing relevant, one grade, one document, extreme scores."""

import numpy as np
from hypothesis import strategies as st

from directrank.testing.checks import Case, random_case

__all__ = ["EXTREME_SCORES", "Case", "cases", "one_query", "random_case"]

EXTREME_SCORES = (0.0, -0.0, 5e-324, -1e308, 1e308, np.inf, -np.inf, 1.0, np.nextafter(1.0, 2.0))


@st.composite
def one_query(draw, max_docs=6, max_grade=4):
    """Relevance and scores of one query."""
    n = draw(st.integers(1, max_docs))
    grade = st.integers(0, max_grade)
    relevance = draw(
        st.one_of(
            st.lists(grade, min_size=n, max_size=n),  # anything
            st.just([0] * n),  # nothing relevant
            grade.map(lambda y: [y] * n),  # one grade
            st.permutations([0] * (n - 1) + [max_grade]),  # a single relevant document
        )
    )
    score = draw(
        st.sampled_from(
            (
                st.integers(0, 2).map(float),  # many ties
                st.just(0.5),  # all tied
                st.floats(-3.0, 3.0),  # few ties
                st.sampled_from(EXTREME_SCORES),
            )
        )
    )
    scores = draw(st.lists(score, min_size=n, max_size=n))
    return np.array(relevance, dtype=float), np.array(scores)


@st.composite
def cases(draw, max_queries=5, max_docs=6, max_grade=4):
    """Some queries, as rows."""
    queries = draw(st.lists(one_query(max_docs, max_grade), min_size=1, max_size=max_queries))
    relevance, scores = (np.concatenate(column) for column in zip(*queries, strict=True))
    qid = np.repeat(np.arange(len(queries)), [len(y) for y, _ in queries])
    return Case(relevance, scores, qid)
