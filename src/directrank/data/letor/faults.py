"""The faults of a LETOR file, and their messages."""

from directrank.data.letor.blocks import Block
from directrank.errors import DataFormatError

# Codes that kernels return.
FINE, LABEL, NEGATIVE, QID, EMPTY_QID, FEATURE, ZERO_ID, BIG_ID = range(8)
REPEATED_ID, UNSORTED_ID, BEYOND, VALUE, MISSING, OVERFLOW, FOREIGN_ROW = range(8, 15)
LARGEST_ID = 2**31 - 1

SHOWN = 40
EXPECTED = {
    LABEL: "expected a label: a finite number of 0 or more",
    NEGATIVE: "expected a label of 0 or more",
    QID: "expected qid:<query>",
    EMPTY_QID: "expected a query after qid:",
    FEATURE: "expected <feature id>:<number> with an id of 1 or more",
    ZERO_ID: "expected an id of 1 or more: feature ids count from 1",
    BIG_ID: f"expected a feature id of at most {LARGEST_ID}",
    REPEATED_ID: "expected an id above the one before: this feature has a value already",
    UNSORTED_ID: "expected an id above the one before: ids ascend within a line",
    BEYOND: "expected a feature id of at most n_features={n_features}",
    VALUE: "expected a finite decimal number",
    MISSING: "expected a number; give missing='query_min' (the least value within the query) "
    "or missing=<number> to fill missing values",
    OVERFLOW: "expected a number that fits float32 (at most 3.4e38)",
    FOREIGN_ROW: "expected the end: the file changed while it was read",
}


def fault(block: Block, code: int, offset: int, n_features: int = 0) -> DataFormatError:
    """Return the error for a fault: the text found at an offset of a block, and the text expected."""
    line = block.line_of(offset)
    found = token_at(block, line, offset)
    expected = EXPECTED[code].format(n_features=n_features)
    return fault_at(block, line, offset, f"found {found}, {expected}")


def fault_at(block: Block, line: int, offset: int, problem: str) -> DataFormatError:
    """Return an error that names the line and column of an offset of a block."""
    column = offset - int(block.starts[line]) + 1
    return DataFormatError(str(block.path), block.first_line + line, column, problem)


def token_at(block: Block, line: int, offset: int) -> str:
    """Quote the text at an offset, cut to a readable length."""
    rest = block.bytes[offset : min(int(block.stops[line]), offset + 4 * SHOWN)].tobytes()
    token = rest.split(b" ")[0].split(b"\t")[0].split(b"#")[0] if rest[:1] != b"#" else b""
    if not token:
        return "the end of the line's data"
    text = ascii(token.decode("utf-8", "backslashreplace"))
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…'"
