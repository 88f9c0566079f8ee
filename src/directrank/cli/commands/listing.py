"""`directrank methods`, `measures` and `doctor`."""

import time
import warnings
from collections.abc import Iterator
from importlib.util import find_spec

from directrank.cli.failures import DONE, FAILED
from directrank.cli.options import JSON
from directrank.cli.output import print_columns, print_json

#: Packages that only some features need, by extra.
OPTIONAL = ("torch", "distributed", "lightgbm", "xgboost", "onnx", "pyarrow", "bm25s")

#: What was looked at, what was found, and whether it is fine.
Finding = tuple[str, str, bool]


def methods(json: JSON = False) -> None:
    """List the methods to train."""
    from directrank.estimators.methods import METHODS

    if json:
        facts = ("name", "aliases", "summary", "paper", "measure", "takes_measure", "grid")
        print_json(
            [
                {"class": method.estimator.__name__, **{name: getattr(method, name) for name in facts}}
                for method in METHODS
            ]
        )
        return
    rows = [
        [
            ", ".join([method.name + "(MEASURE)" * method.takes_measure, *method.aliases]),
            method.summary,
            ", ".join(method.grid) or "–",
            method.paper,
        ]
        for method in METHODS
    ]
    print_columns(["method", "what it does", "chosen on validation", "from"], rows)


def measures(json: JSON = False) -> None:
    """List the measures and the conventions for reporting them."""
    from directrank.measures import CONVENTIONS, MEASURES

    if json:
        listed = [
            {"name": each.bare_name, "parameters": list(each.readers()), "meaning": each.meaning}
            for each in MEASURES
        ]
        conventions = {name: each.explanation for name, each in CONVENTIONS.items()}
        print_json({"measures": listed, "conventions": conventions})
        return
    rows = [[_form(each), each.meaning] for each in MEASURES]
    print_columns(["measure", "what it says"], rows)
    print()
    rows = [[name, each.explanation] for name, each in CONVENTIONS.items()]
    print_columns(["convention", "what it does"], rows)


def _form(measure) -> str:
    inside = ",".join(measure.readers())
    cutoff = {"optional": "[@k]", "required": "@k", "none": ""}[measure.cutoff_is()]
    return measure.bare_name + (f"[({inside})]" if inside else "") + cutoff


def doctor(json: JSON = False) -> int:
    """Check the installation: versions, the cache of compiled kernels, and one small fit."""
    findings = [*_environment(), _compiled_code(), _small_fit()]
    if json:
        print_json([{"what": what, "found": found, "fine": fine} for what, found, fine in findings])
    else:
        rows = [["ok" if fine else "PROBLEM", what, found] for what, found, fine in findings]
        print_columns(["", "what", "found"], rows)
    return DONE if all(fine for *_, fine in findings) else FAILED


def _environment() -> Iterator[Finding]:
    from directrank.experiments.jobs.environment import environment

    for name, found in environment().items():
        yield name, found, True
    present = [name for name in OPTIONAL if find_spec(name)]
    yield "optional packages", ", ".join(present) or "none", True


def _compiled_code() -> Finding:
    from directrank.kernels.compile import cache_folder

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        folder = cache_folder()
    if folder is None:
        said = str(caught[0].message) if caught else "no writable folder; set NUMBA_CACHE_DIR"
        return "compiled code", said, False
    return "compiled code", f"kept in {folder}", True


def _small_fit() -> Finding:
    from directrank.data import make_ranking
    from directrank.estimators import Regression
    from directrank.measures import evaluate

    started = time.perf_counter()
    try:
        groups = make_ranking(30, 10, 5, noise=0.0, random_state=0)
        value = evaluate(groups, Regression().fit(groups).predict(groups), measures="nDCG@10")["nDCG@10"]
    except Exception as error:  # A doctor reports what is wrong instead of falling ill.
        return "a small fit", f"{type(error).__name__}: {error}", False
    return "a small fit", f"nDCG@10 {value:.3f} in {time.perf_counter() - started:.1f} s", value > 0.9
