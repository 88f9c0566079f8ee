"""What the words of the page mean, for somebody who has never met them."""

from typing import Any

from directrank.measures import CONVENTIONS, parse_measure
from directrank.report.blocks import Heading, Section, Terms, note, plain
from directrank.report.facts import Facts
from directrank.report.words import meaning

STATISTICS = (
    ("mean", "The plain mean of the folds' values; a fold's value is the mean over its queries."),
    (
        "interval",
        "Where the mean would lie in 95 of 100 cases if other queries like these had been drawn (bootstrap).",
    ),
    (
        "p",
        "How often chance alone would make a difference as large, were the two methods equally good "
        "(Fisher's randomisation test: each query's difference might as well have had the other sign).",
    ),
    (
        "correction",
        "With many pairs some look different by chance; Holm's correction bounds the probability of any such "
        "error, that of Benjamini and Hochberg their share.",
    ),
)
PARTS = (
    ("grade", "How relevant a document is to its query; 0 is irrelevant."),
    (
        "train, vali, test",
        "Three sets of queries without overlap: to learn on, to choose settings on, and to be judged on.",
    ),
    ("fold", "One way of dividing all queries into these three."),
)


def build(facts: Facts) -> list[Any]:
    """Return the words: measures, conventions, statistics, data."""
    measures = [parse_measure(name).bare_name for name in facts.result.measures]
    blocks = [
        Heading("Measures"),
        Terms([(word, meaning(word)) for word in dict.fromkeys(measures)]),
        Heading("Conventions"),
        plain(
            "Tools disagree on details, such as the order of documents with equal scores; a convention fixes "
            "them all."
        ),
        Terms([(name, CONVENTIONS[name].explanation) for name in facts.result.conventions]),
    ]
    computed = _computed(facts)
    if computed:
        blocks.append(note(f"Measures are called as they were asked for. In full: {'; '.join(computed)}."))
    return [*blocks, Heading("Statistics"), Terms(STATISTICS), Heading("Data"), Terms(PARTS)]


def _computed(facts: Facts) -> list[str]:
    """Return what was computed under a measure's name, where that is another."""
    whole = next((cell for cell in facts.result.cells if "error" not in cell), None)
    if whole is None:
        return []
    return [
        f"{asked} under {convention} is {computed}"
        for convention in facts.result.conventions
        for asked, computed in whole["computed"][convention].items()
        if asked != computed
    ]


SECTION = Section("words", "What the words mean", build)
