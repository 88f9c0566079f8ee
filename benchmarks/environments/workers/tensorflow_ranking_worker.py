"""TF-Ranking's ApproxNDCG: loss and gradient by scores, as a graph, which is faster here than XLA."""

import os

import protocol  # before TensorFlow counts processors

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
import tensorflow_ranking as tfr

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)


def prepare(arrays):
    """Return the work, and what is checked of it."""
    loss = tfr.keras.losses.ApproxNDCGLoss(temperature=float(1.0 / arrays["steepness"]))
    scores, relevance = tf.constant(arrays["scores"]), tf.constant(arrays["relevance"])

    @tf.function
    def value_and_gradient(scores, relevance):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            value = loss(relevance, scores)
        return value, tape.gradient(value, scores)

    def checked(found):
        value, gradient = found
        return {"value": float(value), "gradient": float(abs(gradient.numpy()).sum())}

    return lambda: value_and_gradient(scores, relevance), checked


if __name__ == "__main__":
    protocol.serve(prepare)
