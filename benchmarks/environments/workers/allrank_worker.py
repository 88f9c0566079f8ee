"""allRank's ApproxNDCG: loss and gradient by scores, by PyTorch."""

import sys
from unittest.mock import MagicMock

import protocol  # before PyTorch counts processors

# allRank imports them for its readers of files, which are not used here.
for name in ("torchvision", "torchvision.transforms", "gcsfs"):
    sys.modules[name] = MagicMock()
import torch
from allrank.models.losses import approxNDCGLoss

torch.set_num_threads(1)


def prepare(arrays):
    """Return the work."""
    steepness = float(arrays["steepness"])
    scores, relevance = torch.tensor(arrays["scores"], requires_grad=True), torch.tensor(arrays["relevance"])

    def work():
        scores.grad = None
        value = approxNDCGLoss(scores, relevance, alpha=steepness)
        value.backward()
        return {"value": float(value), "gradient": float(scores.grad.abs().sum())}

    return work


if __name__ == "__main__":
    protocol.serve(prepare)
