"""LETOR text without queries, whose sizes are in a file beside it, as LightGBM and XGBoost read them."""

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from directrank.errors import DataFormatError
from directrank.files.opening import Block, Digests, blocks_of, numbered_lines

#: What is added to the name of the data: by LightGBM, and by XGBoost.
ENDINGS = (".query", ".group")
#: What LightGBM and XGBoost read beside the data, and this reader does not.
NOT_READ = (".weight", ".weights", ".init", ".position", ".base_margin")
#: Endings of text, which names of queries leave out: those of rank.train and rank.test differ.
OF_TEXT = re.compile(r"(\.(txt|dat|data|svm|libsvm|letor))?(\.(gz|bz2|xz|zst))?$", re.IGNORECASE)
#: The first word of a line, and the blanks before it.
LABEL = re.compile(rb"[ \t]*[^ \t\r\n#]*")
#: What the name of a query cannot hold.
NO_NAME = re.compile(r"[\s#]")


def size_files(path: Path) -> list[Path]:
    """Return the file of the sizes of queries beside a file of documents, if there is one."""
    return [beside for ending in ENDINGS if (beside := Path(f"{path}{ending}")).is_file()][:1]


def blocks_with_queries(path: Path, digests: Digests) -> Iterator[Block]:
    """Yield the blocks of a file; where lines have no qid and sizes are beside it, each line gets one.

    Queries are called by the file and their number, such as ``train-1``. Raises DataFormatError if the sizes
    are not whole numbers above 0, or their sum is not the number of documents.
    """
    beside = size_files(path)
    if not beside or _has_queries(path):
        yield from blocks_of(path, digests)
        return
    stem, n_rows = NO_NAME.sub("_", OF_TEXT.sub("", path.name)), 0
    sizes = enumerate(_sizes(beside[0]), 1)
    qids = [qid for number, size in sizes for qid in [f" qid:{stem}-{number}".encode()] * size]
    for block in blocks_of(path, digests):
        lines = block.bytes.tobytes().splitlines(keepends=True)
        added = np.zeros((len(lines), 2), np.int64)
        for number, line in enumerate(lines):
            if not _is_document(line):
                continue
            if n_rows == len(qids):
                problem = f"{beside[0]} counts {n_rows} documents, and this is one more"
                raise block.error(int(block.starts[number]), problem)
            place = next(LABEL.finditer(line)).end()
            lines[number] = line[:place] + qids[n_rows] + line[place:]
            added[number] = place, len(qids[n_rows])
            n_rows += 1
        # Of a bytearray, as other blocks are: numba compiles other code for arrays that cannot be written.
        yield Block(path, np.frombuffer(bytearray().join(lines), np.uint8), block.first_line, added)
    if n_rows < len(qids):
        problem = f"counts {len(qids)} documents, and {path} has {n_rows}; expected the size of each query"
        raise DataFormatError(str(beside[0]), 0, 0, problem)


def check_beside(path: Path, query: np.ndarray) -> None:
    """Warn of files beside a file of documents that are not read.

    Raises DataFormatError if the sizes of queries beside it are not those of `query`, the query of each row.
    """
    for ending in NOT_READ:
        if (unread := Path(f"{path}{ending}")).is_file():
            warnings.warn(
                f"{unread} is not read: rows of {path.name} have no weights, positions or first scores here; "
                "pass sample_weight= to fit",
                UserWarning,
                stacklevel=5,
            )
    for sizes in size_files(path):
        ends = np.flatnonzero(np.diff(query, append=-1)) + 1
        stated = np.cumsum(_sizes(sizes))
        if not np.array_equal(ends, stated):
            short = min(len(ends), len(stated))
            first = int(np.argmax(np.append(ends[:short] != stated[:short], True)))
            problem = (
                f"query {first + 1} does not end where the qid of {path.name} changes; remove one of both: "
                "LightGBM reads the sizes, and this reader the qid"
            )
            raise DataFormatError(str(sizes), first + 1, 1, problem)


def _has_queries(path: Path) -> bool:
    """Whether the first document of a file has its query."""
    for block in blocks_of(path):
        for line in block.bytes.tobytes().splitlines():
            if _is_document(line):
                return b"qid:" in line.partition(b"#")[0]
    return False


def _is_document(line: bytes) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(b"#")


def _sizes(path: Path) -> list[int]:
    sizes = []
    for line, text in numbered_lines(path):
        if not text.isdecimal() or not int(text):
            problem = f"found {text[:40]!r}, expected the number of documents of a query"
            raise DataFormatError(str(path), line, 1, problem)
        sizes.append(int(text))
    return sizes
