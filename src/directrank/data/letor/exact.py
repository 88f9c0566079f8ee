"""Decimals whose nearest float32 the fast reader cannot tell."""

from decimal import Decimal

import numpy as np

BEYOND_FLOAT32 = 2.0**128


def nearest_float32(text: str) -> np.float32:
    """Round a finite decimal to float32, to nearest and ties to even.

    Rounding to float64 first may round twice: a decimal just above the middle of two float32 can fall on
    the middle. Only there are its digits compared in full.
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
