"""How to construct each registered surrogate, and queries to try it on; shared by two folders of tests."""

import inspect
from functools import cache

import pytest

from directrank import solvers, surrogates
from directrank.apps.evaluation.measures import Bpref, InfAP, Judged, RBPResidual
from directrank.apps.evaluation.measures.retrieved_set import RetrievedSet
from directrank.apps.papers import CosineDistance, NoisyNeighbours, Perceptron
from directrank.contracts import ORACLES, QueryValues, ValueAndGradient
from directrank.measures import DCG, MEASURES, Success, parse_measure
from directrank.surrogates import gain_difference
from directrank.testing import of_surrogates
from directrank.testing.suite import checks_of_surrogate
from groups import in_turn

__all__ = [
    "ORACLES",
    "SOLVERS",
    "SURROGATES",
    "accepted",
    "checks",
    "differentiable",
    "every",
    "examples",
    "examples_of",
    "measures",
    "per_query",
]

#: Those of the core, and those of papers.
SURROGATES = (*surrogates.SURROGATES, CosineDistance, NoisyNeighbours)
SOLVERS = (*solvers.SOLVERS, Perceptron)


@cache
def measures():
    """Every measure that one trains for, whole and, where it takes one, with a cutoff."""
    names = []
    for measure in MEASURES:
        # Beyond 1, of judgments that are missing, of no ranking, or of subtopics.
        others = not measure.bounded or measure.reads_subtopics or issubclass(measure, RetrievedSet)
        if others or measure in (DCG, Bpref, InfAP, Judged, RBPResidual):
            continue
        word = measure.bare_name + ("(max=4)" if measure.bare_name.endswith("ERR") else "")
        if measure.cutoff_is() != "required":
            names.append(word)
        if measure.cutoff_is() != "none":
            # Lists that are tried have few irrelevant documents, and Success@k then is 1 for every ranking.
            names.append(f"{word}@{1 if measure is Success else 3}")
    return [parse_measure(name) for name in names]


def accepted(make):
    """The surrogate of every measure that it does not refuse by type."""
    taken = []
    for measure in measures():
        try:
            taken.append(make(measure))
        except TypeError:
            continue
    return taken


#: How to construct surrogates that have more parameters than a measure, by class name: functions from the
#: class to examples.
EXAMPLES = {
    "TypeTwoBound": lambda cls: [
        *accepted(cls),
        cls(parse_measure("nDCG@3"), grades="all", feature_map="pairs"),
    ],
    # Where a ranking is right or wrong and nothing between, the working-set bound is convex.
    "WorkingSetBound": lambda cls: [
        *(each for each in accepted(cls) if each.measure.bare_name not in ("WTA", "Success", "ZeroOne")),
        cls(parse_measure("AP"), margin="logistic"),
    ],
    "SmoothedPositions": lambda cls: accepted(lambda measure: cls(measure, steepness=3.0, truncation=0.7)),
    "SoftmaxCrossEntropy": lambda cls: [cls(), cls("gain")],
    "GainCrossEntropy": lambda cls: [cls(), cls(1.0), cls("uniform", seed=3)],
    "CosineDistance": lambda cls: [cls(), cls("gain")],
    "GaussianNoise": lambda cls: accepted(lambda measure: cls(measure, noise=0.5)),
    "ExponentialPairs": lambda cls: [cls(), cls(normalise=True)],
    "Fidelity": lambda cls: [cls(), cls(normalise=False)],
    "OrderPreserving": lambda cls: [*accepted(cls), cls(parse_measure("nDCG"), normalise=True)],
    "Pairwise": lambda cls: [
        cls(),
        cls(margin="logistic"),
        cls(normalise=True, weight=gain_difference),
    ],
    "PairwiseHinge": lambda cls: [cls(), cls(normalise=True, weight=gain_difference)],
    "SwapWeighted": lambda cls: [
        # At tied documents the loss with the weights of P@3 is above 1 − P@3 on all the short lists tried.
        *(each for each in accepted(lambda m: cls(m, weights="swap")) if each.measure.name != "P@3"),
        cls(parse_measure("nDCG")),
        cls(parse_measure("nDCG@3"), weights="swap", distance=True),
        cls(parse_measure("AP"), weights="swap", distance=True),
    ],
    "NoisyNeighbours": lambda cls: accepted(lambda measure: cls(measure, permutations=4, seed=5)),
    "PolicyMeasure": lambda cls: accepted(lambda measure: cls(measure, samples=4, seed=5)),
}


def examples(offering=None):
    """Return a decorator: a test of examples that offer an oracle; in the first group, of one a class."""
    families = [
        [each for each in examples_of(cls) if offering is None or offering in each.offers]
        for cls in SURROGATES
        if offering is None or offering in cls.offers
    ]
    return in_turn("surrogate", families, ids=lambda each: each.name)


def examples_of(cls):
    """Examples of one surrogate: those of `EXAMPLES`, or it alone, or that of every measure it takes."""
    if cls.__name__ in EXAMPLES:
        return EXAMPLES[cls.__name__](cls)
    parameters = inspect.signature(cls).parameters
    named = [
        parameter for parameter in parameters.values() if parameter.kind == parameter.POSITIONAL_OR_KEYWORD
    ]
    if {parameter.name for parameter in named if parameter.default is parameter.empty} - {"measure"}:
        raise LookupError(f"{cls.__name__} is registered but never tested: add to EXAMPLES in {__file__}")
    found = accepted(cls) if "measure" in parameters else [cls()]
    assert found, f"{cls.__name__} takes no measure: add to EXAMPLES in {__file__} how to construct it"
    return found


def checks():
    """Return a decorator: a test of every example with every check of it.

    In the first group every class passes every check, and every example passes one or more.
    """
    all_checks = (
        *of_surrogates.VALUED, *of_surrogates.DIFFERENTIABLE, *of_surrogates.BOUND,
        of_surrogates.hessian_is_the_slope_of_the_gradient,
        of_surrogates.curvature_bounds_the_second_derivative,
    )  # fmt: skip
    cases = []
    for cls in SURROGATES:
        found = examples_of(cls)
        for j, check in enumerate(all_checks):
            makers = [each for each in found if check in checks_of_surrogate(each)]
            step = min(len(makers), len(all_checks))
            for i, surrogate in enumerate(makers):
                marks = [pytest.mark.heavy] if (i - j) % step else []
                name = f"{surrogate.name}-{check.__name__}"
                cases.append(pytest.param(surrogate, check, id=name, marks=marks))
    return pytest.mark.parametrize(("surrogate", "check"), cases)


every = examples()
differentiable = examples(ValueAndGradient)
per_query = examples(QueryValues)
