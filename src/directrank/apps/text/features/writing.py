"""Write features as folds that `compare` reads: Parquet, CSV or LETOR text."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from directrank.apps.text.features.making import CandidateFeatures
from directrank.data.groups import QueryGroups
from directrank.errors import DataError
from directrank.files.folds import PARTS
from directrank.files.letor import write_letor
from directrank.files.tables import delimited_text, parquet_bytes
from directrank.storage.atomic import write_atomically
from directrank.storage.folders import claim_folder
from directrank.storage.strict_json import dump

#: Models that a search trained on the features of a folder.
TRAINED = "trained-{}.dr"
#: All queries in one file, for a ranker to be used, and what the features are.
ALL, RECIPE = "all", "features.json"


def _columns(groups: QueryGroups) -> dict[str, np.ndarray]:
    names = groups.feature_names or ()
    head = {"qid": groups.qid, "docid": groups.docid, "relevance": groups.relevance}
    if clash := head.keys() & set(names):
        raise DataError(f"a feature is called {min(clash)!r}, as another column; rename it")
    X = groups.X
    return {**head, **{name: X[:, place] for place, name in enumerate(names)}}  # pyright: ignore[reportReturnType]


#: From the name of a format to the ending of its files, and what writes them. LETOR text has no names of
#: features.
WRITERS: dict[str, tuple[str, Callable[[QueryGroups, Path], Any]]] = {
    "parquet": (
        ".parquet",
        lambda groups, path: write_atomically(path, parquet_bytes(_columns(groups), path)),
    ),
    "csv": (".csv", lambda groups, path: write_atomically(path, delimited_text(_columns(groups)))),
    "letor": (".txt", write_letor),
}


def write_features(
    features: CandidateFeatures,
    folder: str | os.PathLike,
    *,
    kfold: int | None = None,
    seed: int = 0,
    form: str = "parquet",
    force: bool = False,
) -> list[str]:
    """Write all queries to one file and, if asked for, folds; return sentences on what was written.

    In fold i, part i of the queries is the test set, the next part the validation set, and all others are the
    training set; the parts are random.

    Parameters
    ----------
    features : CandidateFeatures
    folder : path
        An empty or a new one, or one of results of this library.
    kfold : int, optional
        The number of folds, at least 3.
    seed : int, default=0
        The seed of the division into parts.
    form : {"parquet", "csv", "letor"}, default="parquet"
    force : bool, default=False
        Whether the folder may hold other files.

    Raises
    ------
    DataError
        If there are fewer queries than folds.
    ValueError
        If the format or the number of folds is not allowed.
    """
    if form not in WRITERS:
        raise ValueError(f"format {form!r}: expected {', '.join(WRITERS)}")
    if kfold is not None and kfold < 3:
        raise ValueError(f"kfold {kfold}: expected at least 3: parts to train, to validate and to test")
    groups, folder = features.groups, Path(folder)
    if kfold is not None and groups.n_queries < kfold:
        raise DataError(f"{kfold} folds need {kfold} queries or more, not {groups.n_queries}")
    ending, write = WRITERS[form]
    claim_folder(folder, force=force)
    for old in (*folder.glob(TRAINED.format("*")), *folder.glob(f"{ALL}.*")):
        old.unlink()
    write(groups, folder / f"{ALL}{ending}")
    recipe = {
        "features": list(groups.feature_names or ()),
        "relevant": features.relevant,
        "notes": features.lines,
    }
    write_atomically(folder / RECIPE, dump(recipe) + "\n")
    if kfold is None:
        return [f"Written: {folder / ALL}{ending}"]
    parts = np.array_split(np.random.default_rng(seed).permutation(groups.n_queries), kfold)
    for turn in range(kfold):
        test, vali, *train = (parts[(turn + place) % kfold] for place in range(kfold))
        fold = folder / f"Fold{turn + 1}"
        fold.mkdir(exist_ok=True)
        for name, rows in zip(PARTS, (np.concatenate(train), vali, test), strict=True):
            write(groups.select(np.sort(rows)), fold / f"{name}{ending}")
    return [f"Written: {folder}/Fold1 … Fold{kfold} (seed {seed}), and all queries in {folder / ALL}{ending}"]
