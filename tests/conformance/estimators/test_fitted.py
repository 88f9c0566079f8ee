"""What a fit sets: a ranker has the same attributes fitted, from the store of a comparison, from a file."""

import json
from typing import Any

import pytest

from directrank import TreeRanker, load, make_ranking, save
from directrank.apps.experiments.options import Options
from directrank.apps.experiments.plan.entry import MethodEntry
from directrank.apps.experiments.plan.fits import restored
from directrank.apps.experiments.plan.sources import FoldReader
from directrank.apps.experiments.run.protocol import prepare
from directrank.apps.experiments.run.sweep import Step, perform
from directrank.estimators.fitted import FITTED
from directrank.estimators.methods import METHODS
from directrank.models.scorer_kinds import take_apart
from directrank.storage.strict_json import as_plain

#: What a loaded model does not have, as the documentation says.
OF_MEMORY = {"selection_measure_", "left_out_", "rankers_"}
SMALL = {
    "auto": {"members": "ranksvm,frank(rounds=3)"},
    "approxap": {"max_iterations": 3},
    "approxndcg": {"max_iterations": 3},
    **{name: {"rounds": 3} for name in ("adarank", "adarank-type-two", "frank", "rankboost")},
    **{name: {"rounds": 3} for name in ("trees-rankboost", "trees-ndcgboost")},
    **{method.name: {"rounds": 3} for method in METHODS if method.estimator is TreeRanker},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Three files with names, a categorical column, a column of missing values, and a query of one grade."""
    folder, paths = tmp_path_factory.mktemp("data"), []
    for seed, name in enumerate(("train", "vali", "test")):
        groups = make_ranking(26, 6, 3, random_state=seed)
        rows = ["qid,relevance,price,age,score,brand"]
        for at, (qid, grade, x) in enumerate(zip(groups.qid, groups.relevance, groups.X, strict=True)):
            grade = 0 if qid == groups.qid[0] else grade
            age = "" if at % 7 == 0 else x[1]
            rows.append(f"{name}{qid},{grade},{x[0]},{age},{x[2]},{'ab'[int(x[2] + at % 3 > 1)]}")
        paths.append(folder / f"{name}.csv")
        paths[-1].write_text("\n".join(rows) + "\n")
    return paths


def attributes(ranker):
    return {
        name: value
        for name, value in vars(ranker).items()
        if name.endswith("_") and not name.startswith("_") and value is not None
    }


def comparable(name, value):
    """Return a fitted attribute as what is equal if and only if the attributes are."""
    if name == "scorer_":
        kind, tensors = take_apart(value)
        return kind, {each: (tensor.dtype, tensor.tobytes()) for each, tensor in tensors.items()}
    if name == "reading_":
        return value.to_dict()
    return json.dumps(as_plain(value), sort_keys=True)


@pytest.mark.share(6)
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_fit_is_the_same_from_the_store_and_from_a_file(method, files, tmp_path, monkeypatch):
    fitted, learn = [], MethodEntry.learn

    def learned(self, task):
        result = learn(self, task)
        fitted.append(result.ranker)
        return result

    monkeypatch.setattr(MethodEntry, "learn", learned)
    settings = {f"{method.name}.{name}": value for name, value in SMALL.get(method.name, {}).items()}
    plan, store = prepare(
        files,
        method.name,
        # With more processes than cells, candidates of ensembles are trained before these.
        Options(out=tmp_path / "run", settings=settings, categorical=("brand",), jobs=2),
    )
    cell, splits = plan.cells[0], FoldReader()(plan.folds[0])
    fit, test = cell.fits[0], splits.test
    candidates: list[Any] = [perform(plan, Step(cell.key, each.key), splits) for each in fit.candidates]
    record = perform(plan, Step(cell.key, fit.key, candidates), splits)
    store.save([(fit.key, fit.label, record)])
    ranker, of_store = fitted[-1], restored(store.get(fit.key), fit.method)
    save(ranker, tmp_path / "model.dr")
    save(of_store, tmp_path / "again.dr")
    of_file, expected = load(tmp_path / "model.dr"), attributes(ranker)
    assert expected.keys() <= {attribute.name for attribute in FITTED}
    assert {"feature_names_in_", "reading_"} <= expected.keys()
    for other in (of_store, of_file, load(tmp_path / "again.dr")):
        assert type(other) is type(ranker)
        assert attributes(other).keys() == expected.keys() - OF_MEMORY
        for name, value in attributes(other).items():
            assert comparable(name, value) == comparable(name, expected[name]), name
        assert other.predict(test).tobytes() == ranker.predict(test).tobytes()
    # Measures are saved by their names.
    expected = {name: str(value) for name, value in ranker.get_params().items()}
    assert {name: str(value) for name, value in of_file.get_params().items()} == expected
