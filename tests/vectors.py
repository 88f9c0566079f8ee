"""Cases of measures with exact values, by enumeration of the orders of tied documents; no code of ours.

    python tests/vectors.py > src/directrank/apps/evaluation/vectors.json

Each measure is its definition over a list of grades in the order of the ranking, in fractions where it has no
logarithm. Documents with equal scores count with the mean over all their orders.
"""

import itertools
import json
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

#: Relevance and score of the documents of a query, in the order of rows.
QUERIES = {
    "one order": ([2, 0, 1, 0, 1], [5, 4, 3, 2, 1]),
    "relevant at the end": ([0, 0, 0, 1], [4, 3, 2, 1]),
    "nothing relevant": ([0, 0, 0], [3, 2, 1]),
    "everything relevant": ([1, 2, 1], [1, 3, 2]),
    "one document": ([1], [1]),
    "two tied at the top": ([0, 1, 2, 0], [4, 4, 3, 2]),
    "all tied": ([2, 0, 0, 1], [7, 7, 7, 7]),
    "ties across the cutoff": ([1, 0, 0, 2, 0], [5, 3, 3, 3, 1]),
    "high grades": ([0, 4, 1, 3], [1, 2, 3, 4]),
    "negative scores": ([1, 0, 2], [-3, -1, -2]),
    "rows in another order": ([0, 1, 0, 0, 1, 3], [1, 6, 5, 2, 4, 3]),
}
LARGEST = 4


def relevant(grades: list[int], rel: int) -> list[int]:
    return [int(grade >= rel) for grade in grades]


def precision(grades, rel=1, k=1):
    return Fraction(sum(relevant(grades, rel)[:k]), k)


def recall(grades, rel=1, k=1):
    found = relevant(grades, rel)
    return Fraction(sum(found[:k]), sum(found)) if any(found) else Fraction(0)


def success(grades, rel=1, k=1):
    return Fraction(int(any(relevant(grades, rel)[:k])))


def r_precision(grades, rel=1):
    n = sum(relevant(grades, rel))
    return precision(grades, rel, n) if n else Fraction(0)


def average_precision(grades, rel=1, k=None):
    found = relevant(grades, rel)
    total = sum(
        (Fraction(sum(found[: p + 1]), p + 1) for p in range(len(found))[:k] if found[p]), Fraction(0)
    )
    return total / sum(found) if any(found) else Fraction(0)


def reciprocal_rank(grades, rel=1, k=None):
    return next((Fraction(1, p + 1) for p, one in enumerate(relevant(grades, rel)[:k]) if one), Fraction(0))


def rank_biased_precision(grades, rel=1, p=Fraction(4, 5)):
    return (1 - p) * sum(one * p**place for place, one in enumerate(relevant(grades, rel)))


def expected_reciprocal_rank(grades, k=None):
    goes_on, total = Fraction(1), Fraction(0)
    for place, grade in enumerate(grades[:k]):
        satisfied = Fraction(2**grade - 1, 2**LARGEST)
        total += goes_on * satisfied / (place + 1)
        goes_on *= 1 - satisfied
    return total


def dcg(grades, k=None, gain=lambda grade: 2**grade - 1, discount=lambda p: 1 / math.log2(p + 1)):
    return math.fsum(gain(grade) * discount(p) for p, grade in enumerate(grades[:k], 1))


def ndcg(grades, k=None, **parts):
    ideal = dcg(sorted(grades, reverse=True), k, **parts)
    return dcg(grades, k, **parts) / ideal if ideal else 0.0


def linear(grades, k=None):
    return ndcg(grades, k, gain=lambda grade: grade)


def letor(grades, k=None):
    return ndcg(grades, k, discount=lambda p: 1.0 if p < 3 else 1 / math.log2(p))


