"""`directrank methods`, `measures` and `doctor`."""

import inspect
import re
import time
import warnings
from importlib.util import find_spec
from types import NoneType
from typing import TYPE_CHECKING, Any

from directrank.apps.cli.failures import DONE, FAILED, usage
from directrank.apps.cli.options import JSON, Plugin
from directrank.apps.cli.output import print_columns, print_json, print_paragraph, remark
from directrank.errors import install_line
from directrank.registries import bundled

if TYPE_CHECKING:
    from directrank.contracts import Measure
    from directrank.estimators.method import Method

#: Packages that only some inputs need.
OPTIONAL = ("pandas", "polars", "pyarrow")

#: The first methods of the list, by docs/choose.md.
TO_BEGIN_WITH = (
    "regression", "ranksvm", "auto", "lambdaloss", "listnet", "ranknet", "approxndcg", "consistent-ndcg",
    "coordinate-ascent", "trees-consistent-ndcg",
)  # fmt: skip

Finding = tuple[str, str, bool]


def methods(name: str | None = None, *, plugin: Plugin = None, json: JSON = False) -> None:
    """List the methods to train, or the parameters of one.

    NAME: A method: its parameters, their defaults and what they may be.
    """
    from directrank.apps.experiments.plan.entries import EXTERNAL, FORMS, methods_of

    if name is not None:
        with usage():
            entry = methods_of([name])[0]
        if entry.stores_scores:
            _print_external(entry, json=json)
        else:
            _print_parameters(entry.method, json=json)
        return
    if json:
        ours = [_method_facts(method) for methods in _sections().values() for method in methods]
        externals = [
            {**_method_facts(external), "install": external.install or None} for external in EXTERNAL
        ]
        print_json(ours + externals)
        return
    for title, section in _sections().items():
        rows = [
            [
                method.name + "(MEASURE)" * method.takes_measure,
                method.summary + f"; also {', '.join(method.aliases)}" * bool(method.aliases),
            ]
            for method in section
        ]
        print_columns([title, "what it does"], rows)
        print()
    rows = [
        *([external.name, external.summary] for external in EXTERNAL),
        *map(list, FORMS.items()),
    ]
    print_columns(["of other libraries", "what it does"], rows)
    missing = [(external.library, external.name) for external in EXTERNAL if external.install]
    for extra in dict(missing):
        uses = ", ".join(name for needed, name in missing if needed == extra)
        remark(f"not installed: {extra}, for {uses}: {install_line(extra)}")
    remark("directrank methods NAME: its source, and its parameters")


def _sections() -> dict[str, "list[Method]"]:
    """Return the methods in the order of the list, by the headings of its parts."""
    from directrank.estimators.methods import METHODS, OWN

    table = {method.name: method for method in METHODS}
    of_papers = {thing.name for thing in bundled("methods") if hasattr(thing, "estimator")}
    first = [table.pop(name) for name in TO_BEGIN_WITH]
    papers = [method for name, method in table.items() if name in of_papers]
    rest = [method for method in table.values() if method not in papers]
    trees = [method for method in rest if method.name.startswith("trees-")]
    sections = {
        "to begin with": first,
        "classics": [method for method in rest if method not in trees],
        "trees": trees,
        "of one paper": papers,
        "of plug-ins": [*OWN.values()],
    }
    return {title: methods for title, methods in sections.items() if methods}


def _print_external(external: Any, *, json: bool) -> None:
    """Print the parameters that `--set` and `--grid` take, with the values of the grid."""
    fixed = {name: value for name, value in external.parameters().items() if name not in external.grid}
    if json:
        grid = {name: list(values) for name, values in external.grid.items()}
        json_types = (bool, int, float, str, NoneType)
        values = {
            name: value if isinstance(value, json_types) else str(value) for name, value in fixed.items()
        }
        print_json({"name": external.name, "summary": external.summary, "grid": grid, "parameters": values})
        return
    rows = [[name, "", ", ".join(map(str, values))] for name, values in external.grid.items()]
    rows += [[name, str(value), ""] for name, value in fixed.items()]
    print_columns(["parameter", "value", "chosen on validation from"], rows)


