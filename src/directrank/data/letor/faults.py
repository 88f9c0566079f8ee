"""The faults of a LETOR file, and their messages."""

from directrank.data.letor.blocks import Block
from directrank.errors import DataFormatError

# Codes that kernels return.
FINE, LABEL, NEGATIVE, NO_QID, EMPTY_QID, FEATURE, ZERO_ID, BIG_ID = range(8)
REPEATED_ID, UNSORTED_ID, BEYOND, VALUE, MISSING, OVERFLOW, FOREIGN_ROW = range(8, 15)
LARGEST_ID = 2**31 - 1

SHOWN = 40
EXPECTED = {
    LABEL: "expected a label: a finite number of 0 or more",
    NEGATIVE: "expected a label of 0 or more",
    NO_QID: "expected qid:<query>",
    EMPTY_QID: "expected a query after qid:",
    FEATURE: "expected <feature id>:<number> with an id of 1 or more",
    ZERO_ID: "expected an id of 1 or more: feature ids count from 1; a file that counts from 0 is read "
    "with first_feature=0 in Python, or turned into a store by `directrank convert --first-feature 0`",
    BIG_ID: f"expected a feature id of at most {LARGEST_ID}",
    REPEATED_ID: "expected an id above the one before: this feature has a value already",
    UNSORTED_ID: "expected an id above the one before: ids ascend within a line",
    BEYOND: "expected a feature id of at most n_features={n_features}",
    VALUE: "expected a finite decimal number",
    MISSING: "expected a number; give missing='nan' (methods take missing values), missing='query_min' (the "
    "least value within the query) or missing=<number>",
    OVERFLOW: "expected a number that fits float32 (at most 3.4e38)",
    FOREIGN_ROW: "expected the end: the file changed while it was read",
}


def fault(block: Block, code: int, offset: int, n_features: int = 0) -> DataFormatError:
    """Return the error for a fault: the text found at an offset of a block, and the text expected."""
    text = ascii(block.token(offset))
    found = text if len(text) <= SHOWN else f"{text[:SHOWN]}…'"
    if text == "''":
        found = "the end of the line's data"
    return block.error(offset, f"found {found}, {EXPECTED[code].format(n_features=n_features)}")
