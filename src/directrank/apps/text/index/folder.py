"""An index: its folder, a header, ``index.json``, and a folder of arrays and texts with their checksums.

A new index is written beside the old one and takes its place when the header is replaced, which is atomic.
Arrays and texts are written piece by piece, and read as they lie on disk.
"""

import io
import os
import re
import secrets
import shutil
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from functools import cache, cached_property
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from scipy import sparse

from directrank.apps.text.index.analysis import Analysis, terms_of
from directrank.errors import DataError
from directrank.files.manifest import check_files, read_manifest, size_and_digest
from directrank.storage.atomic import write_atomically
from directrank.storage.strict_json import JSONObject, signed

TITLE, BODY, WHOLE = "title", "body", "whole"
#: The fields of an index; one without titles has the whole text only.
ALL, WITHOUT_TITLES = (TITLE, BODY, WHOLE), (WHOLE,)
HEADER = "index.json"
FORMAT = "directrank index 2"
DATA = re.compile(r"data-[0-9a-f]{16}")
REMEDY = "build it again by `directrank index`"
#: The bytes of the header of a .npy file of one dimension; numpy leaves room for a length of 21 digits.
NPY_HEADER = 128
#: The encoding of texts; halves of surrogate pairs, which JSON may hold, survive.
ENCODING, ERRORS = "utf-8", "surrogatepass"


class ArrayWriter:
    """Writes a .npy file of one dimension whose length is known only at its end."""

    def __init__(self, path: Path, dtype: type):
        self.dtype, self.length = np.dtype(dtype), 0
        self._file: BinaryIO = path.open("wb")
        self._file.write(b"\0" * NPY_HEADER)

    def append(self, values: np.ndarray) -> None:
        """Write more values."""
        self._file.write(np.ascontiguousarray(values, self.dtype).data)
        self.length += len(values)

    def close(self) -> None:
        """Write the header and close the file."""
        header = io.BytesIO()
        fields = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.length,)}
        np.lib.format.write_array_header_1_0(header, fields)
        if len(header.getvalue()) != NPY_HEADER:
            raise AssertionError("numpy writes headers of another size")
        self._file.seek(0)
        self._file.write(header.getvalue())
        self._file.close()


def read_array(path: Path) -> np.ndarray:
    """Return the array of a .npy file, mapped from disk; an empty one is read."""
    if path.stat().st_size == NPY_HEADER:
        return np.load(path, allow_pickle=False)
    # As a plain array, which is indexed with less overhead.
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


class TextsWriter:
    """Writes texts one after the other into ``NAME.bin``, and where each begins into ``NAME.start.npy``."""

    def __init__(self, folder: Path, name: str):
        self._file: BinaryIO = (folder / f"{name}.bin").open("wb")
        self._starts = ArrayWriter(folder / f"{name}.start.npy", np.int64)
        self._starts.append(np.zeros(1, np.int64))
        self._end = 0

    def extend(self, texts: Iterable[str]) -> None:
        """Write more texts."""
        content = [text.encode(ENCODING, ERRORS) for text in texts]
        self._file.write(b"".join(content))
        ends = self._end + np.cumsum([len(text) for text in content], dtype=np.int64)
        if len(ends):
            self._starts.append(ends)
            self._end = int(ends[-1])

    def close(self) -> None:
        """Close both files."""
        self._file.close()
        self._starts.close()


class Texts:
    """Texts that `TextsWriter` wrote."""

    def __init__(self, folder: Path, name: str):
        path = folder / f"{name}.bin"
        self.starts = read_array(folder / f"{name}.start.npy")
        self._bytes = np.memmap(path, np.uint8, "r") if path.stat().st_size else np.zeros(0, np.uint8)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[str]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> str:
        return self.bytes_of(number).decode(ENCODING, ERRORS)

    def bytes_of(self, number: int) -> bytes:
        """Return a text as bytes."""
        return self._bytes[self.starts[number] : self.starts[number + 1]].tobytes()


class Names(Texts):
    """Different texts that are found by bisection; ``NAME.order.npy`` has their numbers in sorted order."""

    def __init__(self, folder: Path, name: str):
        super().__init__(folder, name)
        self._order = read_array(folder / f"{name}.order.npy")

    def __contains__(self, text: str) -> bool:
        return self.find(text) >= 0

    def find(self, text: str) -> int:
        """Return the number of a text, or −1."""
        wanted = text.encode(ENCODING, ERRORS)
        place = bisect_left(self._order, wanted, key=self.bytes_of)
        if place < len(self._order) and self.bytes_of(self._order[place]) == wanted:
            return int(self._order[place])
        return -1


def write_order(folder: Path, name: str) -> None:
    """Write the numbers of texts in the order of their bytes, as `Names` needs them."""
    texts = Texts(folder, name)
    content = [texts.bytes_of(number) for number in range(len(texts))]
    np.save(
        folder / f"{name}.order.npy", np.array(sorted(range(len(content)), key=content.__getitem__), np.int32)
    )


def new_data_folder(folder: Path) -> Path:
    """Create an empty folder for arrays inside the folder of an index."""
    data = folder / f"data-{secrets.token_hex(8)}"
    data.mkdir()
    return data


