"""How a file of documents was read, which a model of these documents remembers."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from directrank.errors import ModelFormatError

#: Rules for missing values, beside numbers: they stay missing, are refused, or are the least of the query.
MISSING_RULES = ("nan", "error", "query_min")


@dataclass(frozen=True, kw_only=True)
class ReadingRecord:
    """How a file of documents was read, as `load_data` takes it.

    Attributes
    ----------
    qid, label, docid : str or None
        The columns of a table by their role; None without such a column.
    drop : tuple of str
        The columns that were left out.
    missing : {"nan", "error", "query_min"} or float or None
        The meaning of a missing feature; None if none was asked for, which is NaN.
    first_feature : {0, 1} or None
        The number of the first feature of LETOR text; None if it was not named.
    """

    qid: str | None = None
    label: str | None = None
    docid: str | None = None
    drop: tuple[str, ...] = ()
    missing: str | float | None = None
    first_feature: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what is not the default as plain values, for JSON."""
        values = {**asdict(self), "drop": list(self.drop) or None}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def read(cls, values: object) -> "ReadingRecord":
        """Return the record that `to_dict` wrote; what a later release adds is ignored.

        Raises ModelFormatError if a value is none that a record can have.
        """
        if not isinstance(values, Mapping):
            raise ModelFormatError("its record of how data were read is none")
        values = {name: value for name, value in values.items() if name in cls.__dataclass_fields__}
        drop, missing = values.pop("drop", []), values.pop("missing", None)
        first_feature = values.pop("first_feature", None)
        is_number = type(missing) in (int, float) and math.isfinite(missing)
        if not (
            all(isinstance(name, str) for name in values.values())
            and isinstance(drop, list)
            and all(isinstance(name, str) for name in drop)
            and (missing is None or missing in MISSING_RULES or is_number)
            and (first_feature is None or (type(first_feature) is int and first_feature in (0, 1)))
        ):
            raise ModelFormatError("its record of how data were read is not complete")
        return cls(**values, drop=tuple(drop), missing=missing, first_feature=first_feature)
