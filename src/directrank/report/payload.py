"""The data of the script: values of queries and tests of pairs, as compact JSON."""

from typing import Any

import numpy as np

from directrank.experiments.records import Described
from directrank.experiments.significance import per_query
from directrank.report.facts import Facts

#: A page has at most this many values of queries; beyond, measures and then queries are omitted.
MOST_VALUES = 60_000
#: Values are integers, in units of 1e-5.
UNIT = 100_000


def payload(facts: Facts) -> dict[str, Any]:
    """Return names, texts to filter by, values of queries, and pairs."""
    result = facts.result
    return {
        "methods": result.methods,
        "texts": [_text(each) for each in facts.content.methods],
        "folds": result.folds,
        "measures": facts.measures,
        "conventions": result.conventions,
        "main": facts.main,
        "start": [facts.index[each] for each in facts.ranked(facts.asked, facts.main)],
        "errors": [each for each in facts.measures if facts.result.is_error(each)],
        "significance": {each: _pairs(facts, each) for each in result.conventions},
        "queries": _queries(facts),
    }


def _text(method: Described) -> str:
    """Return the text that the filter searches: the method's label, what it does, its paper."""
    return " ".join(filter(None, (method.label, method.summary, method.paper, method.measure)))


def _pairs(facts: Facts, convention: str) -> dict[str, Any]:
    """Return the tests of a convention, a row of numbers for each pair."""
    tests = facts.content.significance.get(convention)
    if tests is None:
        return {}
    return {
        "alpha": tests.alpha,
        "level": tests.level,
        "correction": tests.correction,
        "pairs": {
            measure: [
                [
                    facts.index[pair.method], facts.index[pair.baseline],
                    *map(_rounded, (pair.difference, pair.low, pair.high)),
                    pair.wins, pair.ties, pair.losses,
                    _rounded(pair.p_randomisation), _rounded(tests.p(pair)),
                ]
                for pair in pairs
            ]
            for measure, pairs in tests.pairs.items()
        },
    }  # fmt: skip


def _rounded(value: float) -> float:
    return float(f"{value:.3g}") if abs(value) < 1e-3 else round(value, 5)


def _queries(facts: Facts) -> dict[str, Any]:
    """Return the queries shown: names, folds, relevance as ranked, and values by method."""
    methods = facts.whole
    if not methods:
        return {}
    cells = facts.result.of(methods[0])
    qid = [str(each) for cell in cells for each in cell.qid]
    fold = [index for index, cell in enumerate(cells) for _ in cell.qid]
    chosen = _chosen(facts, methods, len(qid))
    return {
        "of": len(qid),
        "qid": [qid[at] for at in chosen],
        "fold": [fold[at] for at in chosen],
        "unit": UNIT,
        "methods": [facts.index[each] for each in methods],
        "values": _values(facts, methods, chosen),
        "ranked": [_ranked(facts, each, chosen) for each in methods],
    }


def _chosen(facts: Facts, methods: list[str], n: int) -> list[int]:
    """Return the indices of the queries shown: all, or those on which methods differ most."""
    most = max(1, MOST_VALUES // (len(methods) * len(facts.result.conventions)))
    if n <= most:
        return list(range(n))
    values = np.stack([per_query(facts.result, facts.asked, facts.main, each) for each in methods])
    spread = np.nan_to_num(values.max(axis=0) - values.min(axis=0), nan=-1.0)
    return sorted(np.argsort(-spread, kind="stable")[:most].tolist())


def _values(facts: Facts, methods: list[str], chosen: list[int]) -> dict[str, dict[str, list]]:
    """Return values by convention, measure and method, of as many measures as MOST_VALUES allows."""
    conventions = facts.result.conventions
    allowed = max(1, MOST_VALUES // (len(chosen) * len(methods) * len(conventions)))

    def of(convention: str, measure: str, method: str) -> list[int | None]:
        values = per_query(facts.result, convention, measure, method)[chosen].tolist()
        return [None if np.isnan(value) else _units(value) for value in values]

    return {
        convention: {
            measure: [of(convention, measure, each) for each in methods]
            for measure in facts.measures[:allowed]
        }
        for convention in conventions
    }


def _units(value: float) -> int:
    """Return a value in units of 1e-5 that rounds to the four decimals that the value itself rounds to."""
    units = round(value * UNIT)
    if units % 10 == 5:
        units += 1 if round(value, 4) > value else -1
    return units


def _ranked(facts: Facts, method: str, chosen: list[int]) -> list[list[float]]:
    lists = [grades for cell in facts.result.of(method) for grades in cell.ranked]
    return [[int(grade) if grade == int(grade) else grade for grade in lists[at]] for at in chosen]
