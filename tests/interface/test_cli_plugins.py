"""Plug-ins on the command line: the documented examples from a file to a row, a model and its audit."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from commands import run
from directrank import ListNet, RankBoost, RankSVM, export, load_plugin, make_ranking
from directrank.errors import ExportError
from directrank.estimators.methods import Method
from plugin_examples import CUTOFF, MEASURE, SOLVER, SURROGATE, TARGET, folder, nothing_loaded  # noqa: F401 - fixtures


def test_the_template_of_a_measure_with_a_cutoff_passes_its_checks_and_is_success(capsys, tmp_path):
    code, out, _ = run(capsys, "check", CUTOFF)
    assert (code, out.splitlines()[-1]) == (0, "30 of 30 checks passed")
    data, scores = tmp_path / "data.txt", tmp_path / "scores.txt"
    data.write_text("".join(f"{grade} qid:1 1:0\n" for grade in (1, 2, 0, 0)))
    scores.write_text("6\n5\n5\n5\n")
    names = ["OneOfFirst(rel=2)@3", "Success(rel=2)@3", "OneOfFirst@1"]
    _, out, _ = run(capsys, "evaluate", data, scores, "--measures", ",".join(names), "--plugin", CUTOFF)
    # By hand: the document of grade 2 is at two of the ranks 2, 3 and 4 with probability 2/3.
    assert re.findall(r"@\d +(\S+)$", out, re.M) == ["0.6667", "0.6667", "1.0000"]


def test_a_plugin_that_raises_while_training_is_a_failed_row(capsys, folder, tmp_path):  # noqa: F811
    path = tmp_path / "mine.py"
    path.write_text(
        SURROGATE.read_text().replace("margin = ", "raise RuntimeError('no such thing')\n        margin = ")
    )
    code, out, err = run(
        capsys, "compare", folder, "--methods", "regression,logisticloss", "--measures", "AP", "--no-audit",
        "--grid", "penalty=0.1", "--out", tmp_path / "run", "--plugin", path,
    )  # fmt: skip
    assert code == 4
    assert (
        "directrank: logisticloss failed on Fold1: RuntimeError: no such thing (the rest is complete)" in err
    )
    assert re.search(r"regression +0\.\d{4}", out)
    assert re.search(r"logisticloss +failed", out)
    code, _, err = run(capsys, "fit", "logisticloss", folder / "Fold1" / "train.txt", "-q", "--plugin", path)
    assert (code, "Traceback" in err) == (4, False)


def test_the_page_shows_every_template():
    text = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text()
    for path in (MEASURE, CUTOFF, SURROGATE, SOLVER, TARGET):
        assert f"{{literalinclude}} examples/{path.name}\n" in text


def test_the_template_of_a_solver_and_a_method_finds_listnet():
    loaded = load_plugin(SOLVER)
    descent = next(each for each in loaded.things if isinstance(each, Method))
    groups = make_ranking(30, 8, 3, random_state=0)
    ranker = descent.estimator(penalty=0.1).fit(groups)
    np.testing.assert_allclose(ranker.coef_, ListNet(penalty=0.1).fit(groups).coef_, rtol=0.02)


def test_the_template_of_an_exporter_scores_as_the_ranker_and_refuses_trees():
    target = runpy.run_path(str(TARGET))["TARGET"]
    groups = make_ranking(20, 10, 3, random_state=0)
    found = export(RankSVM().fit(groups), target, check=groups)
    assert found.content.startswith(b"feature,weight\nf1,")
    assert found.check
    assert (found.check.inversions, found.check.difference < 1e-12) == (0, True)
    with pytest.raises(ExportError, match="weights-csv"):
        export(RankBoost(rounds=2).fit(groups), target)