def _print_parameters(method, *, json: bool) -> None:
    """Print the parameters of a method that `--set` and `--grid` take."""
    from directrank.apps.experiments.plan.entries import SET_ELSEWHERE
    from directrank.estimators.parameters import parameters_of

    declared = [
        parameter._replace(default=method.fixed.get(name, parameter.default))
        for name, parameter in parameters_of(method.estimator).items()
        if name not in SET_ELSEWHERE
    ]
    if json:
        parameters = [
            {
                "name": parameter.name,
                "default": parameter.default,
                "allowed": parameter.allowed,
                "meaning": parameter.sentence,
            }
            for parameter in declared
        ]
        print_json({**_method_facts(method), "parameters": parameters})
        return
    print_paragraph(f"{method.name}: {method.summary}; class {method.estimator.__name__}")
    if method.paper:
        print_paragraph(f"from {method.paper}")
    for name, values in method.grid.items():
        print_paragraph(f"{name} is chosen on validation from {', '.join(map(str, values))}")
    print()
    for parameter in declared:
        print_paragraph(parameter.heading, further=8 * " ")
        print_paragraph(parameter.sentence, 4 * " ", 4 * " ")


def _method_facts(method) -> dict:
    from directrank.apps.experiments.store.identity import names_of_objects
    from directrank.measures.names import name_of

    return {
        "name": method.name,
        "aliases": list(getattr(method, "aliases", ())),
        "class": getattr(method, "estimator_name", None) or method.estimator.__name__,
        "summary": method.summary,
        "paper": method.paper,
        "measure": name_of(method.measure),
        "takes_measure": getattr(method, "takes_measure", False),
        "grid": names_of_objects(method.grid),
    }


def measures(
    name: str | None = None, *, vectors: bool = False, plugin: Plugin = None, json: JSON = False
) -> None:
    """List the measures and the conventions for reporting them, or describe one.

    NAME: A measure: its parameters, and the methods that train for it.
    --vectors: Print cases with exact values as JSON, to check another implementation.
    """
    if vectors:
        from directrank.apps.evaluation import measure_vectors

        print_json(measure_vectors())
        return
    from directrank.apps.evaluation import CONVENTIONS
    from directrank.measures import MEASURES, parse_measure
    from directrank.measures.names import OWN

    if name is not None:
        with usage():
            measure = parse_measure(name)
        _print_measure(measure, json=json)
        return
    every = {**{measure.bare_name: measure for measure in MEASURES}, **OWN}
    if json:
        # An object has only its name, and nothing in brackets after it.
        listed = [
            {
                "name": name,
                "parameters": list(measure.readers()) if isinstance(measure, type) else [],
                "meaning": measure.meaning,
            }
            for name, measure in every.items()
        ]
        conventions = {name: convention.explanation for name, convention in CONVENTIONS.items()}
        print_json({"measures": listed, "conventions": conventions})
        return
    rows = [[_form(measure), measure.meaning] for measure in every.values()]
    print_columns(["measure", "what it says"], rows)
    print()
    rows = [[name, convention.explanation] for name, convention in CONVENTIONS.items()]
    print_columns(["convention", "what it does"], rows)
    remark("directrank measures NAME: its parameters, and the methods that train for it")


