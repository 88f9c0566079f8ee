"""TF-Ranking's ApproxNDCG: loss and gradient by scores, as a graph."""

import os

import protocol  # before TensorFlow counts processors

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
import tensorflow_ranking as tfr

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)


def prepare(arrays):
    """Return the work."""
    loss = tfr.keras.losses.ApproxNDCGLoss(temperature=float(1.0 / arrays["steepness"]))
    scores, relevance = tf.constant(arrays["scores"]), tf.constant(arrays["relevance"])

    @tf.function
    def value_and_gradient(scores, relevance):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            value = loss(relevance, scores)
        return value, tape.gradient(value, scores)

    def work():
        value, gradient = value_and_gradient(scores, relevance)
        return {"value": float(value), "gradient": float(abs(gradient.numpy()).sum())}

    return work


if __name__ == "__main__":
    protocol.serve(prepare)
