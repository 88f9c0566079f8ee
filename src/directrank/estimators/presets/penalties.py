"""The penalties that a comparison tries: every objective is 1 at zero scores, so one list serves all."""

PENALTIES = (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4)
