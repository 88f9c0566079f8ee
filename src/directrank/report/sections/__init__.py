"""The sections of the page, in order. A new one is a file here and a line in the tuple."""

from directrank.report.sections import (
    again,
    bounds,
    cost,
    curves,
    data,
    folds,
    queries,
    results,
    settings,
    ties,
    training,
    weights,
    words,
)

SECTIONS = (
    results.SECTION,
    curves.SECTION,
    folds.SECTION,
    queries.SECTION,
    settings.SECTION,
    training.SECTION,
    bounds.SECTION,
    weights.SECTION,
    ties.SECTION,
    cost.SECTION,
    data.SECTION,
    words.SECTION,
    again.SECTION,
)
