"""The cases that `python -m benchmarks` measures, a topic a file; each file has a tuple `CASES`."""

from importlib import import_module

from benchmarks.case import Case

TOPICS = (
    "passes", "gradients", "evaluation", "binning", "readers", "scorers", "serving", "scaling", "twins",
    "fits", "solvers", "libraries", "texts", "clicks", "cutoffs", "wide", "growth", "trees", "boosting",
)  # fmt: skip


def load_cases() -> tuple[list[Case], dict[str, str]]:
    """Return all cases, and why the file of a topic cannot be imported, by topic."""
    cases, problems = [], {}
    for topic in TOPICS:
        try:
            cases.extend(import_module(f"benchmarks.cases.{topic}").CASES)
        except ImportError as error:
            problems[topic] = str(error)
    return cases, problems
