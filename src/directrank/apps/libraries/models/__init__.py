"""Models of LightGBM, XGBoost and RankLib, read from their files without the libraries. A bundled plug-in."""

import os
from pathlib import Path

import numpy as np

from directrank.apps.libraries.models import lightgbm_text, ranklib_text, xgboost_json
from directrank.apps.libraries.models.foreign import foreign
from directrank.apps.libraries.models.nodes import LibraryModel
from directrank.data.encoding import Places
from directrank.errors import ModelFormatError
from directrank.estimators.ranker import Ranker
from directrank.measures import DEFAULT_MEASURE

#: The readers, told by the first bytes. A model of directrank begins with a multiple of 8, as none here.
READERS = {"LightGBM": lightgbm_text, "XGBoost": xgboost_json, "RankLib": ranklib_text}
#: So many first bytes tell whose model a file is.
BEGINNING = 1 << 16
#: The largest file that is read, in bytes.
LARGEST = 1 << 30


def read_library_model(path: str | os.PathLike, rounds: int | None = None) -> Ranker | None:
    """Return the ranker in a file of LightGBM, XGBoost or RankLib; None if the file is none of theirs.

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
        start = file.read(BEGINNING)
        if kind := foreign(start):
            raise ModelFormatError(f"{path}: {kind}")
        library = next((name for name in READERS if start.startswith(READERS[name].START)), None)
        if library is None:
            return None
        content = start + file.read(LARGEST)
    try:
        if len(content) > LARGEST:
            raise ModelFormatError(f"takes more than {LARGEST} bytes")
        return _ranker(library, READERS[library].read(content, rounds))
    except ModelFormatError as error:
        raise ModelFormatError(f"{path}: the model of {library} {error}") from None


def _ranker(library: str, model: LibraryModel) -> Ranker:
    names = model.names
    if len(set(names)) < len(names):
        raise ModelFormatError("is cut or edited: it names two features alike")
    ranker = Ranker()
    ranker.scorer_, ranker.n_features_in_ = model.scorer, model.n_features
    # LightGBM writes these where it was given no names; of XGBoost's they are columns.
    instead = [f"Column_{k}" for k in range(model.n_features)] if library == "LightGBM" else []
    if names and names != instead:
        setattr(ranker, "feature_names_in_", np.array(names, dtype=object))  # noqa: B010 - only where named
    ranker.status_, ranker.certificate_, ranker.history_ = "complete", {}, []
    why = ", the best by early stopping" if model.stopped else ""
    ranker.message_ = f"Read from a model of {library}: {model.rounds} of {model.n_rounds} rounds{why}"
    if model.link:
        ranker.message_ += f"; scores are margins: {library}'s predict() takes {model.link}"
    if model.categories:
        encoding = Places(tuple(names), model.categories)
        setattr(ranker, "encoding_", encoding)  # noqa: B010 - the class has none
        ranker.message_ += f"; {encoding.note}"
    ranker.selected_by_ = DEFAULT_MEASURE
    setattr(ranker, "library_", library)  # noqa: B010 - only models of libraries have it
    ranker.scaling_, ranker.scaling_reason_ = "none", ""
    return ranker


PLUGINS = (read_library_model,)
