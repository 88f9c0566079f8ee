"""Compile kernels ahead of time, by training and evaluating on small synthetic collections."""

import tempfile
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from directrank.apps.evaluation import CONVENTIONS, evaluate
from directrank.data import QueryGroups
from directrank.diagnostics.audit import audit_scores
from directrank.diagnostics.data_check import check_data
from directrank.estimators.method import Configured
from directrank.estimators.methods import configured
from directrank.estimators.presets.pairs import Regression
from directrank.files import read_letor
from directrank.measures import DEFAULT_MEASURE, MEASURES
from directrank.measures.positions import positions_of
from directrank.scorers.scaling import Scaling
from directrank.testing import make_ranking

#: One shard, which is trained in float64, and two shards, which are trained in float32. There are as many
#: documents as medians by limits take, and few features, whose matrices nobody waits for.
SMALL = {"n_queries": 16, "docs_per_query": 12, "n_features": 5}
LARGE = {"n_queries": 350, "docs_per_query": 12, "n_features": 128}

#: Parameters of methods that train in many steps, of which a few call every kernel.
FEW_STEPS = {"rounds": 2, "runs": 1, "cycles": 1}

Step = tuple[str, Callable[[], object]]


def warm_up(
    methods: str | Sequence[str | Configured] = "all",
    *,
    select_by: str = DEFAULT_MEASURE,
    small: bool = False,
    observe: Callable[[str, int, int], object] | None = None,
) -> None:
    """Compile all kernels: of readers, measures, checks and methods.

    Parameters
    ----------
    methods : str or sequence, default="all"
        The methods, as `directrank.compare` takes them.
    select_by : str, default="nDCG@10"
    small : bool, default=False
        Whether to compile only the kernels that train on collections of less than 2 MB.
    observe : callable, optional
        Gets the name of each step before it runs, its number from 1, and how many there are.
    """
    steps = warm_steps(methods, select_by, small)
    for place, (name, compile_kernels) in enumerate(steps, start=1):
        if observe is not None:
            observe(name, place, len(steps))
        compile_kernels()


def warm_steps(methods: str | Sequence[str | Configured], select_by: str, small: bool) -> list[Step]:
    """Return the names and functions that compile all kernels."""
    train, vali = _groups(SMALL)
    steps = [
        ("readers", _read_a_file),
        ("positions", _rank),
        ("measures", partial(_evaluate, train)),
        ("data check", partial(check_data, train)),
        ("audit", partial(_audit, train, select_by)),
        ("scaling", partial(_scale, train)),
    ]
    chosen = configured(methods, select_by)
    # An ensemble trains other methods.
    alone = [method for method in chosen if not method.method.estimator.is_ensemble] or chosen
    # The far ends of a grid use other kernels than its middle.
    steps += [(method.label, partial(_fit, method, method.points(), train, vali)) for method in alone]
    if not small:
        train, vali = _groups(LARGE)
        steps += [
            (f"{method.label} in float32", partial(_fit, method, method.points()[:1], train, vali))
            for method in alone
        ]
    return [(name, partial(_without_warnings, compile_kernels)) for name, compile_kernels in steps]


def _without_warnings(step: Callable[[], object]) -> None:
    """Run a step; what its synthetic collection lacks concerns nobody."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        step()


def _groups(shape: dict) -> tuple[QueryGroups, QueryGroups]:
    groups: Any = make_ranking(**shape, uneven=0.0, random_state=0)
    half = groups.n_queries - 4
    return groups.select(range(half)), groups.select(range(half, groups.n_queries))


def _read_a_file() -> None:
    with tempfile.TemporaryDirectory(prefix="directrank-") as folder:
        path = Path(folder) / "groups.txt"
        path.write_text("1 qid:1 1:NULL 2:0.5 #docid = a\n0 qid:1 1:1\n")
        read_letor(path, missing="query_min")


def _rank() -> None:
    documents = np.zeros(2**13)  # Fewer are sorted by NumPy.
    queries = QueryGroups(documents[:, None], documents, documents).queries
    for kind in (np.float32, np.float64):
        positions_of(queries, documents.astype(kind), n_read=np.ones(1, np.int64))


def _evaluate(groups: QueryGroups) -> None:
    names = [measure.bare_name + "@5" * (measure.cutoff_is() == "required") for measure in MEASURES]
    labels = groups.relevance, groups.X[:, 0], groups.qid
    for convention in CONVENTIONS:
        evaluate(*labels, measures=names, convention=convention, docid=np.arange(groups.n_docs))


def _audit(groups: QueryGroups, measure: str) -> None:
    # Widely spread scores use other kernels.
    for scale in (1.0, 1e4):
        with np.errstate(all="ignore"):
            audit_scores(scale * groups.X[:, 0], groups, measure)


def _scale(groups: QueryGroups) -> None:
    for kind in Scaling.choices:
        Regression(scaling=kind).fit(groups).predict(groups)


def _fit(method: Configured, points: Sequence[dict], train: QueryGroups, vali: QueryGroups) -> None:
    few = {name: number for name, number in FEW_STEPS.items() if name in method.build().get_params()}
    for point in points:
        method.build({**point, **few}).fit(train, eval_set=vali).predict(vali)
