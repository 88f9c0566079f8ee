"""Which form a file of documents, judgments or scores has, by its first line."""

from pathlib import Path

from directrank.data.letor.blocks import blocks_of
from directrank.data.store.manifest import manifest_of
from directrank.errors import DataFormatError

LETOR, QRELS, RUN, SCORES = "letor", "qrels", "run", "scores"
#: What each form is called in messages.
CALLED = {
    LETOR: "labelled documents",
    QRELS: "qrels",
    RUN: "a TREC run",
    SCORES: "a file of scores",
}
_BY_WORDS = {1: SCORES, 4: QRELS, 6: RUN}


def form_of(path: Path) -> str:
    """Return the form of a file: labelled documents, qrels, a TREC run, or one score a line.

    Raises
    ------
    DataFormatError
        If the first line fits none of them, or there is none.
    """
    if manifest_of(path):
        return LETOR
    for block in blocks_of(path):
        for start, stop in zip(block.starts, block.stops, strict=True):
            words = block.bytes[start:stop].tobytes().split()
            if not words or words[0].startswith(b"#"):
                continue
            if len(words) > 1 and b":" in words[1]:
                return LETOR
            if len(words) in _BY_WORDS:
                return _BY_WORDS[len(words)]
            raise block.error(
                int(start),
                f"found {len(words)} words, expected qrels (four), a TREC run (six), one score, or "
                "labelled documents (grade qid:query feature:value …)",
            )
    raise DataFormatError(str(path), 0, 0, "is empty, expected labelled documents, qrels, a run or scores")
