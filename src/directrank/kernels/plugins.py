"""Plug-ins: how a compiled loop over queries calls the kernel of a surrogate or a measure.

Compiled code cannot call methods. Instead it gets a plug-in, a named tuple of arrays, and calls one of the
functions `query_gradient`, `position_slopes` and `cut_of_query` on it. The type of the plug-in decides, when
the loop is compiled, which kernel that is. A surrogate or a measure takes part by defining a named tuple and
putting `register_kernel` on the kernel that reads it.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import config
from numba.extending import overload

from directrank.kernels.compile import OPTIONS

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_KERNELS: dict[tuple[Callable[..., Any], type], Callable[..., Any]] = {}

#: Documents that a vector holds: loops over a multiple of it have no remainder.
WIDTH = 16


def query_gradient(plugin, q, scores, scratch, gradient) -> float:
    """Return the weighted value of query q at its scores and write its gradient.

    Parameters
    ----------
    plugin : NamedTuple
        With ``indptr`` and ``longest``, the number of documents of the longest query, among its fields.
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
    return _interpreted(query_gradient, plugin)(plugin, q, scores, scratch, gradient)


def position_slopes(plugin, q, positions, scratch, slopes) -> float:
    """Return the measure of query q at the positions of its first documents.

    `slopes`, of the shape and type of `positions`, are filled with its derivatives. `scratch` is float64,
    with at least as many entries. NaN means the same as in `query_gradient`.
    """
    return _interpreted(position_slopes, plugin)(plugin, q, positions, scratch, slopes)


def cut_of_query(plugin, q, scores, scratch, direction) -> float:
    """Return the offset of the most violated cut of query q and write its direction.

    Parameters
    ----------
    plugin : NamedTuple
        With ``indptr`` and ``longest`` among its fields.
    q : int
    scores : ndarray of shape (n,), float32 or float64
    scratch : tuple of two ndarray
        Scratch arrays of shape (4, longest + 2), of int64 and of float64.
    direction : ndarray of shape (n,), type of `scores`, written
    """
    return _interpreted(cut_of_query, plugin)(plugin, q, scores, scratch, direction)


def register_kernel(function: Callable[..., Any], plugin: type) -> Callable[[Kernel], Kernel]:
    """Make a kernel what one of the functions above calls for plug-ins of a type."""

    def register(chosen: Kernel) -> Kernel:
        _KERNELS[function, plugin] = chosen
        return chosen

    return register


def is_ours(plugin) -> bool:
    """Say whether a plug-in and those among its fields are the package's own.

    Code compiled for others must not be cached, because the name of the cache folder does not change with it.
    """
    inner = (each for each in plugin if isinstance(each, tuple))
    return type(plugin).__module__.partition(".")[0] == "directrank" and all(is_ours(each) for each in inner)


def _interpreted(function: Callable[..., Any], plugin: Any) -> Callable[..., Any]:
    """Return the kernel for a plug-in where nothing is compiled, or raise an error."""
    if not config.DISABLE_JIT:  # type: ignore[attr-defined]
        raise TypeError(f"{function.__name__} is for compiled code")
    return _KERNELS[function, type(plugin)]


def _overloaded(function: Callable[..., Any]) -> None:
    # numba compiles the function returned as a part of its caller, which alone is cached.
    @overload(function, jit_options=OPTIONS, strict=False)  # type: ignore[arg-type]
    def chosen(plugin, *others):
        return getattr(_KERNELS[function, plugin.instance_class], "py_func")  # noqa: B009


for _function in (query_gradient, position_slopes, cut_of_query):
    _overloaded(_function)
