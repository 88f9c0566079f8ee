"""Consistency checks at random, and distributions from files and as text."""

from pathlib import Path
from typing import Any

import numpy as np

from directrank.contracts import Measure, Surrogate
from directrank.diagnostics.consistency import Outcomes, Verdict, check, random_distribution
from directrank.errors import DataError
from directrank.storage.strict_json import StrictJSONError, parse

#: The longest file of a distribution, in bytes.
LARGEST = 2**20
FORM = 'expected [{"probability": 0.2, "relevance": [4, 0, 0]}, …]'


def check_random(surrogate: Surrogate, measure: Measure, times: int, seed: int) -> list[Verdict]:
    """Return the verdicts on random distributions, the largest regret first."""
    rng = np.random.default_rng(seed)
    tried = [random_distribution(rng) for _ in range(times)]
    return sorted((check(surrogate, measure, each) for each in tried), key=lambda each: -each.regret)


def read_distribution(path: Path) -> list[tuple[float, list[float]]]:
    """Return probability and relevance of each outcome of a JSON file."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise DataError(f"{path}: longer than {LARGEST} bytes; {FORM}")
        written = parse(content)
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
