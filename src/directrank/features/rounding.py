"""Features whose values are so large and close together that float32 does not tell them apart."""

import numpy as np

#: Large values of a feature that are within so many steps of float32 are hardly told apart.
FEW_STEPS = 1000
#: The steps of smaller numbers are at most 1.
LARGE = 2.0**24
#: Rows that are read first.
N_SAMPLED = 64


def rounding_steps(smallest: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """Return the step of float32 to whose multiples each feature is rounded, or 0 where it is fine enough."""
    step = np.spacing(np.maximum(np.abs(smallest), np.abs(largest)).astype(np.float32))
    return np.where((step > 1.0) & (largest - smallest < FEW_STEPS * step), step, 0.0)


def rounded_features(features: np.ndarray) -> dict[int, float]:
    """Return the features, float32 (n_docs, n_features), that float32 rounds, with its steps.

    All values of such a feature are nearly as large as the largest, so that a few rows clear most features.
    """
    sample = features[:: max(1, len(features) // N_SAMPLED)]
    # No comparison with a missing value is true.
    (columns,) = np.nonzero(~(np.abs(sample) < LARGE / 2).any(axis=0))
    steps = {}
    for k in columns.tolist():
        column = features[:, k]
        values = column[~np.isnan(column)]
        if len(values) and (step := float(rounding_steps(values.min(), values.max()))):
            steps[k] = step
    return steps