def _print_measure(measure: "Measure", *, json: bool) -> None:
    """Print what a measure says, its parameters, and the methods that can train for it."""
    from directrank.estimators.methods import METHODS, OWN, trains_for

    kind, trained = type(measure), [*METHODS, *OWN.values()]
    trained = [method.name for method in trained if trains_for(method, measure)]
    parameters = _section(kind, "Parameters")
    if json:
        facts = {
            "name": measure.name,
            "aliases": list(getattr(kind, "aliases", ())),
            "meaning": measure.meaning,
            "is_error": measure.is_error,
            "parameters": parameters,
            "methods": trained,
        }
        print_json(facts)
        return
    print_paragraph(f"{measure.name}: {measure.meaning}")
    if aliases := getattr(kind, "aliases", ()):
        print_paragraph(f"also called {', '.join(aliases)}")
    if hasattr(kind, "readers"):
        print_paragraph(f"written {_form(kind)}")
    if parameters:
        print(f"\n{parameters}")
    print()
    print_paragraph(f"methods that train for it: {', '.join(trained) or 'none'}")


def _section(kind: type, heading: str) -> str:
    """Return a section of a docstring without the markup of formulas and of code."""
    _, _, after = inspect.cleandoc(kind.__doc__ or "").partition(f"\n{heading}\n{'-' * len(heading)}\n")
    text = re.split(r"\n\w[\w ]*\n-+\n", after)[0].strip()
    text = re.sub(r":math:`([^`]*)`", r"\1", text)
    return re.sub(r"`+([^`]*)`+", r"\1", text)


def _form(measure) -> str:
    if not isinstance(measure, type):
        return measure.name
    inside = ",".join(measure.readers())
    cutoff = {"optional": "[@k]", "required": "@k", "none": ""}[measure.cutoff_is()]
    return measure.bare_name + (f"[({inside})]" if inside else "") + cutoff


def doctor(*, warm: bool = False, json: JSON = False) -> int:
    """Check the installation: versions, the cache of compiled kernels, and one small fit.

    --warm: Compile all kernels now; this takes a minute or two.
    """
    from directrank.apps.experiments import environment

    present = [name for name in OPTIONAL if find_spec(name)]
    findings = [
        *([_compiled()] if warm else []),
        *((name, value, True) for name, value in environment().items()),
        ("optional packages", ", ".join(present) or "none", True),
        _compiled_code(),
        _small_fit(),
    ]
    if json:
        print_json([{"what": what, "found": finding, "fine": fine} for what, finding, fine in findings])
    else:
        print_columns(
            ["", "what", "found"],
            [["ok" if fine else "PROBLEM", what, finding] for what, finding, fine in findings],
        )
    return DONE if all(fine for *_, fine in findings) else FAILED


def _compiled() -> Finding:
    """Compile all kernels, saying which on a terminal; return how long it took.

    The first steps compile what all others use, so that the time that is left cannot be told from them.
    """
    from directrank.apps.cli.output import spinner
    from directrank.apps.cli.warming import warm_up

    started = time.perf_counter()
    with spinner("compiling kernels") as say:
        warm_up(observe=lambda name, place, count: say(f"{name}, {place} of {count}"))
    return "compilation", f"all kernels in {time.perf_counter() - started:.0f} s", True


def _compiled_code() -> Finding:
    from directrank.kernels.compile import cache_folder, shared_folder

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        folder = cache_folder()
    if folder is None:
        problem = str(caught[0].message) if caught else "no writable folder; set NUMBA_CACHE_DIR"
        return "compiled kernels", problem, False
    source = f", copied from {shared_folder()} where it has them" if shared_folder() else ""
    return "compiled kernels", f"cached in {folder}{source}", True


def _small_fit() -> Finding:
    from directrank.apps.evaluation import evaluate
    from directrank.estimators import Regression
    from directrank.testing import make_ranking

    started = time.perf_counter()
    try:
        groups = make_ranking(30, 10, 5, noise=0.0, random_state=0)
        value = evaluate(groups, Regression().fit(groups).predict(groups), measures="nDCG@10")["nDCG@10"]
    except Exception as error:  # The finding reports the error.
        return "a small fit", f"{type(error).__name__}: {error}", False
    return "a small fit", f"nDCG@10 {value:.3f} in {time.perf_counter() - started:.1f} s", value > 0.9
