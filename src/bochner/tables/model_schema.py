"""What a model file may describe, checked before anything reads it: a few kinds of nodes, our own classes, plain arrays.

skops has a list of types that it trusts, among them all estimators of scikit-learn, whose compiled code believes the arrays it is given, and some
of which read files.  A model of ours needs one of them.
"""

import json
import zipfile
from typing import Any

import numpy as np

from ..storage import is_ours

_SCHEMA = "schema.json"
_MOST_SCHEMA_BYTES, _MOST_NODES, _MOST_DEPTH = 2**26, 2_000_000, 100
_PLAIN_LOADERS = frozenset({"DictNode", "ListNode", "TupleNode", "SetNode", "JsonNode"})
_PLAIN_TYPES = frozenset(
    f"builtins.{name}" for name in ("str", "int", "float", "bool", "NoneType", "dict", "list", "tuple", "set")
)

# Encodes categories by looking numbers up, in NumPy alone.
_FOREIGN = frozenset({"sklearn.preprocessing._target_encoder.TargetEncoder", "numpy.dtype"})


class UntrustedModel(ValueError):
    """A file describes something that no model of ours holds."""


def check_archive(archive: zipfile.ZipFile) -> None:
    """Refuse, by an ``UntrustedModel`` or another ``ValueError``, what no model of ours looks like."""
    names = archive.namelist()
    if len(set(names)) < len(names):
        raise UntrustedModel("it holds two parts of one name")
    if archive.getinfo(_SCHEMA).file_size > _MOST_SCHEMA_BYTES:
        raise UntrustedModel(f"its description is larger than {_MOST_SCHEMA_BYTES} bytes")
    arrays = _checked_nodes(json.loads(archive.read(_SCHEMA)))
    for name in arrays:
        _check_array(archive, name)


def _checked_nodes(schema: Any) -> list[str]:
    """Names of the parts that arrays are stored in."""
    arrays, stack, n_nodes = [], [(schema, 0)], 0
    while stack:
        node, depth = stack.pop()
        n_nodes += 1
        if n_nodes > _MOST_NODES or depth > _MOST_DEPTH:
            raise UntrustedModel("its description is too large or too deep")
        if isinstance(node, dict):
            if "__loader__" in node:
                arrays += _checked_node(node)
            stack += [(value, depth + 1) for value in node.values()]
        elif isinstance(node, list):
            stack += [(value, depth + 1) for value in node]
    return arrays


def _checked_node(node):
    """The part that a node's array is stored in, if it has one; refuses what is neither plain nor ours."""
    loader, kind = str(node["__loader__"]), f"{node.get('__module__')}.{node.get('__class__')}"
    if loader in _PLAIN_LOADERS | {"TypeNode"} and kind in _PLAIN_TYPES:
        return []
    if loader == "NdArrayNode" and kind.startswith("numpy."):
        return [node["file"]] if node.get("type") == "numpy" else []
    if loader == "ObjectNode" and (is_ours(kind) or kind in _FOREIGN):
        return []
    if loader == "TypeNode" and is_ours(kind):
        return []
    raise UntrustedModel(f"it holds objects of type {kind}, which no model of ours needs")


def _check_array(archive, name):
    """The numbers that an array announces must be there: nobody allocates more on its word."""
    with archive.open(name) as file:
        major, _ = np.lib.format.read_magic(file)
        read_header = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(file)
        announced = file.tell() + int(np.prod(shape, dtype=object)) * dtype.itemsize
    if dtype.hasobject or announced != archive.getinfo(name).file_size:
        raise UntrustedModel(f"its array {name} is not what it announces")
