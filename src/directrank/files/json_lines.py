"""Lines of JSON, or one value over several lines."""

from collections.abc import Iterator
from pathlib import Path

from directrank.errors import DataFormatError
from directrank.files.opening import ANY_DIGEST, Digests, opened, refuse_special
from directrank.storage.strict_json import Plain, StrictJSONError, parse


def json_lines(path: Path, expected: str, digests: Digests = ANY_DIGEST) -> Iterator[tuple[int, Plain]]:
    """Yield the number and the value of each line of JSON; a first line that is none begins the only value.

    Raises DataFormatError if a line is not JSON; `expected` says what is.
    """
    refuse_special(path)
    with opened(path, digests) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                value = parse(line)
            except StrictJSONError as error:
                try:
                    if number > 1:
                        raise
                    value = parse(line + file.read())
                except StrictJSONError:
                    problem = f"is not JSON ({error}); expected {expected}"
                    raise DataFormatError(str(path), number, 1, problem) from None
            yield number, value
