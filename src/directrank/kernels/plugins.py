"""Forms: what a compiled loop over queries reads of a surrogate or a measure, and the kernels that read it.

A loop that is compiled cannot call methods. Instead it is handed a form, a named tuple of arrays, and calls
`query_gradient` or `position_slopes` on it; which kernel that is, the type of the form decides when the loop
is compiled. A surrogate joins in by declaring a form and putting `answers` on its kernel.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba.extending import overload

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_KERNELS: dict[tuple[Callable[..., Any], type], Callable[..., Any]] = {}


def query_gradient(form, q, scores, room, gradient) -> float:
    """Return the weighted value of query q at its scores and write its gradient; inside kernels only.

    Parameters
    ----------
    form : NamedTuple
        With ``indptr`` and ``longest``, the number of documents of the longest query, among its fields.
    q : int
    scores : ndarray of shape (n,), float32 or float64
        Of the documents of query q.
    room : tuple of two ndarray
        Of shapes (4, m) of the type of the scores and (m,) of float64, to work in; m is at least `longest`
        and a multiple of `WIDTH`.
    gradient : ndarray of shape (n,), type of `scores`, written

    Returns
    -------
    float
        NaN if this kernel has no answer, and the caller must ask the surrogate's oracle.
    """
    raise TypeError("query_gradient is for compiled code")


def position_slopes(form, q, positions, room, slopes) -> float:
    """Return the measure of query q at the positions of its leading documents; inside kernels only.

    `slopes`, of the shape and type of `positions`, are filled with its derivatives, and `room` is float64, of
    at least that many entries. NaN is as in `query_gradient`.
    """
    raise TypeError("position_slopes is for compiled code")


#: Documents that a vector holds: loops over a multiple of it have no remainder.
WIDTH = 16


def answers(question: Callable[..., Any], form: type) -> Callable[[Kernel], Kernel]:
    """Let a kernel be `query_gradient` or `position_slopes` for forms of a type."""

    def register(kernel: Kernel) -> Kernel:
        _KERNELS[question, form] = kernel
        return kernel

    return register


def is_ours(form) -> bool:
    """Say whether a form and those among its fields are the package's: code for others is not kept."""
    inner = (each for each in form if hasattr(each, "_fields"))
    return type(form).__module__.partition(".")[0] == "directrank" and all(is_ours(each) for each in inner)


@overload(query_gradient, inline="always")
def _query_gradient(form, q, scores, room, gradient):
    chosen = _KERNELS[query_gradient, form.instance_class]

    def call(form, q, scores, room, gradient):
        return chosen(form, q, scores, room, gradient)

    return call


@overload(position_slopes, inline="always")
def _position_slopes(form, q, positions, room, slopes):
    chosen = _KERNELS[position_slopes, form.instance_class]

    def call(form, q, positions, room, slopes):
        return chosen(form, q, positions, room, slopes)

    return call
