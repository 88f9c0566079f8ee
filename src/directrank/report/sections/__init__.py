"""The sections of the page, in order. To add one, write a file here and a line in the tuple."""

from collections.abc import Callable
from typing import NamedTuple

from markupsafe import Markup

from directrank.report.facts import Facts
from directrank.report.sections import data, glossary, reproduce, time
from directrank.report.sections.models import bounds, settings, training, weights
from directrank.report.sections.results import curves, folds, queries, table, ties


class Section(NamedTuple):
    """A section: its anchor, title and function that builds its blocks; omitted if there are none."""

    id: str
    title: str
    build: Callable[[Facts], list[Markup]]


SECTIONS = (
    Section("results", "Results", table.build),
    Section("curves", "Curves", curves.build),
    Section("folds", "Fold by fold", folds.build),
    Section("queries", "Query by query", queries.build),
    Section("settings", "Settings", settings.build),
    Section("training", "Training", training.build),
    Section("bounds", "Theory checks", bounds.build),
    Section("weights", "Feature weights", weights.build),
    Section("ties", "Ties", ties.build),
    Section("time", "Time", time.build),
    Section("data", "Data", data.build),
    Section("glossary", "Glossary", glossary.build),
    Section("reproduce", "Reproduce", reproduce.build),
)
