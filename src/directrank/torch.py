"""Losses for networks in PyTorch; see `directrank.apps.libraries.torch`."""

from directrank.apps.libraries.torch import RankingLoss

__all__ = ["RankingLoss"]
