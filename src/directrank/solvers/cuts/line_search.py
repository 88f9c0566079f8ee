"""The minimum of a convex function on a half line, from its values and slopes."""

from collections.abc import Callable


def minimise_on_line(
    along: Callable[[float], tuple[float, float]], tolerance: float = 1e-6, max_steps: int = 40
) -> tuple[float, float]:
    """Minimise a convex function of t ≥ 0 that returns value and slope; return the best t and its value.

    The bracket is cut where the tangents of its ends meet, or in the middle when that does not shrink it.
    """
    low, (value, slope) = 0.0, along(0.0)
    best = (value, 0.0)
    if slope >= 0:
        return 0.0, value
    low_value, low_slope = value, slope
    high = 1.0
    high_value, high_slope = along(high)
    while high_slope < 0 and high < 1e6:
        best = min(best, (high_value, high))
        low, low_value, low_slope = high, high_value, high_slope
        high *= 2.0
        high_value, high_slope = along(high)
    best = min(best, (high_value, high))
    for step in range(max_steps):
        meet = (high_value - low_value + low_slope * low - high_slope * high) / (low_slope - high_slope)
        below = low_value + low_slope * (meet - low)
        if best[0] - below <= tolerance * abs(best[0]) or high - low <= 1e-12 * high:
            break
        t = 0.5 * (low + high) if step % 3 == 2 or not low < meet < high else meet
        value, slope = along(t)
        best = min(best, (value, t))
        if slope < 0:
            low, low_value, low_slope = t, value, slope
        else:
            high, high_value, high_slope = t, value, slope
    return best[1], best[0]
