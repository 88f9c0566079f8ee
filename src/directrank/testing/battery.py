"""The battery: every promise that a thing of a plug-in makes, tried."""

from dataclasses import dataclass, field
from typing import Any

from directrank.contracts import Curvature, HessianVector, Measure, Solver, Surrogate, ValueAndGradient
from directrank.estimators.method import configured_method
from directrank.measures import AP
from directrank.measures.capabilities import PositionDifferentiable
from directrank.measures.families.definition import Definition
from directrank.plugins import PlugIn, kind_of, methods_of, whole
from directrank.testing import (
    of_measures,
    of_rankers,
    of_solvers,
    of_surrogates,
)
from directrank.testing.promises import Promise, Verdict, tried

__all__ = [
    "check_plugin",
]

#: The cutoff at which a measure is tried that can have one.
CUTOFF = 3


@dataclass(frozen=True)
class Report:
    """What came of trying one thing, such as the ``measure`` ``Patience``."""

    kind: str
    name: str
    verdicts: list[Verdict]
    notes: list[str] = field(default_factory=list)

    @property
    def kept(self) -> bool:
        """Whether every promise is kept."""
        return all(verdict.kept for verdict in self.verdicts)


def check_plugin(plugin: PlugIn) -> list[Report]:
    """Try every promise of what a plug-in adds: its measures, surrogates, solvers and methods."""
    return [report for thing in plugin.things for report in _reports(thing, plugin.origin)]


def promises_of_measure(measure: Measure) -> tuple[Promise, ...]:
    """Return the promises that a measure makes."""
    smooth = isinstance(measure, PositionDifferentiable)
    return (*of_measures.PROMISES, *(of_measures.SMOOTH if smooth else ()))


def promises_of_surrogate(surrogate: Surrogate) -> tuple[Promise, ...]:
    """Return the promises that a surrogate makes, by the oracles that it offers."""
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
    """Try every promise of a measure."""
    scaled = measure.with_largest_grade(4)
    verdicts = tried(scaled, promises_of_measure(scaled))
    verdicts += tried(measure, (of_measures.lies_between_zero_and_one,))
    notes = [of_measures.best_value(scaled)] if verdicts[0].kept else []
    return Report("measure", measure.name, verdicts, notes)


def check_surrogate(surrogate: Surrogate) -> Report:
    """Try every promise of a surrogate."""
    return Report("surrogate", surrogate.name, tried(surrogate, promises_of_surrogate(surrogate)))


def _reports(thing: object, origin: str) -> list[Report]:
    kind, instance = kind_of(thing), whole(thing, origin)
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
        reports = [Report("solver", type(instance).__name__, tried(instance, of_solvers.PROMISES))]
    for method in methods_of(thing, origin):
        configured = configured_method(method, None, AP())
        reports.append(Report("method", method.name, tried(configured, of_rankers.PROMISES)))
    return reports
