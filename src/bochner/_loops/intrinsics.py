"""Single instructions for kernels: numba would compile functions for each type.

Only kernels call these; a kernel that needs none of numba's own functions compiles in half the
time.
"""

from typing import Any

from numba import types
from numba.extending import intrinsic

_OTHER_KIND = {
    types.float32: types.int32,
    types.int32: types.float32,
    types.float64: types.int64,
    types.int64: types.float64,
}


def _cast(typing_context, x):
    """Reinterpret the bits of a float as an integer or the reverse, as ``view`` of NumPy does."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(signature.return_type))

    return _OTHER_KIND[x](x), generate


def _choice(sign):
    """Return x if x ``sign`` y holds, and y otherwise."""

    def choose(typing_context, x, y):
        both = typing_context.unify_types(types.unliteral(x), types.unliteral(y))

        def generate(context, builder, signature, arguments):
            compare = builder.fcmp_ordered if isinstance(both, types.Float) else builder.icmp_signed
            return builder.select(compare(sign, *arguments), *arguments)

        return both(both, both), generate

    return choose


same_bits: Any = intrinsic(_cast)
smaller: Any = intrinsic(_choice("<"))
larger: Any = intrinsic(_choice(">"))
