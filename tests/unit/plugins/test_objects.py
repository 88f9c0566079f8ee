"""Objects of one's own in place of names: evaluate, compare, select_by, audit, save; keys of the store."""

from functools import partial

import numpy as np
import pytest

from directrank import (
    AdaRank,
    Ranker,
    SurrogateRanker,
    compare,
    evaluate,
    load,
    load_letor,
    load_plugin,
    save,
    write_report,
)
from directrank.apps.experiments import read_results
from directrank.apps.experiments.store.identity import identity_of
from directrank.contracts import Measure
from directrank.diagnostics import audit
from directrank.errors import MeasureNameError
from directrank.estimators import Regression
from directrank.estimators.methods import Method, configured
from directrank.measures import AP
from directrank.solvers import LBFGS
from plugin_examples import MEASURE, SURROGATE, folder, nothing_loaded  # noqa: F401 - fixtures
from store_files import records_of


class Top(Measure):
    """Whether the first rank is relevant, times a factor: an object without a grammar."""

    bare_name, meaning, graded = "Top", "Whether the first document is relevant.", False
    deciding_ranks = 1

    def __init__(self, factor=1.0):
        self.factor = factor

    @property
    def name(self):
        return "Top"

    def query_values(self, queries, positions):
        share = np.where(positions.above == 0, 1.0 / np.maximum(positions.tied, 1), 0.0)
        first = np.where(queries.relevance >= 1, share, 0.0)
        return self.factor * np.add.reduceat(first, queries.indptr[:-1])


class Refuses(Regression):
    def fit(self, X, y=None, qid=None, **options):
        raise RuntimeError("this plug-in\nfails")


class Mine(SurrogateRanker):
    """A ranker of a class that directrank does not know."""


def loss():
    return load_plugin(SURROGATE).things[0]()


ROWS = ([1, 0, 0, 2], [0.3, 0.2, 0.9, 0.5], ["a", "a", "b", "b"])


def test_evaluate_takes_a_measure_of_ones_own():
    found = evaluate(*ROWS, measures=[Top(), "AP"], per_query=True)
    assert dict(found) == {"Top": 0.5, "AP": 0.75}
    assert found[Top()] == 0.5


def test_objects_are_rows_and_columns_of_a_comparison(folder, tmp_path):  # noqa: F811
    result = compare(
        folder,
        [loss(), Ranker(loss(), LBFGS(penalty=0.1)), AdaRank(Top(), rounds=2), Method("refuses", Refuses)],
        measures=[Top(), "AP"], select_by=Top(), out=tmp_path / "run", refit=True, audit=False,
    )  # fmt: skip
    labels = ["logisticloss", "Ranker(LogisticLoss, LBFGS)", "AdaRank(measure=Top, rounds=2)"]
    assert result.trained == [*labels, "refuses"]
    assert {each["method"] for each in result.failed} == {"refuses"}
    assert result.failed[0]["error"]["message"] == "this plug-in fails"
    assert all(result.mean(label, "Top", "standard") > 0.5 for label in labels[:2])
    again = read_results(tmp_path / "run")  # in a process that does not know the measure
    assert again.measures == ["Top", "AP"]
    assert not again.is_error("Top")
    write_report(again, tmp_path / "page.html")
    assert "Whether the first document is relevant." in (tmp_path / "page.html").read_text()


def test_a_ranker_keeps_its_parameters_and_its_own_selection():
    (found,) = configured([AdaRank("AP", rounds=3, n_jobs=1)], "nDCG@10")
    assert found.build(random_state=5).get_params() == {
        **AdaRank("AP", rounds=3).get_params(), "measure": AP(), "random_state": 5
    }  # fmt: skip
    (found,) = configured([Ranker(loss(), LBFGS(), select_by="P@5")], "nDCG@10")
    assert found.build().select_by.name == "P@5"
    with pytest.raises(TypeError, match="a method is a name, a Method, a Ranker or a Surrogate, not 3"):
        configured([3])


def fits_left(folder, run, methods, **options) -> int:  # noqa: F811
    from directrank.apps.experiments.options import Options
    from directrank.apps.experiments.run.protocol import prepare

    plan, _ = prepare(folder, methods, Options(out=run, measures=["AP"], audit=False, **options))
    return plan.n_fits_left


