"""fastrank's coordinate ascent by nDCG, from arrays to scores."""

import protocol  # before fastrank counts processors
from fastrank import CDataset, TrainRequest


def prepare(arrays):
    """Return the work, and what is checked of it."""
    X, relevance, qid = (arrays[name] for name in ("X", "relevance", "qid"))
    request = TrainRequest.coordinate_ascent()
    request.measure = str(arrays["measure"])
    request.params.seed, request.params.quiet = 0, True
    request.params.num_restarts = int(arrays["restarts"])

    data = CDataset.from_numpy(X, relevance, qid)
    return lambda: data.train_model(request), lambda model: {"scores": model.predict_dense_scores(data)}


if __name__ == "__main__":
    protocol.serve(prepare)
