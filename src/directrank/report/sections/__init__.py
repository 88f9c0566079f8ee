"""The sections of the page, in order. A new one is a file here and a line in the tuple."""

from directrank.report.sections import cost, data, words
from directrank.report.sections import reproduce as again
from directrank.report.sections.models import bounds, settings, training, weights
from directrank.report.sections.results import curves, folds, queries, ties
from directrank.report.sections.results import table as results

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
