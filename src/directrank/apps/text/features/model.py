"""The model of a folder of features, trained on all of its queries when it is first asked for."""

import os
from pathlib import Path

from directrank.apps.text.features.writing import ALL, RECIPE, TRAINED, WRITERS
from directrank.errors import DataError
from directrank.estimators.methods import configured
from directrank.files.folds import load_data
from directrank.models import save
from directrank.storage.names import slug


def model_of_features(folder: str | os.PathLike, method: str = "auto") -> Path:
    """Return the model of a method on all queries of a folder of features; it is trained and saved once.

    Parameters
    ----------
    folder : path
        What `write_features` wrote.
    method : str, default="auto"

    Returns
    -------
    Path
        In the folder.

    Raises
    ------
    DataError
        If the folder holds no features.
    ValueError
        If there is no such method, or several are named.
    """
    folder, chosen = Path(folder), configured(method)
    if len(chosen) != 1:
        raise ValueError("name one method")
    files = (folder / f"{ALL}{ending}" for ending, _ in WRITERS.values())
    data = next((path for path in files if (folder / RECIPE).is_file() and path.is_file()), None)
    if data is None:
        raise DataError(f"{folder}: no model, and no folder of `directrank features`")
    path = folder / TRAINED.format(slug(chosen[0].label))
    if not path.is_file():
        save(chosen[0].build().fit(load_data(data)), path)
    return path
