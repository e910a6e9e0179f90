"""One processor hint for the search: fetch a number of an array before it is needed."""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic


@intrinsic
def prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of `array[index]` of a one-dimensional array; has no other effect."""
    signature = types.void(array, index)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        whole = ir.IntType(32)
        function_type = ir.FunctionType(ir.VoidType(), [address.type, whole, whole, whole])
        function = builder.module.declare_intrinsic("llvm.prefetch", [address.type], function_type)
        builder.call(function, [address, whole(0), whole(3), whole(1)])  # read, keep, data
        return context.get_dummy_value()

    return signature, codegen
