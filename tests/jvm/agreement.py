"""Rankers of every kind on documents where engines go wrong, scored by the engines themselves."""

import json
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from directrank import export
from directrank.apps.engines import TARGETS, Export, inversions
from directrank.apps.engines.function import Target, function_of
from directrank.errors import ExportError
from directrank.estimators import Ranker
from jvm import engines
from jvm.solr_server import scores_of_solr
from unit.apps.engines.rankers_of_every_kind import learned, rankers, rows, scores_by

NAMES = ("f1", "f2", "f3", "f4")
#: Documents of each ranker, and of each query of theirs.
N_DOCUMENTS, IN_QUERY = 600, 50
#: Beyond these the sums of float32 engines are infinite.
LARGEST = 1e6
NOT_SERVED = "not run: the plug-in's own code is not served"
Cases = dict[str, tuple[Export, np.ndarray]]


class Engine(NamedTuple):
    """An engine: the target whose files it reads, its project, how it scores models, and what is run."""

    target: str
    project: str
    scores: Callable[["Engine", Cases], dict[str, np.ndarray]]
    version: str | None = None
    of_sources: str | None = None

    @property
    def exported(self) -> Target:
        return next(target for target in TARGETS if target.name == self.target)


def _file(engine: Engine, cases: Cases) -> dict[str, np.ndarray]:
    """Return the scores of the file as it is."""
    models = {name: (made.content, NAMES, X) for name, (made, X) in cases.items()}
    return engines.scores(engine.project, models)


def _expression(engine: Engine, cases: Cases) -> dict[str, np.ndarray]:
    """Return the scores of the ranking expression in a rank profile."""
    models = {}
    for name, (made, X) in cases.items():
        text = made.content.decode()
        inner = text[text.index("expression {") + len("expression {") : text.rindex("}\n    }\n}")]
        models[name] = inner.encode(), NAMES, X
    return engines.scores(engine.project, models)


def _logarithms(cases: Cases) -> dict[tuple[str, str], np.ndarray]:
    """Return derived features by Lucene, by the kind of ranker and the name of the feature."""
    models = {
        (name, derived["name"]): (derived["template"].encode(), NAMES, X)
        for name, (made, X) in cases.items()
        for need in made.needs
        if '"derived_expression"' in need
        for derived in [json.loads(need[need.index("{") :])]
    }
    values = engines.scores("lucene", models)
    return {key: of.astype(np.float32) for key, of in values.items()}


def _plugin(engine: Engine, cases: Cases) -> dict[str, np.ndarray]:
    """Return the scores by the plug-in's own classes, where Lucene computes the derived features.

    The plug-in adds in the order of the feature set, which is that of the weights here.
    """
    derived, models = _logarithms(cases), {}
    for kind, (made, X) in cases.items():
        columns = dict(zip(NAMES, X.T, strict=True))
        columns |= {name: of for (of_kind, name), of in derived.items() if of_kind == kind}
        model = json.loads(made.content)["model"]["model"]
        first = json.loads(model["definition"]) if model["type"] == "model/linear" else {}
        names = tuple(dict.fromkeys((*first, *columns)))
        models[kind] = made.content, names, np.column_stack([columns[name] for name in names])
    return engines.scores(engine.project, models, "PluginScores", engines.plugin())


def _derived(engine: Engine, cases: Cases) -> dict[str, np.ndarray]:
    """Return the plug-in's sums of features, where Lucene computes the derived ones.

    Only rankers with derived features are run: the plug-in's own code is not served.
    """
    values, sums = _logarithms(cases), {}
    for name in dict.fromkeys(name for name, _ in values):
        made, X = cases[name]
        weights = json.loads(json.loads(made.content)["model"]["model"]["definition"])
        columns = dict(zip(NAMES, np.nan_to_num(X, nan=0.0).T, strict=True))
        columns |= {derived: of for (model, derived), of in values.items() if model == name}
        total = np.zeros(len(X), np.float32)
        for feature, weight in weights.items():
            total += np.float32(weight) * columns[feature]
        sums[name] = total.astype(float)
    return sums


def _solr(engine: Engine, cases: Cases) -> dict[str, np.ndarray]:
    return scores_of_solr({name: (made.content, NAMES, X) for name, (made, X) in cases.items()})


ENGINES = {
    "Solr": Engine("solr", "solr", _solr, "8.11"),
    "RankLib": Engine("ranklib", "ranklib", _file),
    "RankLib of the plug-ins": Engine("ranklib", "plugin_ranklib", _file),
    "Elasticsearch": Engine("elasticsearch", "elasticsearch", _file),
    "Vespa": Engine("vespa", "vespa", _expression),
    "XGBoost4J": Engine("xgboost", "xgboost", _file),
    "LightGBM4J": Engine("lightgbm", "lightgbm", _file),
    "OpenSearch's plug-in": Engine(
        "opensearch-ltr", "opensearch", _plugin, "2.19", "opensearch-learning-to-rank-base 2.19"
    ),
    "Lucene's expressions": Engine("elasticsearch-ltr", "lucene", _derived),
}


class Agreement(NamedTuple):
    """How an engine scores a model: inverted pairs that float32 tells apart, and distances of scores."""

    inverted: int
    documents: int
    from_ranker: float
    from_transcript: float


def named(models: dict[str, Ranker]) -> dict[str, Ranker]:
    """Return models whose features have the names of the documents."""
    for model in models.values():
        model.feature_names_in_ = np.array(NAMES, dtype=object)
    return models


def documents(ranker: Ranker, engine: Engine) -> np.ndarray:
    """Return documents at the thresholds of a ranker; without gaps where the engine reads these as 0."""
    target, kind = engine.exported, function_of(ranker.scorer_, NAMES).kind
    no_gaps = kind in target.zero_for_missing or engine.version is not None
    X = rows(ranker.scorer_, missing=not no_gaps)
    X = X[~(np.abs(X) > LARGEST).any(axis=1)]
    X[np.abs(X) <= target.zero] = 0
    rng = np.random.default_rng(3)
    mixed = np.column_stack([rng.choice(column, N_DOCUMENTS) for column in X.T])
    return (
        np.concatenate((X, mixed))[:N_DOCUMENTS] if len(X) < N_DOCUMENTS else rng.permutation(X)[:N_DOCUMENTS]
    )


def agreements(name: str) -> dict[str, Agreement | str]:
    """Return how an engine scores a ranker of each kind, or why its export is refused."""
    engine, cases, found = ENGINES[name], {}, {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = rankers(Path(folder))
        models["sets of categories"] = learned(Path(folder), "lightgbm", categorical_feature="1", seed=1)
        named(models)
        for kind, ranker in models.items():
            try:
                made = export(ranker, engine.target, target_version=engine.version)
                cases[kind] = made, documents(ranker, engine)
            except ExportError as error:
                found[kind] = str(error)
        for kind, theirs in engine.scores(engine, cases).items():
            made, X = cases[kind]
            function, ours = function_of(models[kind].scorer_, NAMES), models[kind].scorer_.scores(X)
            known = ~np.isnan(ours)
            queries = np.arange(len(X)) // IN_QUERY
            sizes = function.sizes(X)
            inverted = inversions(queries[known], ours[known], theirs[known], sizes[known])[1]
            change = (theirs - ours)[known]
            transcript = scores_by(engine.exported, made.content, function, X)
            found[kind] = Agreement(
                inverted, len(X), float(np.abs(change - np.median(change)).max()),
                float(np.nanmax(np.abs(np.float32(theirs) - np.float32(transcript)), initial=0.0)),
            )  # fmt: skip
    return {kind: found.get(kind, NOT_SERVED) for kind in models}
