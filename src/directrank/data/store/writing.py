"""Write a store: the features first, at their final rows, then the labels, and the manifest last."""

import hashlib
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from directrank.data.queries import Queries
from directrank.data.store.manifest import FEATURES, LABELS, MANIFEST, Manifest, described_shards
from directrank.errors import DataError
from directrank.features.shards import make_shards
from directrank.storage.atomic import write_atomically
from directrank.storage.folders import claim_folder
from directrank.storage.mapped import create_matrix, open_matrix


class StoreWriter:
    """A store that is being written. Until `finish` has ended, the folder is none.

    Parameters
    ----------
    folder : path-like
        An empty folder or one of ours, or a new one.
    force : bool, default=False
        Take a folder that holds other files, too.

    Raises
    ------
    FileExistsError
        If the folder holds files of others.
    """

    def __init__(self, folder: str | os.PathLike, *, force: bool = False):
        self.folder = Path(folder)
        claim_folder(self.folder, force=force)
        (self.folder / MANIFEST).unlink(missing_ok=True)

    def allocate(self, name: str, n_docs: int, n_features: int) -> np.ndarray:
        """Return zeros in the file of the features, float32 (n_docs, n_features).

        Raises
        ------
        DataError
            If there is no feature.
        OSError
            If the disk is full.
        """
        if not n_docs * n_features:
            raise DataError(f"{name}: nothing to convert: {n_docs} documents of {n_features} features")
        path = self.folder / FEATURES
        path.unlink(missing_ok=True)
        return create_matrix(path, (n_docs, n_features))

    def finish(
        self,
        queries: Queries,
        n_features: int,
        feature_names: Sequence[str] | None,
        name: str,
        labelled: bool,
    ) -> None:
        """Write the labels and the manifest."""
        arrays = {name: getattr(queries, name) for name in LABELS}
        files = {FEATURES: _described(self.folder / FEATURES)}
        for label, values in arrays.items():
            path = self.folder / f"{label}.npy"
            path.unlink(missing_ok=True)
            if values is not None:
                write_atomically(path, _content(label, values, name))
                files[path.name] = _described(path)
        names = None if feature_names is None else list(feature_names)
        shards = make_shards(queries.indptr, n_features)
        manifest = Manifest(
            queries.n_docs, n_features, names, name, labelled, queries.standardised, files,
            described_shards(open_matrix(self.folder / FEATURES), shards),
        )  # fmt: skip
        write_atomically(self.folder / MANIFEST, manifest.text())


def _described(path: Path) -> list[Any]:
    """Return size and digest of a file, whose bytes are on the disk."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        os.fsync(file.fileno())
        return [os.fstat(file.fileno()).st_size, digest]


def _content(label: str, values: np.ndarray, name: str) -> bytes:
    content = io.BytesIO()
    np.save(content, _plain(label, values, name), allow_pickle=False)
    return content.getvalue()


def _plain(label: str, values: np.ndarray, name: str) -> np.ndarray:
    """Return names as an array of text, of bytes or of numbers."""
    if values.dtype.kind != "O":
        return values
    kinds = {type(each) for each in values.tolist()}
    if kinds <= {str} or kinds <= {bytes} or kinds <= {int}:
        plain = np.array(values.tolist())
        if plain.tolist() == values.tolist():
            return plain
    raise DataError(f"{name}: a {label} is no plain text and no whole number; rename the values first")
