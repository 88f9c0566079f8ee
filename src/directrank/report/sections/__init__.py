"""The sections of the page, in order. To add one, write its function here and a line in the tuple."""

from collections.abc import Callable
from typing import NamedTuple

from markupsafe import Markup

from directrank.report.facts import Facts
from directrank.report.sections import about, models, results, settings


class Section(NamedTuple):
    """A section: its anchor, title and function that builds its blocks; omitted if there are none."""

    id: str
    title: str
    build: Callable[[Facts], list[Markup]]


SECTIONS = (
    Section("results", "Results", results.results),
    Section("curves", "Curves", results.curves),
    Section("folds", "Fold by fold", results.folds),
    Section("queries", "Query by query", results.queries),
    Section("settings", "Settings", settings.settings),
    Section("training", "Training", models.training),
    Section("bounds", "Theory checks", models.bounds),
    Section("weights", "Feature weights", models.weights),
    Section("ties", "Ties", results.ties),
    Section("time", "Time", models.time),
    Section("data", "Data", about.data),
    Section("glossary", "Glossary", about.glossary),
    Section("reproduce", "Reproduce", about.reproduce),
)
