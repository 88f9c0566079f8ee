"""The largest φ(x) Δ over all rankings: bounds of a pair that no loss-augmented search reaches directly.

Rankings are points (Δ, x) of loss and margin. Maximising ρΔ − x for every ρ ≥ 0 visits the corners of their
hull, on which x is least for each Δ. Because φ falls, no ranking exceeds the largest φ(x) Δ on the hull; a
corner is a ranking, so its value is attained.
"""

from collections import deque
from collections.abc import Callable

import numpy as np

from directrank.surrogates.margins import Exponential, Hinge, Indicator, Logistic, Margin

#: φ, which multiplies the loss of a pair, by the name of the bound.
FACTORS: dict[str, Margin] = {
    "step, Eq. (6)": Indicator(),
    "exponential": Exponential(),
    "logistic": Logistic(2.0),
    "slack-rescaled hinge": Hinge(),
}
MOST_CORNERS = 2048
# An edge that could raise no bound by more than this share is not searched.
NEGLIGIBLE = 1e-6
HALVINGS = 50


def hull(search: Callable[[float], tuple[float, float]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Search the hull where a bound of `FACTORS` could be largest, wide edges first.

    Parameters
    ----------
    search : callable
        From ρ to the loss and the margin of a ranking that maximises ρΔ − x.

    Returns
    -------
    corners : ndarray of shape (n_corners, 2)
        (Δ, x) of rankings.
    edges : ndarray of shape (n_edges, 2, 2)
        Pairs of corners, Δ and x ascending, under which no ranking lies beyond the edge.
    outer : ndarray of shape (n_left, 2)
        Larger in Δ and smaller in x than any ranking under an edge that was not searched.
    """
    corners, edges, outer = [search(1e-9), search(1e9)], [], []
    best = [max(_value(factor, *each) for each in corners) for factor in FACTORS.values()]
    waiting = deque([(corners[0], corners[1])])
    while waiting:
        a, b = waiting.popleft()
        if len(corners) >= MOST_CORNERS or not _matters(a, b, best):
            outer.append((b[0], a[1]))
            continue
        rho = max((b[1] - a[1]) / (b[0] - a[0]), 1e-9) if b[0] > a[0] else 0.0
        c = search(rho) if rho else a
        if rho * c[0] - c[1] <= rho * a[0] - a[1] + 1e-12 * (1.0 + abs(c[1])):
            edges.append((a, b))
            continue
        corners.append(c)
        best = [max(old, _value(each, *c)) for old, each in zip(best, FACTORS.values(), strict=True)]
        waiting += [(a, c), (c, b)]
    return np.array(corners), np.array(edges).reshape(-1, 2, 2), np.array(outer).reshape(-1, 2)


def _value(factor, loss: float, margin: float) -> float:
    return loss * float(factor.value(np.float64(margin)))


def _matters(a, b, best) -> bool:
    values = (_value(factor, b[0], a[1]) for factor in FACTORS.values())
    return any(value > (1.0 + NEGLIGIBLE) * old for value, old in zip(values, best, strict=True))


def largest(corners: np.ndarray, edges: np.ndarray, outer: np.ndarray, factor) -> tuple[float, float]:
    """Return the largest Δ φ(x) at a corner, and what no ranking exceeds (but for rounding, 1e-9)."""
    at_corners = float((corners[:, 0] * factor.value(corners[:, 1])).max())
    above = _most_on_edges(edges[:, 0], edges[:, 1], factor).max(initial=at_corners)
    return at_corners, float((outer[:, 0] * factor.value(outer[:, 1])).max(initial=above))


def _most_on_edges(a: np.ndarray, b: np.ndarray, factor) -> np.ndarray:
    """Return a bound on Δ φ(x) along each edge from a to b."""
    loss, margin = a.T
    more_loss, more_margin = np.maximum(b - a, 0.0).T
    if isinstance(factor, Indicator):
        crossing = np.divide(-margin, more_margin, out=np.ones_like(margin), where=more_margin > 0)
        return np.where(margin <= 0, loss + np.clip(crossing, 0.0, 1.0) * more_loss, 0.0)
    # Δ is linear and φ log-concave along an edge: the product rises, then falls. Halve until the top is
    # between low and high; there Δ is at most that at high, and φ at most that at low.
    low, high = np.zeros(len(a)), np.ones(len(a))
    for _ in range(HALVINGS):
        t = 0.5 * (low + high)
        x = margin + t * more_margin
        rises = more_loss * factor.value(x) + (loss + t * more_loss) * more_margin * factor.slope(x) > 0
        low, high = np.where(rises, t, low), np.where(rises, high, t)
    return (loss + high * more_loss) * factor.value(margin + low * more_margin)
