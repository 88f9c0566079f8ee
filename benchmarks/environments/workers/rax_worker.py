"""Rax's ApproxNDCG: loss and gradient by scores, compiled by JAX."""

import os

import protocol  # before JAX counts processors

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
import jax
import rax


def prepare(arrays):
    """Return the work."""
    measure = rax.approx_t12n(rax.ndcg_metric, temperature=float(1.0 / arrays["steepness"]))
    scores, relevance = jax.numpy.asarray(arrays["scores"]), jax.numpy.asarray(arrays["relevance"])
    value_and_gradient = jax.jit(jax.value_and_grad(lambda s, y: measure(s, y)))

    def work():
        value, gradient = value_and_gradient(scores, relevance)
        return {"value": float(value), "gradient": float(abs(gradient).sum())}

    return work


if __name__ == "__main__":
    protocol.serve(prepare)
