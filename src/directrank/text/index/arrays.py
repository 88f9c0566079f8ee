"""Arrays and texts in files, written piece by piece and read as they lie on disk."""

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

#: The bytes of the header of a .npy file of one dimension; numpy leaves room for a length of 21 digits.
HEADER = 128
#: The encoding of texts; halves of surrogate pairs, which JSON may hold, survive.
ENCODING, ERRORS = "utf-8", "surrogatepass"


class ArrayWriter:
    """Writes a .npy file of one dimension whose length is known only at its end.

    Parameters
    ----------
    path : Path
    dtype : type
    """

    def __init__(self, path: Path, dtype: type):
        self.dtype, self.length = np.dtype(dtype), 0
        self._file: BinaryIO = path.open("wb")
        self._file.write(b"\0" * HEADER)

    def append(self, values: np.ndarray) -> None:
        """Write more values."""
        self._file.write(np.ascontiguousarray(values, self.dtype).data)
        self.length += len(values)

    def close(self) -> None:
        """Write the header and close the file."""
        header = io.BytesIO()
        fields = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.length,)}
        np.lib.format.write_array_header_1_0(header, fields)
        if len(header.getvalue()) != HEADER:
            raise AssertionError("numpy writes headers of another size")
        self._file.seek(0)
        self._file.write(header.getvalue())
        self._file.close()


def read_array(path: Path) -> np.ndarray:
    """Return the array of a .npy file, mapped from disk; an empty one is read."""
    if path.stat().st_size == HEADER:
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
        ends = self._end + np.cumsum([len(each) for each in content], dtype=np.int64)
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
        low, high = 0, len(self._order)
        while low < high:
            middle = (low + high) // 2
            if self.bytes_of(self._order[middle]) < wanted:
                low = middle + 1
            else:
                high = middle
        if low < len(self._order) and self.bytes_of(self._order[low]) == wanted:
            return int(self._order[low])
        return -1


def write_order(folder: Path, name: str) -> None:
    """Write the numbers of texts in the order of their bytes, as `Names` needs them."""
    texts = Texts(folder, name)
    content = [texts.bytes_of(number) for number in range(len(texts))]
    np.save(
        folder / f"{name}.order.npy", np.array(sorted(range(len(content)), key=content.__getitem__), np.int32)
    )
