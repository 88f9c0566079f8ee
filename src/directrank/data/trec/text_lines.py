"""Read small text files and pipes line by line; a file without line ends is refused while it is read."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from directrank.errors import DataFormatError

#: The longest line, in bytes.
LONGEST = 2**16


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of every line that is not empty, without blanks at its ends.

    Raises
    ------
    DataFormatError
        If a line is longer than `LONGEST`.
    """
    with path.open("rb") as file:
        for number in count(1):
            line = file.readline(LONGEST + 1)
            if not line:
                return
            if len(line) > LONGEST:
                problem = f"the line is longer than {LONGEST} bytes, the longest that is read"
                raise DataFormatError(str(path), number, 1, problem)
            if text := line.decode("utf-8", "replace").strip():
                yield number, text
