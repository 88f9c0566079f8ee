"""Recognise a model of a boosting library, and read it as a fitted ranker."""

import os
from pathlib import Path

import numpy as np

from directrank.errors import ModelFormatError
from directrank.estimators.ranker import Ranker
from directrank.measures import DEFAULT_MEASURE
from directrank.models.readers import lightgbm_text, xgboost_json
from directrank.models.readers.nodes import LibraryModel

#: The largest file of another library, in bytes.
MAX_FILE = 1 << 30


def read_library_model(path: str | os.PathLike, rounds: int | None = None) -> Ranker | None:
    """Return the ranker in a file of LightGBM or XGBoost; None if the file is none of theirs.

    Raises
    ------
    ModelFormatError
        If it was cut or edited, or is of a kind that is not supported.
    ValueError
        If it has not so many rounds.
    OSError
        If it cannot be read.
    """
    path = Path(path)
    if not path.is_file():
        return None
    with path.open("rb") as file:
        start = file.read(8)
        library = _library(start)
        if library is None:
            return None
        content = start + file.read(MAX_FILE)
    try:
        if len(content) > MAX_FILE:
            raise ModelFormatError(f"takes more than {MAX_FILE} bytes")
        if library == "XGBoost's UBJSON":
            raise ModelFormatError("is in the binary form, of which JSON alone is read; save it as .json")
        reader = lightgbm_text if library == "LightGBM" else xgboost_json
        return _ranker(library, reader.read(content, rounds))
    except ModelFormatError as error:
        raise ModelFormatError(f"{path}: the model of {library} {error}") from None


def _library(start: bytes) -> str | None:
    """Return whose model begins with some bytes; ours begin with a multiple of 8, which is no brace."""
    if start.startswith(lightgbm_text.START):
        return "LightGBM"
    if start.startswith(b"{L"):
        return "XGBoost's UBJSON"
    return "XGBoost" if start.startswith(b"{") else None


def _ranker(library: str, model: LibraryModel) -> Ranker:
    names = model.names
    if len(set(names)) < len(names):
        raise ModelFormatError("is cut or edited: it names two features alike")
    ranker = Ranker()
    ranker.scorer_, ranker.n_features_in_ = model.trees, model.n_features
    if names and names != [f"Column_{k}" for k in range(model.n_features)]:
        setattr(ranker, "feature_names_in_", np.array(names, dtype=object))  # noqa: B010 - only where named
    ranker.status_, ranker.certificate_, ranker.history_ = "complete", {}, []
    why = ", the best by early stopping" if model.stopped else ""
    ranker.message_ = f"Read from a model of {library}: {model.rounds} of {model.n_rounds} rounds{why}"
    ranker.selected_by_ = DEFAULT_MEASURE
    setattr(ranker, "library_", library)  # noqa: B010 - only models of libraries have it
    ranker.scaling_, ranker.scaling_reason_ = "none", ""
    return ranker
