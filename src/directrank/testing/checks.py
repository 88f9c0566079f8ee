"""Checks, their results, and small collections to run them on."""

import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from directrank.data.grouping import group_rows
from directrank.data.groups import QueryGroups
from directrank.data.queries import Queries

#: Checks one property of an object: raises if it fails, and may return a remark. The first line of its
#: docstring is the property, in words.
Check = Callable[[Any], str | None]


class FailedCheckError(AssertionError):
    """An object fails a check; the message says where."""


@dataclass(frozen=True)
class CheckResult:
    """Result of one check; the message is why it failed, or a remark."""

    check: str
    passed: bool
    message: str = ""


def need(holds: object, problem: str) -> None:
    """Raise `FailedCheckError` unless a condition holds."""
    if not holds:
        raise FailedCheckError(problem)


def words_of(check: Check) -> str:
    """Return what a check checks, in words."""
    line = (check.__doc__ or check.__name__).splitlines()[0].rstrip(".")
    return line[0].lower() + line[1:]


def run_checks(thing: object, checks: Sequence[Check]) -> list[CheckResult]:
    """Run checks on an object; errors of its code are failures, with their file and line."""
    results, library = [], (str(Path(__file__).parents[2]), sys.prefix, sys.base_prefix)
    for check in checks:
        passed, message = True, ""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                message = check(thing) or ""
            except FailedCheckError as error:
                passed, message = False, str(error)
            except Exception as error:  # whatever code of a user raises
                lines = traceback.extract_tb(error.__traceback__)
                lines_of_caller = [frame for frame in lines if not frame.filename.startswith(library)]
                place = (
                    f"{lines_of_caller[-1].filename}:{lines_of_caller[-1].lineno}: "
                    if lines_of_caller
                    else ""
                )
                passed, message = False, f"{place}{type(error).__name__}: {error}"
        results.append(CheckResult(words_of(check), passed, message))
    return results


@dataclass(frozen=True)
class Case:
    """Rows of queries, in an order where queries are contiguous."""

    relevance: np.ndarray
    scores: np.ndarray
    qid: np.ndarray


def random_case(
    rng: np.random.Generator,
    n_queries: int,
    max_docs: int,
    max_grade: int = 4,
    tie_levels=(1, 2, 4, 1000),
) -> Case:
    """Return many queries at once, with every kind in them."""
    sizes = rng.integers(1, max_docs + 1, n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    largest = rng.integers(0, max_grade + 1, n_queries)  # 0: an empty query
    relevance = np.minimum(rng.integers(0, max_grade + 1, len(qid)), largest[qid]).astype(float)
    levels = np.asarray(tie_levels)[rng.integers(0, len(tie_levels), n_queries)]
    # Few significant bits, so that rounding to float32 changes nothing.
    scores = np.floor(rng.random(len(qid)) * levels[qid]) / 8.0
    return Case(relevance, scores, qid)


@cache
def collection(seed: int = 0, n_queries: int = 200, max_docs: int = 9) -> tuple[Queries, np.ndarray, Case]:
    """Return queries, scores in their inner order, and the rows that they were made of."""
    case = random_case(np.random.default_rng(seed), n_queries, max_docs, tie_levels=(1, 3, 1000))
    queries, order = group_rows(case.relevance, case.qid)
    return queries, case.scores[order], case


def some_queries(seed: int, sizes=(6, 9, 4, 7, 12, 5), grades: int = 5) -> Queries:
    """Return queries with many grades, each with relevant and irrelevant documents."""
    rng = np.random.default_rng(seed)
    relevance = np.concatenate([np.append(rng.integers(0, grades, n - 2), [0, 2]) for n in sizes])
    return group_rows(relevance.astype(float), np.repeat(np.arange(len(sizes)), sizes))[0]


def idle_queries() -> Queries:
    """Return, between two queries that can teach, some with one document, one grade or nothing relevant."""
    lists = ([2, 1, 0, 0, 1, 3], [1], [0], [0, 0, 0], [2, 2], [1, 2, 4], [0, 1, 0, 2, 0])
    qid = np.repeat(np.arange(len(lists)), [len(grades) for grades in lists])
    return group_rows(np.concatenate(lists).astype(float), qid)[0]


def random_scores(queries: Queries, seed: int, spread: float = 1.0) -> np.ndarray:
    """Return normal scores."""
    return np.random.default_rng(seed).normal(size=queries.n_docs) * spread


def groups(
    n_queries: int = 12, n_docs: int = 15, n_features: int = 4, seed: int = 0, noise: float = 1.0
) -> QueryGroups:
    """Return documents with features that say something about their three grades."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * n_docs, n_features))
    truth = X @ np.linspace(1.0, -0.5, n_features) + noise * rng.normal(size=len(X))
    relevance = np.digitize(truth, [0.5, 1.5]).astype(float)
    return QueryGroups(X, relevance, np.repeat(np.arange(n_queries), n_docs))


def slope(function, x, step: float = 1e-3) -> np.ndarray:
    """Return fourth-order differences of a scalar function of a vector."""
    x = np.asarray(x, dtype=float)
    gradient = np.empty_like(x)
    for i in range(len(x)):
        e = np.zeros_like(x)
        e[i] = step
        near, far = function(x + e) - function(x - e), function(x + 2 * e) - function(x - 2 * e)
        gradient[i] = (8 * near - far) / (12 * step)
    return gradient
