"""How files of documents are read: the options of `load_data`, of `compare` and of commands, each once."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any

from directrank.data.reading_record import MISSING_RULES, ReadingRecord
from directrank.errors import check_choice, of_option
from directrank.storage.hashed_file import Digests

if TYPE_CHECKING:
    import numpy as np

#: The rule that holds unless another is given.
MISSING = MISSING_RULES[0]
#: The largest number of float32.
LARGEST = float.fromhex("0x1.fffffep+127")
ROLES_OF_RUNS = ("qid", "docid", "score", "rank")


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """The options of reading that `load_data`, `compare` and most commands have; see `ReadOptions`.

    A field that is an option of the command line is annotated with its flag and its sentence there.
    """

    missing: Annotated[
        str | float | None,
        (
            "--missing RULE",
            "Value of NULL or an empty cell: nan (methods take missing values), error, query_min or a "
            "number.  [default: nan, or as a model was trained]",
        ),
    ] = None
    qid: Annotated[str | None, ("--qid COLUMN", "Column of queries in a table.  [default: by its name]")] = (
        None
    )
    label: Annotated[str | None, ("--label COLUMN", "Column of grades.  [default: by its name]")] = None
    docid: Annotated[
        str | None, ("--docid COLUMN", "Column of names of documents.  [default: by its name]")
    ] = None
    features: Annotated[
        Sequence[str] | None,
        (
            "--features COLUMNS",
            "Columns of features, or patterns such as 'bm25*', with commas.  [default: all other columns]",
        ),
    ] = None
    drop: Annotated[
        Sequence[str],
        ("--drop COLUMNS", "Columns to leave out, or patterns, with commas: those that hold no numbers."),
    ] = ()
    categorical: Annotated[
        Sequence[str] | None,
        (
            "--categorical COLUMNS",
            "Features that are categories, such as brand,language, or patterns, beside dictionaries of text "
            "in Parquet and Arrow.",
        ),
    ] = None

    def read_options(self, **more: Any) -> "ReadOptions":
        """Return these options of reading, and `more`."""
        names = (option.name for option in fields(TableOptions))
        return ReadOptions(**{**{name: getattr(self, name) for name in names}, **more})


@dataclass(frozen=True, kw_only=True)
class ReadOptions(TableOptions):
    """How to read a file of documents; LETOR text has no columns, and names of columns are refused.

    Attributes
    ----------
    qid, label, docid : str, optional
        Columns of query, grade and document name; guessed by their names if not given.
    features : sequence of str, optional
        Columns of features, or patterns such as ``bm25*``; by default, all other columns.
    drop : sequence of str, default=()
        Columns to leave out, or patterns.
    stand_ins : sequence of str, default=()
        Without `features`, the columns of features if the file has all of these, such as ``Column_0``.
    categorical : sequence of str, optional
        Features that are categories, or patterns, beside those of a type of categories; () for none.
    missing : {"nan", "error", "query_min"} or float, optional
        The meaning of a missing feature: NaN (the default), an error, the least value within the query, or a
        number.
    labelled : bool, default=True
        Whether the documents have relevance.
    grouped : bool, default=True
        Whether a table must have a column of queries; without one, all documents are one query.
    n_features : int, optional
        The number of features; any other number is refused, and LETOR text is padded with zeros.
    first_feature : {0, 1}, optional
        The number of the first feature of LETOR text; 1 by default.
    counts_fit : bool, default=False
        Whether to refuse LETOR text with fewer features than `n_features` where `first_feature` is not given.
    skips_beyond : bool, default=False
        Whether features of LETOR text beyond `n_features` are left out: the model does not say how many there
        were.
    left_out_are_missing : bool, default=False
        Whether to warn of features that LETOR text leaves out: they are 0, and were missing in training.
    qrels : path-like, optional
        TREC qrels: the file is a log of features, and `qid` and `docid` are keys of its JSON, with dots.
    log : str, optional
        The name of the log, where the plugins logged several; or the field where Solr logged features.
    verify : bool, default=True
        Whether the features of a store are compared with their digests, which reads all of them.
    digests : mapping of Path to str
        The SHA-256, in hex, that the bytes of these files must have: a comparison keeps its results under it.
    run_columns : mapping of str to str
        Columns of tables of runs by their role: qid, docid, score and rank. Those of queries and documents
        are otherwise `qid` and `docid`, where a run has them, or guessed by their names.
    chunks : str, path-like or mapping of str to str, optional
        Documents of runs are chunks: a separator, such as ``#``, or a table or mapping of chunk and document.
    chunk_score : {"max", "sum", "first"}, default="max"
        The score of a document: the largest of its chunks, their sum, or that of the first one.
    grades : mapping of float to float
        Grades of judgments in place of others, such as ``{1: 4, 4: 1}``, where runs are read with them.
    training : ReadingRecord, optional
        How the training data of a model were read: what is not named here is as it was there, where the file
        has such columns.

    Examples
    --------
    >>> from directrank import ReadOptions, evaluate_runs
    >>> how = ReadOptions(grades={1: 4, 4: 1})
    >>> result = evaluate_runs({"q": {"a": 1, "b": 4}}, {"run": {"q": {"a": 2.0, "b": 1.0}}}, how=how)
    >>> result.mean("run", "nDCG@1", "standard")
    1.0
    """

    stand_ins: Sequence[str] = ()
    labelled: bool = True
    grouped: bool = True
    n_features: Annotated[
        int | None, ("--n-features N", "Features of LETOR text.  [default: the largest number of one]")
    ] = None
    first_feature: Annotated[
        int | None,
        ("--first-feature N", "Number of the first feature of LETOR text, 0 or 1.  [default: 1]"),
    ] = None
    counts_fit: bool = False
    skips_beyond: bool = False
    left_out_are_missing: bool = False
    qrels: Annotated[
        str | PathLike | None,
        (
            "--qrels FILE",
            "TREC qrels: DATA is a JSON log of features of Elasticsearch LTR, OpenSearch LTR or Solr, and "
            "--qid and --docid are keys, such as responseHeader.params.q.",
        ),
    ] = None
    log: Annotated[
        str | None,
        ("--log NAME", "The log, if a hit has several; or Solr's field of features.  [default: [features]]"),
    ] = None
    verify: Annotated[bool, ("--no-verify", "Do not compare the features of a store with their digests.")] = (
        True
    )
    digests: Digests = field(default_factory=dict)
    run_columns: Annotated[
        Mapping[str, str],
        (
            "--run-columns ROLES",
            "Columns of tables of runs: qid=…,docid=…,score=… or rank=…  [default: by their names; the only "
            "other number is the score]",
        ),
    ] = field(default_factory=dict)
    chunks: Annotated[
        str | PathLike | Mapping[str, str] | None,
        (
            "--chunks SEPARATOR",
            "Ranked documents are chunks: what is before their number, such as '#' in doc7#3, or a table of "
            "chunk and document.",
        ),
    ] = None
    chunk_score: Annotated[
        str, ("--chunk-score RULE", "Score of a document of chunks: max, sum or first.")
    ] = "max"
    grades: Annotated[
        Mapping[float, float],
        ("--grade CODE=GRADE", "Grade in place of a code of the judgments; may be repeated."),
    ] = field(default_factory=dict)
    training: ReadingRecord | None = None

    def __post_init__(self) -> None:
        for role, name in self.run_columns.items():
            if role not in ROLES_OF_RUNS or not name:
                with of_option("run_columns"):
                    expected = "qid=COLUMN, docid=COLUMN, score=COLUMN or rank=COLUMN"
                    raise ValueError(f"{role}: expected {expected}")
        with of_option("missing"):
            rule = self.missing
            is_number = not isinstance(rule, str | None) and abs(rule) <= LARGEST
            if not (rule is None or rule in MISSING_RULES or is_number):
                expected = ", ".join(map(repr, MISSING_RULES))
                raise ValueError(f"missing={rule!r}, expected {expected} or a finite number")
        with of_option("first_feature"):
            check_choice("first_feature", self.first_feature or 0, (0, 1))
        with of_option("chunk_score"):
            check_choice("chunk_score", self.chunk_score, ("max", "sum", "first"))

    @property
    def trained(self) -> bool:
        """Whether the features are those that a model was trained with, by name."""
        return self.n_features is not None and self.features is not None

    @property
    def missing_rule(self) -> str | float:
        """The meaning of a missing feature: as named, as it was in training, or NaN."""
        rules = (self.missing, self.training and self.training.missing, MISSING)
        return next(rule for rule in rules if rule is not None)

    @property
    def first_number(self) -> int | None:
        """The number of the first feature of LETOR text: as named, or as it was in training."""
        if self.first_feature is None and self.training is not None:
            return self.training.first_feature
        return self.first_feature

    def record(self) -> ReadingRecord:
        """Return how a file was read; `Columns.record` adds the columns of a table."""
        missing = self.missing
        if missing is None and self.training is not None:
            missing = self.training.missing
        return ReadingRecord(missing=missing, first_feature=self.first_number)

    @property
    def rules_of_training(self) -> list[str]:
        """The rules of reading numbers that are as in training, and would be others by default."""
        rules = []
        if self.missing is None and self.missing_rule != MISSING:
            rules.append(f"missing values ({self.missing_rule})")
        if self.first_feature is None and self.first_number == 0:
            rules.append("first feature (0)")
        return rules

    def as_first(self, first: ReadingRecord) -> "ReadOptions":
        """Return how to read a further file of the same data: with the columns of the first one."""
        return self if self.training is not None else replace(self, training=first)

    def null(self) -> "np.float32":
        """Return what a missing value becomes: NaN, which ``query_min`` replaces; infinity to refuse it."""
        import numpy as np

        rule = self.missing_rule
        return np.float32(rule if not isinstance(rule, str) else math.inf if rule == "error" else math.nan)
