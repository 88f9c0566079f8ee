"""Ordered categories, such as bad < fair < good, as relevance grades."""

import numpy as np

from directrank.errors import DataError

SHOWN = 5


def as_grades(relevance, where: str = ""):
    """Return relevance with ordered categories replaced by 0, 1, …, from the lowest category up.

    Categories that are numbers stand for themselves, a missing category becomes NaN, and relevance of any
    other kind is returned unchanged.

    Parameters
    ----------
    relevance : array, or series of pandas or polars
    where : str, default=""
        Begins the message.

    Raises
    ------
    DataError
        If the categories have no order.
    """
    dtype = getattr(relevance, "dtype", None)
    kind = type(dtype).__name__
    if kind == "CategoricalDtype":
        return _grades_of_pandas(relevance, dtype, where)
    if kind == "Categorical":
        raise DataError(
            f"{where}relevance has categories without an order; cast them to pl.Enum([…]), the lowest first"
        )
    return relevance.to_physical().to_numpy() if kind == "Enum" else relevance


def _grades_of_pandas(relevance, dtype, where: str) -> np.ndarray:
    categories = np.asarray(dtype.categories)
    if categories.dtype.kind in "biuf":
        return np.asarray(relevance, dtype=np.float64)
    if not dtype.ordered:
        names = ", ".join(map(str, categories[:SHOWN]))
        raise DataError(
            f"{where}relevance has categories without an order ({names}{', …' * (len(categories) > SHOWN)}); "
            "order them by pd.Categorical(values, categories=[…], ordered=True), the lowest first"
        )
    codes = np.asarray(getattr(relevance, "cat", relevance).codes)
    return np.where(codes < 0, np.nan, codes)
