"""Consistency checks from files and at random, and their results as plain data and as text."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directrank.contracts import Measure, Surrogate
from directrank.diagnostics.consistency import Verdict, check, merged, random_distribution
from directrank.errors import DataError
from directrank.storage.strict_json import StrictJSONError, parse

Outcomes = Sequence[tuple[float, Sequence[float]]]

FORM = 'expected [{"probability": 0.2, "relevance": [4, 0, 0]}, …]'


class Checked(NamedTuple):
    """A consistency check: the surrogate, the measure, the distribution and the verdict."""

    surrogate: Surrogate
    measure: Measure
    outcomes: Outcomes
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; documents are numbered from 1."""
        verdict = self.verdict
        return {
            "surrogate": self.surrogate.name,
            "measure": self.measure.name,
            "outcomes": [{"probability": p, "relevance": list(y)} for p, y in self.outcomes],
            "scores": verdict.scores,
            "ranking": [i + 1 for i in verdict.ranking],
            "value": verdict.value,
            "best_ranking": [i + 1 for i in verdict.best_ranking],
            "best_value": verdict.best_value,
            "regret": verdict.regret,
            "consistent": verdict.consistent,
            "supervision": verdict.supervision,
        }

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and rows of text: one row a document."""
        head, columns = ["document", "score"], [[f"{score:.4f}" for score in self.verdict.scores]]
        if self.verdict.supervision is not None:
            head.append("expected standard form")
            columns.append([f"{each:.4f}" for each in self.verdict.supervision])
        return head, [[str(i), *row] for i, row in enumerate(zip(*columns, strict=True), start=1)]

    def lines(self) -> list[str]:
        """Return sentences: the order of the minimiser, the best order, and the verdict."""
        name, verdict = self.measure.name, self.verdict
        best = " > ".join(str(i + 1) for i in verdict.best_ranking)
        conclusion = f"regret {verdict.regret:.4f}: not consistent with {name}"
        if verdict.consistent:
            conclusion = "no regret: this distribution does not refute consistency"
        return [
            f"its order   {_order_with_ties(verdict.scores)}: expected {name} {verdict.value:.4f}",
            f"best order  {best}: expected {name} {verdict.best_value:.4f}",
            conclusion,
        ]


def check_random(surrogate: Surrogate, measure: Measure, times: int, seed: int) -> list[Checked]:
    """Return the checks of random distributions, the largest regret first."""
    rng = np.random.default_rng(seed)
    tried = [random_distribution(rng) for _ in range(times)]
    checks = [Checked(surrogate, measure, each, check(surrogate, measure, each)) for each in tried]
    return sorted(checks, key=lambda each: -each.verdict.regret)


def read_distribution(path: Path) -> list[tuple[float, list[float]]]:
    """Return probability and relevance of each outcome of a JSON file.

    Raises
    ------
    DataError
        With the file, the outcome and the expected form.
    """
    try:
        written = parse(path.read_bytes())
    except StrictJSONError as error:
        raise DataError(f"{path}: not JSON: {error}") from None
    if not isinstance(written, list) or not written:
        raise DataError(f"{path}: {FORM}")
    return [_outcome(each, f"{path}: outcome {number}") for number, each in enumerate(written, start=1)]


def _outcome(written: Any, where: str) -> tuple[float, list[float]]:
    if not isinstance(written, dict) or written.keys() != {"probability", "relevance"}:
        raise DataError(f"{where}: {FORM}")
    probability, relevance = written["probability"], written["relevance"]
    grades: list[Any] = relevance if isinstance(relevance, list) else [None]
    if not all(type(each) in (int, float) for each in [probability, *grades]):
        raise DataError(f"{where}: probability and relevance are numbers; {FORM}")
    return float(probability), [float(each) for each in grades]


def outcomes_text(outcomes: Outcomes, digits: str = "g") -> str:
    """Return a distribution as text: the relevance of each outcome and its probability."""
    return "; ".join(f"({', '.join(f'{y:g}' for y in grades)}) {p:{digits}}" for p, grades in outcomes)


def _order_with_ties(scores: np.ndarray) -> str:
    ranks = merged(scores)
    tied = (np.flatnonzero(ranks == rank) for rank in sorted(set(ranks), reverse=True))
    return " > ".join(" = ".join(str(i + 1) for i in block) for block in tied)
