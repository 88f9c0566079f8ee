"""The sections of the page, in order. To add one, write a file here and a line in the tuple."""

from directrank.report.sections import data, glossary, reproduce, time
from directrank.report.sections.models import bounds, settings, training, weights
from directrank.report.sections.results import curves, folds, queries, table, ties

SECTIONS = tuple(
    module.SECTION
    for module in (
        table, curves, folds, queries, settings, training, bounds, weights, ties, time, data, glossary,
        reproduce,
    )
)  # fmt: skip