@pytest.mark.parametrize("text", [SURROGATE.read_text()])
def test_fits_are_reused_until_the_file_changes(folder, tmp_path, text):  # noqa: F811
    path, run = tmp_path / "mine.py", tmp_path / "run"
    path.write_text(text)
    load_plugin(path)
    grid = {"penalty": (0.1,)}
    compare(folder, "logisticloss,regression", grids=grid, measures=["AP"], out=run, audit=False)
    assert fits_left(folder, run, "logisticloss,regression", grids=grid) == 0
    path.write_text(text + "\n# changed\n")
    assert fits_left(folder, run, "logisticloss", grids=grid) == 0  # what was loaded has not changed
    load_plugin(path)
    assert fits_left(folder, run, "logisticloss", grids=grid) == 3
    assert fits_left(folder, run, "regression") == 0


def test_cells_are_made_again_when_the_file_of_a_measure_changes(folder, tmp_path):  # noqa: F811
    path, run = tmp_path / "mine.py", tmp_path / "run"
    found = []
    for factor in ("0.8", "0.5"):
        path.write_text(MEASURE.read_text().replace("0.8", factor))
        load_plugin(path)
        result = compare(
            folder, "regression", measures=["Patience"], select_by="Patience", out=run, audit=False
        )
        found.append(
            [(cell["validation"], cell["values"]["standard"]["test"]["Patience"]) for cell in result.cells]
        )
    assert all(one != other for one, other in zip(np.ravel(found[0]), np.ravel(found[1]), strict=True))
    fits = [record for record in records_of(run).values() if record["label"].endswith(" on train")]
    assert len(fits) == 3  # the fits do not depend on the measure


def test_an_audit_takes_the_measure_that_the_ranker_has(folder):  # noqa: F811
    train = load_letor(folder / "Fold1")[0]
    ranker = AdaRank(Top(), rounds=1).fit(train)
    assert audit(ranker, train).measure == "Top"
    ranker = Ranker(loss(), LBFGS(), select_by=Top()).fit(train)
    assert audit(ranker, train).measure == "Top"


def test_a_ranker_of_ones_own_class_is_saved_as_a_ranker(folder, tmp_path):  # noqa: F811
    train = load_letor(folder / "Fold1")[0]
    ranker = Mine(loss(), select_by=Top()).fit(train)
    save(ranker, tmp_path / "model.dr")
    loaded = load(tmp_path / "model.dr")
    assert type(loaded) is Ranker
    assert loaded.predict(train.X).tobytes() == ranker.predict(train.X).tobytes()
    assert "saved as Ranker: Mine is not a class of directrank" in loaded.message_
    assert (loaded.selected_by_, loaded.surrogate) == ("Top", None)
    with pytest.raises(MeasureNameError, match="the model was trained by Top, a measure without a name here"):
        audit(loaded, train)
    assert audit(loaded, train, "AP").measure == "AP"


def test_a_surrogate_ranker_is_loaded_without_its_surrogate(folder, tmp_path):  # noqa: F811
    train = load_letor(folder / "Fold1")[0]
    ranker = SurrogateRanker(loss(), penalty=0.3).fit(train)
    save(ranker, tmp_path / "model.dr")
    loaded = load(tmp_path / "model.dr")
    assert (type(loaded), loaded.penalty, loaded.surrogate) == (SurrogateRanker, 0.3, None)
    assert loaded.predict(train.X).tobytes() == ranker.predict(train.X).tobytes()
    with pytest.raises(TypeError, match="SurrogateRanker needs a surrogate"):
        loaded.fit(train)


def test_objects_that_differ_have_different_keys():
    """State, defaults, closures and code count; equal objects of one class are the same."""

    def scaled(factor):
        return lambda grades: factor * grades

    same = [Top(), AP(), LBFGS(penalty=0.1), {"a": (1, 2.0)}, Regression, np.arange(3.0), AP(rel=2)]
    assert [identity_of(each) for each in same] == [identity_of(each) for each in same]
    assert identity_of(Top()) == identity_of(Top(1.0))
    different = [
        Top(), Top(0.5), AP(), AP(rel=2), LBFGS(penalty=0.1), LBFGS(penalty=0.2), scaled(1.0),
        scaled(2.0), Top().query_values, Top(0.5).query_values,
        lambda grades: grades, lambda grades: -grades, lambda grades, by=2: grades, len, sorted, Top,
    ]  # fmt: skip
    assert len({identity_of(each) for each in different}) == len(different)
    hidden = partial(scaled, 1.0)  # its state cannot be seen
    assert identity_of(hidden) != identity_of(hidden)
