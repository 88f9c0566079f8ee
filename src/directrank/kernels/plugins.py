"""Plug-ins: how a compiled loop over queries calls the kernel of a surrogate or a measure.

Compiled code cannot call methods. Instead it gets a plug-in, a named tuple of arrays, and calls one of the
functions `query_gradient`, `position_slopes` and `cut_of_query` on it. The type of the plug-in decides, when
the loop is compiled, which kernel that is. A surrogate or a measure takes part by defining a named tuple and
putting `register_kernel` on the kernel that reads it.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from numba import config
from numba.extending import overload

from directrank.kernels.compile import OPTIONS

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

#: Documents that a vector holds: loops over a multiple of it have no remainder.
WIDTH = 16


def by_type(function: Callable[..., object]) -> Any:
    """Make a function one that runs, in compiled code, the kernel registered for its first argument's type.

    numba compiles that kernel as a part of the caller, which alone is cached.
    """
    kernels: dict[type, Callable[..., Any]] = {}

    @wraps(function)
    def interpreted(plugin, *others):
        if not config.DISABLE_JIT:  # type: ignore[attr-defined]
            raise TypeError(f"{function.__name__} is for compiled code")
        return kernels[type(plugin)](plugin, *others)

    @overload(interpreted, jit_options=OPTIONS, strict=False)  # type: ignore[arg-type]
    def chosen(plugin, *others):
        registered = kernels[plugin.instance_class]
        return getattr(registered, "py_func", registered)

    setattr(interpreted, "kernels", kernels)  # noqa: B010
    return interpreted


def register_kernel(function: Any, plugin: type) -> Callable[[Kernel], Kernel]:
    """Make a kernel what a function `by_type` runs for plug-ins of a type."""

    def register(chosen: Kernel) -> Kernel:
        function.kernels[plugin] = chosen
        return chosen

    return register


@by_type
def query_gradient(plugin, q, scores, scratch, gradient):
    """Return the weighted value of query q at its scores and write its gradient.

    Parameters
    ----------
    plugin : QueryPlugin
    q : int
    scores : ndarray of shape (n,), float32 or float64
        Of the documents of query q.
    scratch : tuple of two ndarray
        Scratch arrays of shapes (4, m) of the type of the scores and (m,) of float64; m is a multiple of
        `WIDTH`, and at least `WIDTH` more than `longest`.
    gradient : ndarray of shape (n,), type of `scores`, written

    Returns
    -------
    float
        NaN if this kernel cannot compute the query, and the caller must call the surrogate's oracle.
    """


@by_type
def position_slopes(plugin, q, positions, scratch, slopes):
    """Return the measure of query q at the positions of its first documents.

    `slopes`, of the shape and type of `positions`, are filled with its derivatives. `scratch` is float64,
    with at least as many entries. NaN means the same as in `query_gradient`.
    """


@by_type
def cut_of_query(plugin, q, scores, scratch, direction):
    """Return the offset of the most violated cut of query q and write its direction.

    Parameters
    ----------
    plugin : QueryPlugin
    q : int
    scores : ndarray of shape (n,), float32 or float64
    scratch : tuple of two ndarray
        Scratch arrays of shape (4, longest + 2), of int64 and of float64.
    direction : ndarray of shape (n,), type of `scores`, written
    """


def is_ours(plugin) -> bool:
    """Return whether a plug-in and those among its fields are directrank's own.

    Code compiled for others must not be cached, because the name of the cache folder does not change with it.
    """
    fields = (field for field in plugin if isinstance(field, tuple))
    ours = type(plugin).__module__.partition(".")[0] == "directrank"
    return ours and all(is_ours(field) for field in fields)
