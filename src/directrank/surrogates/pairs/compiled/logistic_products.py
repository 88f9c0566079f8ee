r"""Logistic losses on pairs of one weight: one logarithm for the product of many pairs.

A factor of the product, :math:`1 - q = \max(e_i, e_j) / (e_i + e_j)`, is between ½ and 1; see
`directrank.surrogates.pairs.compiled.logistic`.
"""

import math

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.plugins import WIDTH

# Fours of winners whose factors fit float32, and with those of `WIDTH` losers float64.
FOURS = 15


@kernel
def four_equal(e, s, weight, powers, scores, products, slopes):
    """Return the linear part of the value of four winners and minus their slopes; add the losers' slopes.

    The `products` of losers are multiplied by their factors. Neither value nor slopes are weighted, but those
    that are added are.
    """
    real = powers.dtype.type
    none, one, w = real(0), real(1), real(weight)
    linear, pull0, pull1, pull2, pull3 = none, none, none, none, none
    for j in range(len(powers)):
        x, z = powers[j], scores[j]
        u0, u1, u2, u3 = e[0] + x, e[1] + x, e[2] + x, e[3] + x
        r, t = one / (u0 * u1), one / (u2 * u3)
        b0, b1, b2, b3 = x * (u1 * r), x * (u0 * r), x * (u3 * t), x * (u2 * t)
        products[j] *= (max(e[0], x) * (max(e[1], x) * r)) * (max(e[2], x) * (max(e[3], x) * t))
        linear += (max(z - s[0], none) + max(z - s[1], none)) + (max(z - s[2], none) + max(z - s[3], none))
        slopes[j] += w * ((b0 + b1) + (b2 + b3))
        pull0 += b0
        pull1 += b1
        pull2 += b2
        pull3 += b3
    return linear, (pull0, pull1, pull2, pull3)


@kernel
def _minus_logs(products):
    # Return −Σ ln of the products and set them to 1.
    total = 0.0
    for block in range(len(products) // WIDTH + 1):
        some, product = products[block * WIDTH : (block + 1) * WIDTH], 1.0
        for j in range(len(some)):
            product *= np.float64(some[j])
            some[j] = 1
        total -= math.log(product)
    return total


@kernel
def fours_of_winners(weight, typed, first, fours, start, size):
    """Return the value of the pairs of the first winners of a run, in fours; change slopes.

    Rows of `typed` are powers, centred scores, slopes, and space for products.
    """
    e, s, slopes, products, total = typed[0], typed[1], typed[2], typed[3, start : start + size], 0.0
    powers, scores, changes = e[start : start + size], s[start : start + size], slopes[start : start + size]
    for j in range(size):
        products[j] = 1
    for four in range(fours):
        a = first + 4 * four
        linear, pulls = four_equal(
            (e[a], e[a + 1], e[a + 2], e[a + 3]), (s[a], s[a + 1], s[a + 2], s[a + 3]), weight, powers,
            scores, products, changes,
        )  # fmt: skip
        total += np.float64(linear)
        for k in range(4):
            slopes[a + k] -= typed.dtype.type(weight * pulls[k])
        if four % FOURS == FOURS - 1 or four == fours - 1:
            total += _minus_logs(products)
    return weight * total
