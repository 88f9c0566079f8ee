"""Features in half precision: two bfloat16 in a word of 32 bits.

A bfloat16 is the upper half of a float32: it has its range, and eight binary digits. Of d features, word k
holds feature k in its lower half and feature k + h in its upper half, h being half of d, rounded up. A shift
or a mask then makes a float32, and both halves of consecutive words are consecutive features.
"""

import numpy as np

from directrank.kernels.aligned import aligned_zeros
from directrank.kernels.compile import inline_kernel, kernel
from directrank.storage.mapped import is_mapped, temporary_matrix

UPPER, HALF_WORD = np.uint32(0xFFFF0000), np.uint32(16)
# Half of the last digit that is kept, less one: with that digit added, ties are rounded to even.
ROUNDING, LAST_DIGIT, INFINITE = np.uint32(0x7FFF), np.uint32(1), np.uint32(0x7F800000)


def empty_words(features: np.ndarray) -> np.ndarray:
    """Return words for some features, uint32; in a temporary file, if those are mapped from a file."""
    shape = len(features), (features.shape[1] + 1) // 2
    return temporary_matrix(shape).view(np.uint32) if is_mapped(features) else aligned_zeros(shape, np.uint32)


def as_floats(features: np.ndarray, n_features: int) -> np.ndarray:
    """Return features as float32 (n_docs, n_features); the same array if they are of single precision."""
    if features.dtype != np.uint32:
        return features
    halves = np.hstack((features << HALF_WORD, features & UPPER))
    return halves.view(np.float32)[:, :n_features].copy()


@kernel
def pack(bits, words):
    """Round float32, given as their bits (n_docs, n_features), to half precision."""
    n_words = words.shape[1]
    for i in range(bits.shape[0]):
        for k in range(n_words):
            words[i, k] = _rounded(bits[i, k]) >> HALF_WORD
        for k in range(bits.shape[1] - n_words):
            words[i, k] |= _rounded(bits[i, n_words + k])


@inline_kernel
def _rounded(bits):
    digit = (bits >> HALF_WORD) & LAST_DIGIT
    rounded = (bits + ROUNDING + digit) & UPPER
    # The largest numbers stay finite.
    return rounded if rounded & INFINITE != INFINITE else bits & UPPER


@inline_kernel
def lower(word):
    """Return the feature in the lower half of a word, float32."""
    return np.uint32(word << HALF_WORD).view(np.float32)


@inline_kernel
def upper(word):
    """Return the feature in the upper half of a word, float32."""
    return np.uint32(word & UPPER).view(np.float32)