#: Measures by their names, in the convention `standard`.
MEASURES: dict[str, Callable[[list[int]], Any]] = {
    "P@1": precision,
    "P@3": lambda grades: precision(grades, k=3),
    "P@10": lambda grades: precision(grades, k=10),
    "P(rel=2)@3": lambda grades: precision(grades, 2, 3),
    "R@2": lambda grades: recall(grades, k=2),
    "R@10": lambda grades: recall(grades, k=10),
    "Success@2": lambda grades: success(grades, k=2),
    "Rprec": r_precision,
    "AP": average_precision,
    "AP(rel=2)": lambda grades: average_precision(grades, 2),
    "AP@3": lambda grades: average_precision(grades, k=3),
    "RR": reciprocal_rank,
    "RR@2": lambda grades: reciprocal_rank(grades, k=2),
    "RBP": rank_biased_precision,
    "RBP(p=0.5)": lambda grades: rank_biased_precision(grades, p=Fraction(1, 2)),
    f"ERR(max={LARGEST})": expected_reciprocal_rank,
    f"ERR(max={LARGEST})@2": lambda grades: expected_reciprocal_rank(grades, 2),
    "DCG@3": lambda grades: dcg(grades, 3),
    "nDCG": ndcg,
    "nDCG@1": lambda grades: ndcg(grades, 1),
    "nDCG@3": lambda grades: ndcg(grades, 3),
    "nDCG@10": lambda grades: ndcg(grades, 10),
    "nDCG(dcg='log2')@3": lambda grades: linear(grades, 3),
    "nDCG(dcg='exp-letor')@3": lambda grades: letor(grades, 3),
}
#: Measures whose rule for ties and for queries without a relevant document is tried, too.
TRIED = ("AP", "RR", "P@3", "nDCG@3")


def orders(relevance: list[int], scores: list[int]) -> Iterator[list[int]]:
    """Yield the grades in every order that the scores allow."""
    levels = [
        [grade for grade, one in zip(relevance, scores, strict=True) if one == score]
        for score in sorted({*scores}, reverse=True)
    ]
    for parts in itertools.product(*map(itertools.permutations, levels)):
        yield [grade for part in parts for grade in part]


def value(measure: str, relevance: list[int], scores: list[int], ties: str) -> Any:
    """Return the value of a query by a rule for ties."""
    of = MEASURES[measure]
    if ties == "input":  # documents with equal scores stay in the order of rows
        places = sorted(range(len(scores)), key=lambda row: (-scores[row], row))
        return of([relevance[row] for row in places])
    if ties in ("best", "worst"):
        best = sorted(zip(scores, relevance, strict=True), key=lambda pair: (-pair[0], -pair[1]))
        worst = sorted(zip(scores, relevance, strict=True), key=lambda pair: (-pair[0], pair[1]))
        return of([grade for _, grade in (best if ties == "best" else worst)])
    values = [of(order) for order in orders(relevance, scores)]
    return math.fsum(values) / len(values) if isinstance(values[0], float) else sum(values) / len(values)


def case(name: str, measure: str, queries: list[str], ties: str = "expected", empty: str = "zero"):
    """Return one case: its data, the measure, its rules, and the mean over queries."""
    of_queries = [
        value(measure, *QUERIES[query], ties) for query in queries
        if empty != "skip" or any(QUERIES[query][0])
    ]  # fmt: skip
    if empty == "one":
        of_queries = [
            one if any(QUERIES[query][0]) else type(one)(1)
            for query, one in zip(queries, of_queries, strict=True)
        ]
    mean = sum(of_queries) / len(of_queries)
    return {
        "name": name,
        "measure": measure,
        "ties": ties,
        "empty": empty,
        "qid": [qid for qid, query in enumerate(queries) for _ in QUERIES[query][0]],
        "relevance": [grade for query in queries for grade in QUERIES[query][0]],
        "scores": [score for query in queries for score in QUERIES[query][1]],
        "value": float(mean),
        "exact": None if isinstance(mean, float) else str(Fraction(mean)),
    }


def cases() -> list[dict[str, Any]]:
    """Return all cases."""
    every = [case(query, measure, [query]) for query in QUERIES for measure in MEASURES]
    tied = ("two tied at the top", "all tied", "ties across the cutoff")
    every += [
        case(f"{query}, ties {ties}", measure, [query], ties)
        for query in tied for measure in TRIED for ties in ("input", "best", "worst")
    ]  # fmt: skip
    some = ["one order", "nothing relevant", "all tied"]
    every += [
        case(f"three queries, empty {empty}", measure, some, empty=empty)
        for measure in TRIED for empty in ("zero", "one", "skip")
    ]  # fmt: skip
    return every


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(one) for one in cases())
    print(f"[\n{lines}\n]")
