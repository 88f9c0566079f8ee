"""The test suite: every check of what a plug-in adds."""

from dataclasses import dataclass, field
from typing import Any

from directrank.contracts import Curvature, HessianVector, Measure, Solver, Surrogate, ValueAndGradient
from directrank.estimators.method import configured_method
from directrank.measures import AP
from directrank.measures.capabilities import PositionDifferentiable
from directrank.measures.families.definition import Definition
from directrank.plugins import PlugIn, instance_of, kind_of, methods_of
from directrank.testing import (
    of_measures,
    of_rankers,
    of_solvers,
    of_surrogates,
)
from directrank.testing.checks import Check, CheckResult, run_checks

#: The cutoff at which a measure is tried that can have one.
CUTOFF = 3


@dataclass(frozen=True)
class Report:
    """Results of all checks of one object, such as the ``measure`` ``Patience``."""

    kind: str
    name: str
    results: list[CheckResult]
    notes: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(result.passed for result in self.results)


def check_plugin(plugin: PlugIn) -> list[Report]:
    """Run every check of what a plug-in adds: its measures, surrogates, solvers and methods."""
    return [report for thing in plugin.things for report in _reports(thing, plugin.origin)]


def checks_of_measure(measure: Measure) -> tuple[Check, ...]:
    """Return the checks of a measure."""
    smooth = isinstance(measure, PositionDifferentiable)
    return (*of_measures.CHECKS, *(of_measures.SMOOTH if smooth else ()))


def checks_of_surrogate(surrogate: Surrogate) -> tuple[Check, ...]:
    """Return the checks of a surrogate, by the oracles that it offers."""
    checks = of_surrogates.EVERY
    if of_surrogates.has_a_value(surrogate):
        checks += of_surrogates.VALUED
    if ValueAndGradient in surrogate.offers:
        checks += (*of_surrogates.DIFFERENTIABLE, *of_surrogates.BOUND)
    if HessianVector in surrogate.offers:
        checks += (of_surrogates.hessian_is_the_slope_of_the_gradient,)
    if Curvature in surrogate.offers:
        checks += (of_surrogates.curvature_bounds_the_second_derivative,)
    return checks


def check_measure(measure: Measure) -> Report:
    """Run every check of a measure."""
    scaled = measure.with_largest_grade(4)
    results = run_checks(scaled, checks_of_measure(scaled))
    results += run_checks(measure, (of_measures.lies_between_zero_and_one,))
    notes = [of_measures.best_value(scaled)] if results[0].passed else []
    return Report("measure", measure.name, results, notes)


def check_surrogate(surrogate: Surrogate) -> Report:
    """Run every check of a surrogate."""
    return Report("surrogate", surrogate.name, run_checks(surrogate, checks_of_surrogate(surrogate)))


def _reports(thing: object, origin: str) -> list[Report]:
    kind, instance = kind_of(thing), instance_of(thing, origin)
    reports = []
    if kind is Measure:
        reports = [check_measure(instance)]
        # A class that takes a cutoff is tried with one, too.
        if isinstance(thing, type) and issubclass(thing, Definition) and thing.cutoff_is() != "none":
            cut: Any = thing
            reports.append(check_measure(cut(cutoff=CUTOFF)))
    elif kind is Surrogate:
        reports = [check_surrogate(instance)]
    elif kind is Solver:
        reports = [Report("solver", type(instance).__name__, run_checks(instance, of_solvers.CHECKS))]
    for method in methods_of(thing, origin):
        configured = configured_method(method, None, AP())
        reports.append(Report("method", method.name, run_checks(configured, of_rankers.CHECKS)))
    return reports
