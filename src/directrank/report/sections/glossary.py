"""The words of the page, defined for a newcomer."""

from markupsafe import Markup

from directrank.experiments.tables.own_measures import meaning
from directrank.measures import CONVENTIONS
from directrank.report.blocks import heading, note, paragraph, terms
from directrank.report.facts import Facts

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
        "error, that of Benjamini and Hochberg the share of such errors. The correction does not cover "
        "testing several measures.",
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


def build(facts: Facts) -> list[Markup]:
    """Return the definitions of measures, conventions, statistics and data."""
    measures = [meaning(facts.summary, name) for name in facts.result.measures]
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
        f"{each} under {name}" for name in facts.result.conventions for each in facts.result.computed(name)
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
