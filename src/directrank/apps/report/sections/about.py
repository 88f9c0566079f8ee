"""The data, the words of the page, and how to get the same numbers again."""

import shlex
from collections.abc import Sequence

from markupsafe import Markup

from directrank.apps.evaluation import CONVENTIONS
from directrank.apps.experiments.store.records import FoldFiles
from directrank.apps.report.blocks import (
    Cell,
    Row,
    details,
    grid,
    heading,
    named,
    note,
    paragraph,
    terms,
    warned,
)
from directrank.apps.report.charts import element
from directrank.apps.report.facts import Facts
from directrank.files import PARTS


def data(facts: Facts) -> list[Markup]:
    """Return the findings, and every part of every fold."""
    check = facts.content.data_check
    counted = ["queries", "documents", *(["features"] if facts.trained else [])]
    size = f"{check.n_queries} queries, {check.n_docs} documents"
    size += f", {check.n_features} features" if facts.trained else ""
    if check.lines:
        remarks = warned(f"Findings of the data check ({check.of}: {size})", check.lines)
    else:
        remarks = paragraph(f"The data check found no problem in {check.of}: {size}.")
    rows = [row for fold in facts.content.folds for row in _rows(facts, fold, counted)]
    columns = ["fold", "part", *counted, "documents by grade", "SHA-256 of the data"]
    sets = "Training, validation and test set of every fold" if facts.trained else "The judged documents"
    table = grid(sets, columns, rows)
    how = [paragraph(f"{line}.") for line in facts.content.reading]
    return [remarks, *how, details("Sizes, grades and checksums of every set", table)]


def _rows(facts: Facts, fold: FoldFiles, counted: Sequence[str]) -> list[Row]:
    parts = next(cell.parts for cell in facts.content.cells if cell.fold == fold.name)
    rows = []
    for name in (part for part in PARTS if part in parts):
        part = parts[name]
        grades = ", ".join(f"{grade}: {count}" for grade, count in part.relevance.items())
        digest = fold.sha256.get(name, "")
        sizes = [Cell(str(getattr(part, count)), getattr(part, count)) for count in counted]
        title = str(fold.files.get(name, ""))
        cells = [Cell(fold.name), Cell(name, title=title), *sizes, Cell(grades, tone="long")]
        rows.append(Row([*cells, Cell(digest[:16], tone="code", title=digest)]))
    return rows


STATISTICS = (
    ("mean", "The plain mean over folds; the value of a fold is the mean over its test queries."),
    (
        "interval",
        "Where the mean would lie in 95 of 100 cases if other queries like these had been drawn (bootstrap).",
    ),
    (
        "p",
        "How often chance alone would make a difference as large, were the two methods equally good "
        "(Fisher's randomisation test: the sign of each query's difference is random).",
    ),
    (
        "correction",
        "Among many pairs, some differ by chance. Holm's correction bounds the probability of any such "
        "error, that of Benjamini and Hochberg the share of such errors. It covers the pairs of one "
        "measure, or of all (--family all).",
    ),
)
DATA = (
    ("grade", "How relevant a document is to its query; 0 is irrelevant."),
    (
        "train, vali, test",
        "Three disjoint sets of queries: for training, for selecting the settings, and for the final test.",
    ),
    ("fold", "One division of all queries into these three sets."),
)


def glossary(facts: Facts) -> list[Markup]:
    """Return the definitions of measures, conventions, statistics and data."""
    measures = [facts.content.meaning(name) for name in facts.result.measures]
    blocks = [
        heading("Measures"),
        terms([*dict(measures).items()]),
        heading("Conventions"),
        paragraph(
            "Tools disagree on details, such as the order of documents with equal scores. A convention fixes "
            "them all."
        ),
        terms([(name, CONVENTIONS[name].explanation) for name in facts.result.conventions]),
    ]
    computed = [
        f"{definition} under {name}"
        for name in facts.result.conventions
        for definition in facts.result.computed(name)
    ]
    if computed:
        blocks.append(
            note(f"The page shows the names of measures as requested. In full: {'; '.join(computed)}.")
        )
    return [
        *blocks,
        heading("Statistics"),
        terms(STATISTICS),
        heading("Data"),
        terms(DATA if facts.trained else DATA[:1]),
    ]


def reproduce(facts: Facts) -> list[Markup]:
    """Return the command, the options and the environment."""
    content = facts.content
    command = shlex.join(content.command)
    blocks = [_code(command)] if command else []
    if not facts.trained:
        return [*blocks, terms(sorted(content.environment.items()))]
    by_clicks = facts.result.by_clicks is not None
    won = None if by_clicks else facts.result.winner()
    saving = []
    if won is not None and won.command:
        saving = [
            paragraph(
                f"The method of directrank with the highest mean validation {content.select_by} is ",
                named(won.label),
                ". To train it and save the model:",
            ),
            _code(won.command),
        ]
    options = [
        ("settings selected by", str(content.select_by)),
        ("search", content.search),
        ("refit on train and vali", "yes" if content.refit else "no"),
        ("missing values", str(content.missing)),
        ("seeds", ", ".join(map(str, content.seeds))),
    ]
    return [
        *blocks,
        paragraph(
            "Rerun the same command to resume; finished work is reused. Files in the same folder: "
            + (
                "results.csv and table.txt have the rows, results.json everything."
                if by_clicks
                else "results.csv has the values of the requested convention with all their digits, "
                "results.standard.csv those of the standard convention, significance.csv every test, "
                "results.json everything."
            )
        ),
        terms([*options, *sorted(content.environment.items())]),
        *saving,
    ]


def _code(command: str) -> Markup:
    return element("pre", {"tabindex": 0}, element("code", {}, command))