def write_header(folder: Path, data: Path, facts: JSONObject) -> None:
    """Write the header, by which the data become the index of the folder."""
    files = {path.name: size_and_digest(path) for path in sorted(data.iterdir())}
    content = {"format": FORMAT, "data": data.name, "files": files, **facts}
    write_atomically(folder / HEADER, signed(content))


def read_header(folder: Path) -> JSONObject:
    """Return the header of an index.

    Raises DataError if the folder is no index, was damaged, or comes from another release.
    """
    path = folder / HEADER
    if not path.is_file():
        os.stat(folder)  # says that nothing has this name
        raise DataError(
            f"{folder}: not an index of directrank; `directrank index COLLECTION -o {folder}` builds one"
        )
    content = read_manifest(path, FORMAT, REMEDY)
    if not DATA.fullmatch(str(content.get("data"))):
        raise DataError(f"{path}: names no folder of an index; {REMEDY}")
    return content


def remove_other_data(folder: Path, data: Path) -> None:
    """Remove the arrays of an earlier index, and of builds that were killed."""
    for path in folder.iterdir():
        if DATA.fullmatch(path.name) and path.name != data.name and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)


@dataclass(frozen=True, eq=False)
class Postings:
    """The documents of each term in one field, mapped from disk."""

    # (n_terms + 1,), int64: Term t is in ``documents[indptr[t]:indptr[t + 1]]``, which ascend
    indptr: np.ndarray
    # documents, counts: (n_postings,), int32: The document of each posting, and how often it has the term
    documents: np.ndarray
    counts: np.ndarray
    occurrences: np.ndarray  # (n_terms,), int64: How often all documents have each term
    # lengths, different: (n_docs,), int32: The number of terms of each document, and of different ones
    lengths: np.ndarray
    different: np.ndarray

    @cached_property
    def df(self) -> np.ndarray:
        """The number of documents of each term, int64 (n_terms,)."""
        return np.diff(self.indptr)

    @cached_property
    def total(self) -> int:
        """The number of terms of all documents."""
        return int(self.occurrences.sum())

    @property
    def mean_length(self) -> float:
        """Mean number of terms of a document; 1 if no document has a term."""
        return self.total / len(self.lengths) if self.total else 1.0

    def matrix(self) -> sparse.csc_array:
        """Return how often each document has each term, (n_docs, n_terms)."""
        shape = len(self.lengths), len(self.occurrences)
        return sparse.csc_array((self.counts, self.documents, self.indptr), shape)


class Forward(NamedTuple):
    """The terms of all documents, one document after the other, mapped from disk."""

    terms: np.ndarray
    starts: np.ndarray
    title_lengths: np.ndarray

    def blocks(self, size: int) -> Iterator[tuple[int, int]]:
        """Yield first and last document, exclusive, of blocks of about `size` terms."""
        first, n_docs = 0, len(self.starts) - 1
        while first < n_docs:
            last = int(np.searchsorted(self.starts, self.starts[first] + size, side="right")) - 1
            last = min(max(last, first + 1), n_docs)
            yield first, last
            first = last


def read_forward(folder: Path) -> Forward:
    """Return the terms of the documents of an index."""
    return Forward(
        *(read_array(folder / f"{name}.npy") for name in ("terms.of", "terms.start", "title.terms"))
    )


class Index:
    """An index of documents, as `open_index` returns it.

    Attributes
    ----------
    folder : Path
    n_docs, n_terms : int
    fields : tuple of str
        title, body and whole, or only whole if no document has a title.
    analysis : Analysis
    ids : Names
        The names of documents.
    titles, bodies : Texts
    """

    def __init__(self, folder: Path, *, verify: bool):
        header = read_header(folder)
        self.folder, self._data = folder, folder / header["data"]
        check_files(self._data, header["files"], REMEDY, digests=verify)
        self.n_docs, self.n_terms = int(header["documents"]), int(header["terms"])
        self.fields, self.analysis = tuple(header["fields"]), Analysis(**header["analysis"])
        self.ids, self._words = Names(self._data, "ids"), Names(self._data, "words")
        self.titles, self.bodies = Texts(self._data, "titles"), Texts(self._data, "bodies")
        self.postings = cache(self._postings)

    def __repr__(self) -> str:
        return (
            f"<Index {self.folder}: {self.n_docs} documents, {self.n_terms} terms, {', '.join(self.fields)}>"
        )

    def terms(self, text: str) -> np.ndarray:
        """Return the terms of a text that the collection has, as often as they are in the text."""
        numbers = [self._words.find(term) for term in terms_of(text, self.analysis)]
        return np.array([number for number in numbers if number >= 0], np.int64)

    def word(self, term: int) -> str:
        """Return a term by its number."""
        return self._words[term]

    @cached_property
    def forward(self) -> Forward:
        """The terms of each document in their order."""
        return read_forward(self._data)

    def _postings(self, field: str) -> Postings:
        names = (column.name for column in dataclass_fields(Postings))
        return Postings(*(read_array(self._data / f"{field}.{name}.npy") for name in names))


def open_index(folder: str | os.PathLike, *, verify: bool = True) -> Index:
    """Open an index.

    Parameters
    ----------
    folder : path
    verify : bool, default=True
        Whether to compare all files with their checksums. Their sizes are always checked.

    Raises
    ------
    DataError
        If the folder is no index, or one that was damaged.
    """
    return Index(Path(folder), verify=verify)
