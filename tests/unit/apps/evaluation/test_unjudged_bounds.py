"""Bounds over unjudged documents against every assignment of grades, for up to six documents."""

import itertools

import numpy as np
import pytest

from directrank import evaluate
from directrank.data.queries import Queries

NAMES = [
    "nDCG", "nDCG@2", "nDCG(dcg='log2')@3", "nDCG(dcg='letor')", "DCG@3", "AP", "AP@2", "AP(rel=2)",
    "AP(denominator='min')@3", "P@2", "RR", "R@2", "Rprec", "RBP", "Success@2", "ERR(max=2)", "ERR(max=2)@2",
    "SetP", "SetR", "SetF", "SetAP", "NumRel",
]  # fmt: skip
GRADES = (0.0, 1.0, 2.0)


def cases():
    """Queries of up to six documents: grades with NaN for no judgment, scores with ties, and who is held."""
    rng = np.random.default_rng(3)
    for _ in range(150):
        n = rng.integers(1, 7)
        grades = rng.choice([0.0, 0.0, 1.0, 2.0], n)
        grades[rng.permutation(n)[: rng.integers(0, min(n, 4) + 1)]] = np.nan
        held = np.isnan(grades) | (rng.random(n) < 0.8)
        yield grades, rng.integers(0, rng.integers(2, 7), n).astype(float), held
    # A document of grade 1 after an unjudged one is best with a grade between.
    yield np.array([np.nan, 2.0, np.nan, 1.0, 0.0]), np.array([5.0, 4, 3, 2, 1]), np.ones(5, bool)
    yield np.array([1.0, np.nan, np.nan, 2.0]), np.array([4.0, 3, 2, 1]), np.ones(4, bool)


def queries_of(grades):
    order = np.argsort(-np.where(np.isnan(grades), -1, grades), kind="stable")
    judged = np.array([np.isfinite(grades).sum()])
    return Queries(
        np.nan_to_num(grades)[order], np.array([0, len(grades)]), order, np.array([1]), judged=judged
    )


def every_assignment(grades):
    """The grades with each assignment to documents that have none, a row each."""
    unknown = np.flatnonzero(np.isnan(grades))
    given = np.array(list(itertools.product(GRADES, repeat=len(unknown))))
    filled = np.tile(grades, (len(given), 1))
    filled[:, unknown] = given
    return filled


@pytest.mark.filterwarnings("ignore:.*no document has a grade of:UserWarning")
@pytest.mark.parametrize("ties", ["expected", "input"])
def test_equals_every_assignment_of_grades(ties):
    made, first = [*cases()], 0
    assignments = [every_assignment(grades) for grades, _, _ in made]
    counts = [len(each) for each in assignments]
    values = evaluate(  # a query for each assignment
        np.concatenate([each.ravel() for each in assignments]),
        np.concatenate([np.tile(scores, n) for (_, scores, _), n in zip(made, counts, strict=True)]),
        np.repeat(np.arange(sum(counts)), [each.shape[1] for each in assignments for _ in each]),
        measures=NAMES,
        retrieved=np.concatenate([np.tile(held, n) for (*_, held), n in zip(made, counts, strict=True)]),
        max_grade=2.0,
        ties=ties,
        per_query=True,
    ).per_query
    for (grades, scores, held), n in zip(made, counts, strict=True):
        found = evaluate(
            queries_of(grades),
            scores,
            measures=NAMES,
            retrieved=held,
            unjudged=True,
            max_grade=2.0,
            ties=ties,
        )
        for name in NAMES:
            of_case = values[name][first : first + n]
            expected = [min(of_case), max(of_case)]
            assert found.unjudged[name] == pytest.approx(expected, rel=1e-12, abs=1e-12), (
                name,
                grades,
                scores,
            )
        first += n
