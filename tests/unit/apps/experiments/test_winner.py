"""The winner of a comparison: chosen on validation, and trained by the command that is printed."""

import shlex

import pytest

from directrank import compare, load, make_ranking
from directrank.apps.cli import main
from directrank.apps.experiments import Comparison
from directrank.apps.report import write_report
from directrank.files import write_letor
from pages import of_content, plain_cell, plain_results

pytest.importorskip("pyarrow")


def comparison(validation, files, **options) -> Comparison:
    """Return a comparison of two folds: by method, the validation values of its points 0.1 and 1 by fold."""
    cells = [
        plain_cell(
            label, fold, validation=max(values),
            tried=[
                {"parameters": {"penalty": point}, "seed": 0, "validation": value, "seconds": 1.0,
                 "status": "converged"}
                for point, value in zip((0.1, 1.0), values, strict=True)
            ],
        )
        for label, of_folds in validation.items()
        for fold, values in zip(("Fold1", "Fold2"), of_folds, strict=True)
    ]  # fmt: skip
    options = {"select_by": "nDCG@10", "missing": "nan", **options}
    content = plain_results(list(validation), ["Fold1", "Fold2"], cells, **options)
    for method in content["methods"]:
        method["name"] = method["label"].partition("(")[0]
    for fold in content["folds"]:
        fold["files"] = files
    return of_content(content)


ONE = {"train": ["all data.csv"], "vali": ["all data.csv"], "test": ["all data.csv"]}
SPLIT = {"train": ["Fold1/train.txt"], "vali": ["Fold1/vali.txt"], "test": ["Fold1/test.txt"]}


def test_the_winner_has_the_highest_mean_and_its_best_point_over_folds():
    """Means of the chosen points: .75 and .7; over folds the points of ranksvm have .55 and .6."""
    values = {"listnet": [(0.2, 0.6), (0.8, 0.1)], "ranksvm": [(0.3, 0.7), (0.8, 0.5)]}
    won = comparison(values, ONE).winner()
    assert (won.label, won.parameters) == ("ranksvm", {"penalty": 1.0})
    assert won.command == "directrank fit ranksvm 'all data.csv' --set penalty=1.0 -o model.dr"


def test_the_command_has_the_data_and_the_options_of_the_run():
    values = {"adarank(AP)": [(0.3, 0.7), (0.8, 0.5)]}
    settings = {"rounds": 30, "signed": True, "ranksvm.margin": "hinge", "adarank.rounds": 40}
    columns = {"qid": "search id", "features": ["a", "b*"]}
    won = comparison(
        values, SPLIT, settings=settings, columns=columns, select_by="AP", seed=3, missing=0.5,
        command=["directrank", "compare", "data", "--plugin", "my own.py", "--plugin=one.py", "--kfold", "3"],
    ).winner()  # fmt: skip
    assert shlex.split(won.command) == [
        "directrank", "fit", "adarank(AP)", "Fold1/train.txt", "--valid", "Fold1/vali.txt",
        "--select-by", "AP", "--set", "rounds=40", "--set", "signed=true", "--set", "penalty=1.0",
        "--qid", "search id", "--features", "a,b*", "--missing", "0.5", "--seed", "3",
        "--plugin", "my own.py", "--plugin=one.py", "-o", "model.dr",
    ]  # fmt: skip


def test_the_command_trains_and_saves_the_winner(tmp_path, monkeypatch):
    """Run from the folder of the comparison, as its console and its page print it."""
    monkeypatch.chdir(tmp_path)
    write_letor(make_ranking(24, 6, 3, random_state=4), "it's all.txt")
    grids = {"ranksvm.penalty": (0.5, 2.0)}
    result = compare("it's all.txt", "ranksvm", kfold=3, grids=grids, settings={"margin": "huber"}, out="run")
    won = result.winner()
    assert won.parameters["margin"] == "huber"
    write_report(result, "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "--set margin=huber --set penalty=" in page
    assert main(shlex.split(won.command)[1:]) == 0
    model = load("model.dr")
    assert {name: getattr(model, name) for name in won.parameters} == won.parameters
