"""Ranking losses for the cross-encoders of sentence-transformers.

::

    from directrank.apps.text.sentence_transformers import RankingLoss

    loss = RankingLoss(model, "lambdaloss(nDCG@10)")
    CrossEncoderTrainer(model=model, train_dataset=lists, loss=loss).train()
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from directrank.contracts import Measure, Surrogate
from directrank.errors import DataError, install_line

try:
    batch_to_device: Any = import_module("sentence_transformers.util").batch_to_device
except ImportError:
    line = install_line("sentence-transformers")
    raise ImportError(
        f"directrank.apps.text.sentence_transformers needs sentence-transformers: {line}"
    ) from None

from directrank.apps.libraries.torch import RankingLoss as DocumentLoss
from directrank.storage.strict_json import JSONObject

torch: Any = import_module("torch")


class RankingLoss(torch.nn.Module):
    """A loss of directrank on the scores of a cross-encoder, for `CrossEncoderTrainer`.

    A row of the training set is a query, the list of its documents and the list of their relevance, as for
    LambdaLoss of sentence-transformers: ``{"query": …, "docs": […], "labels": […]}``. Lists may differ in
    length.

    Parameters
    ----------
    model : CrossEncoder
        With one output.
    loss : str or Surrogate
        As in `directrank.torch.RankingLoss`, such as ``"lambdaloss(nDCG@10)"``, ``"listnet"`` or
        ``"approxndcg"``.
    measure : str or Measure, optional
        The measure of a method that takes one.
    mini_batch_size : int, optional
        How many pairs of a query and a document the model scores at once; by default all of a batch.
    **parameters
        Of the method.

    Raises
    ------
    UnfitPairError
        If the loss has no gradient, or is only defined with a solver of its own.
    ValueError
        If the model has several outputs, or there is no such method.
    """

    def __init__(
        self,
        model: Any,
        loss: str | Surrogate,
        *,
        measure: str | Measure | None = None,
        mini_batch_size: int | None = None,
        **parameters: Any,
    ):
        super().__init__()
        if model.num_labels != 1:
            raise ValueError(
                f"the model has {model.num_labels} outputs; a ranking loss needs one: num_labels=1"
            )
        self.model, self.mini_batch_size = model, mini_batch_size
        self.loss = DocumentLoss(loss, measure=measure, **parameters)

    def forward(
        self, inputs: Sequence[Any], labels: Sequence[Any], prompt: str | None = None, task: str | None = None
    ) -> Any:
        """Return the mean loss of a batch, a tensor with one number.

        Parameters
        ----------
        inputs : list of str, and list of list of str
            Queries, and the documents of each.
        labels : list of Tensor
            The relevance of the documents of each query, not negative.
        prompt, task : str, optional
            Passed to the model.

        Raises
        ------
        DataError
            If labels are no lists as long as those of documents, or relevance is negative or not finite.
        """
        queries, documents = inputs
        sizes = [len(texts) for texts in documents]
        if isinstance(labels, torch.Tensor) or [len(grades) for grades in labels] != sizes:
            raise DataError(
                "labels are no lists as long as those of documents: one number per document is needed"
            )
        pairs = [(query, text) for query, texts in zip(queries, documents, strict=True) for text in texts]
        step, scores = self.mini_batch_size or max(len(pairs), 1), []
        for start in range(0, len(pairs), step):
            tokens = self.model.preprocess(pairs[start : start + step], prompt=prompt, task=task)
            scores.append(self.model(batch_to_device(tokens, self.model.device))["scores"].view(-1))
        return self.loss(
            torch.cat(scores), torch.cat(list(labels)), qid=np.repeat(np.arange(len(sizes)), sizes)
        )

    def get_config_dict(self) -> JSONObject:
        """Return the loss and the size of mini-batches, for the card of the model."""
        return {"loss": self.loss.surrogate.name, "mini_batch_size": self.mini_batch_size}
