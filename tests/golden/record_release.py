"""Save small models and the results of a comparison, which every later version must load.

    python tests/golden/record_release.py

writes tests/golden/releases/VERSION, once for each release: folders of earlier versions are never written
again.
"""

import json
import os
import platform
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import directrank
from directrank import make_ranking

FOLDER = Path(__file__).resolve().parent / "releases" / directrank.__version__


def models() -> dict:
    """Return a ranker of each kind that a file holds: scalings, stumps, trees, sums of them."""
    small = {"penalty": 0.1}
    svm, trees = directrank.RankSVM(**small), directrank.TreeRanker(rounds=2, leaves=3)
    return {
        "linear": directrank.RankSVM(scaling="none", **small),
        "linear-standard": directrank.ListNet(scaling="standard", **small),
        "linear-log": directrank.ApproxRank(scaling="log", max_iterations=5, **small),
        "linear-query": directrank.Regression(scaling="query"),
        "weak-rankers": directrank.AdaRank(rounds=3),
        "stumps": directrank.RankBoost(rounds=3),
        "stumps-frank": directrank.FRank(rounds=3),
        "trees": directrank.TreeRanker(rounds=3, leaves=3),
        "ensemble": directrank.Ensemble([svm, trees]),
        "ensemble-query": directrank.Ensemble([svm, directrank.RankBoost(rounds=2)], standardise="query"),
    }


def main() -> None:
    """Write the folder of this version."""
    if FOLDER.exists():
        sys.exit(f"{FOLDER} exists: what a release wrote is not written again")
    warnings.simplefilter("ignore")
    FOLDER.mkdir(parents=True)
    data = make_ranking(12, 5, 3, random_state=1)
    X = np.where(np.random.default_rng(0).random(data.X.shape) < 0.1, np.nan, np.round(data.X, 3))
    shown = make_ranking(2, 5, 3, random_state=2)
    rows = np.round(shown.X, 3).astype(float)
    rows[3, 1] = np.nan
    scores = {}
    for name, ranker in models().items():
        ranker.fit(X, data.relevance, qid=data.qid)
        directrank.save(ranker, FOLDER / f"{name}.dr")
        scores[name] = [float(score) for score in ranker.predict(rows, qid=shown.qid)]
    values = [[None if np.isnan(value) else value for value in row] for row in rows.tolist()]
    runs = {"words": {"q": {"a": 9.0, "b": 5.0}}, "vectors": {"q": {"b": 0.8, "c": 0.7}}}
    directrank.Fusion().fit(runs).save(FOLDER / "fusion.dr")
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)  # so that the results name no folder of this machine, nor its kernel
        platform.platform = platform.system
        directrank.write_letor(make_ranking(18, 5, 3, random_state=3), "data.txt")
        methods = ["regression", "ranksvm(penalty=0.1)"]
        compared = directrank.compare("data.txt", methods, kfold=3, out="out", measures="AP", audit=False)
        shutil.copy(Path("out", "results.json"), FOLDER)
        os.chdir(FOLDER)
    facts = {"X": values, "qid": [str(each) for each in shown.qid], "scores": scores}
    facts |= {"table": str(compared).splitlines()}
    (FOLDER / "scores.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
