"""Exact rounding of decimals whose nearest float32 the fast reader cannot decide."""

from decimal import Decimal

import numpy as np

BEYOND_FLOAT32 = 2.0**128


def nearest_float32(text: str) -> np.float32:
    """Round a finite decimal to float32, to nearest and ties to even.

    Rounding to float64 first would round twice: a decimal just above the midpoint of two float32 can become
    the midpoint. Only in this case are all its digits compared.
    """
    double = float(text)
    with np.errstate(over="ignore", under="ignore"):
        value = np.float32(double)
        toward = np.float32(-np.inf if double < float(value) else np.inf)
        neighbour = np.nextafter(value, toward)
    middle = (_real(value) + _real(neighbour)) / 2
    if double != middle:
        return value
    exact, at = Decimal(text), Decimal(middle)
    if exact == at:
        return value
    return max(value, neighbour) if exact > at else min(value, neighbour)


def _real(value: np.float32) -> float:
    return float(np.clip(np.float64(value), -BEYOND_FLOAT32, BEYOND_FLOAT32))
