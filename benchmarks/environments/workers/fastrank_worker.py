"""fastrank's coordinate ascent by nDCG, from arrays to scores."""

import protocol  # before fastrank counts processors
from fastrank import CDataset, TrainRequest


def prepare(arrays):
    """Return the work."""
    X, relevance, qid = (arrays[name] for name in ("X", "relevance", "qid"))
    request = TrainRequest.coordinate_ascent()
    request.measure = str(arrays["measure"])
    request.params.seed, request.params.quiet = 0, True
    request.params.num_restarts = int(arrays["restarts"])

    def work():
        data = CDataset.from_numpy(X, relevance, qid)
        return {"scores": data.train_model(request).predict_dense_scores(data)}

    return work


if __name__ == "__main__":
    protocol.serve(prepare)
