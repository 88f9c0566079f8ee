"""How a collection is read: its format, its encoding, and the columns of tables."""

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class CollectionOptions:
    """How to read the files of a collection.

    Attributes
    ----------
    form : str, optional
        The name of a format; by default it is detected.
    encoding : str, optional
        The encoding of the text; by default UTF-8, and cp1252 for texts that are not.
    columns : mapping of str to str
        Columns of tables and keys of JSON lines by their role, such as ``{"body": "abstract"}``. Roles are
        docid, title, body, qid, text and grade; those that are not given are guessed by usual names.
    title_ends : str, optional
        Text that ends the title, in a format without titles: what stands before its first occurrence is the
        title.
    topic_fields : tuple of str, default=("title",)
        The parts of a TREC topic that make the text of the query: title, desc, narr.
    grades : mapping of float to float
        Grades in place of the codes of the judgements, such as ``{1: 4, 4: 1}``; others stay.
    """

    form: str | None = None
    encoding: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    title_ends: str | None = None
    topic_fields: tuple[str, ...] = ("title",)
    grades: Mapping[float, float] = field(default_factory=dict)

    def __post_init__(self):
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise ValueError(f"no encoding is called {self.encoding!r}; try utf-8 or latin-1") from None


#: Usual names of columns and keys, in lower case without punctuation, the most likely ones first.
GUESSES = {
    "docid": (
        "id", "docid", "docno", "documentid", "corpusid", "did", "pid", "passageid", "doc", "document", "url",
    ),
    "title": ("title", "headline", "heading", "name"),
    "body": ("text", "body", "contents", "content", "abstract", "passage", "description"),
    "qid": ("queryid", "qid", "topicid", "topic", "id"),
    "text": ("text", "query", "title", "question"),
    "grade": ("score", "grade", "relevance", "rel", "label", "judgment", "judgement"),
}  # fmt: skip
