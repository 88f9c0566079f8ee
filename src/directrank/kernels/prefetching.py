"""Rows that will be read soon, asked of the memory beside a computation.

Processors read ahead by themselves, but only a little, and not while other rows are in use.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from directrank.kernels.compile import OPTIONS, inline_kernel

#: How many bytes before its use a row is asked for.
DISTANCE = 2**14
# Into the outer caches: the innermost one is full of the rows in use.
LOCALITY = 1
LINE_BITS = 6


@inline_kernel
def fetch_bytes(features, first, last):
    """Ask for some bytes of features, C-contiguous; nothing waits for them."""
    for line in range(first >> LINE_BITS, last >> LINE_BITS):
        fetch_line(features, line)


def fetch_line(features, line: int) -> None:
    """Ask for one cache line of an array; do nothing where nothing is compiled."""


@overload(fetch_line, jit_options=OPTIONS, strict=False)  # type: ignore[arg-type]
def _fetch_line(features, line):
    # numba passes the first argument of an intrinsic itself.
    return lambda features, line: _prefetch(features, line << LINE_BITS)  # type: ignore[call-arg]


@intrinsic
def _prefetch(context, array, offset):
    """Emit LLVM's instruction for the address `offset` bytes after the beginning of an array."""

    def emit(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.gep(builder.bitcast(data, ir.IntType(8).as_pointer()), [arguments[1]])
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        instruction = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        # To read; how near to keep it; data, not instructions.
        builder.call(instruction, [address, *(ir.Constant(number, value) for value in (0, LOCALITY, 1))])
        return context.get_dummy_value()

    return types.void(array, types.intp), emit
