"""The largest φ(x) Δ over all rankings: bounds of a pair that no loss-augmented search reaches directly.

Rankings are points (Δ, x) of loss and margin. Maximising ρΔ − x for every ρ ≥ 0 visits the corners of their
upper hull; the best corner is attained, and the best point of the hull's edges is an upper bound of the
maximum.
"""

from collections.abc import Callable

import numpy as np

from directrank.surrogates.margins import Exponential, Hinge, Logistic

#: What multiplies the loss of a pair, by the name of the bound.
FACTORS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "step, Eq. (6)": lambda x: (x <= 0).astype(float),
    "exponential": Exponential().value,
    "logistic": Logistic().value,
    "slack-rescaled hinge": Hinge().value,
}
MOST_CORNERS = 256
POINTS = 65


def hull(search: Callable[[float], tuple[float, float]]) -> np.ndarray:
    """Return the corners (Δ, x) of the upper hull by ascending loss, float64 (n_corners, 2).

    Parameters
    ----------
    search : callable
        From ρ to the loss and the margin of a ranking that maximises ρΔ − x.
    """
    first, last = search(1e-9), search(1e9)
    corners, open_edges = [first, last], [(first, last)]
    while open_edges and len(corners) < MOST_CORNERS:
        a, b = open_edges.pop()
        if b[0] - a[0] <= 1e-12:
            continue
        rho = max((b[1] - a[1]) / (b[0] - a[0]), 1e-9)
        c = search(rho)
        if rho * c[0] - c[1] > rho * a[0] - a[1] + 1e-12 * (1.0 + abs(c[1])):
            corners.append(c)
            open_edges += [(a, c), (c, b)]
    return np.array(sorted(corners))


def largest(corners: np.ndarray, factor: Callable[[np.ndarray], np.ndarray]) -> tuple[float, float]:
    """Return the largest Δ φ(x) at a corner, and on the edges between corners."""
    at_corners = float((corners[:, 0] * factor(corners[:, 1])).max())
    t = np.linspace(0.0, 1.0, POINTS)[:, None, None]
    edges = (1.0 - t) * corners[:-1] + t * corners[1:]
    on_edges = float((edges[..., 0] * factor(edges[..., 1])).max(initial=0.0))
    return at_corners, max(at_corners, on_edges)
