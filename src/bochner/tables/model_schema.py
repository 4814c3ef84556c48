"""Decoder of model files: the skops format, restricted to an exact list of nodes.

Each node of a file names a loader, a module and a class. The decoder builds the combinations on its
list and refuses the file at any other one. It never resolves or calls a name that a file contains,
and it counts the memory that a file needs before it allocates it.
"""

import io
import json
import math
import re
import zipfile
from collections.abc import Callable
from dataclasses import fields
from functools import cached_property
from inspect import Parameter, getattr_static, signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .storage import STORED_CLASSES, stored_class

# Memory for the decoded description of a file and two copies of each of its arrays, for small files
# and for each byte of larger ones: models of many rows are as large as their rows.
MEMORY_LIMIT, _LIMIT_PER_BYTE = 512 * 2**20, 8
_SCHEMA = "schema.json"
# Memory of the parsed description: characters of its texts, and an upper bound for one value.
_BYTES_PER_CHARACTER, _BYTES_PER_VALUE = 5, 128
# Arrays are converted to float64 by some of our classes, whatever their file holds.
_COPIES, _WIDTH = 2, 8
_DIRECTORY_LIMIT = 2**22  # bytes of the archive's directory, about 40 000 arrays
_MOST_DEPTH = 100
_ARRAY_NAME = re.compile(r"\d+\.npy")
_END_RECORD, _END_SIZE = b"PK\x05\x06", 22
_ZIP64_LOCATOR, _ZIP64_SIZE = b"PK\x06\x07", 20

_KEY_TYPES: dict[tuple[str, str], Callable] = {
    ("builtins", "str"): str,
    ("builtins", "int"): int,
    ("builtins", "float"): float,
    ("builtins", "bool"): lambda key: key == "true",
    ("numpy", "str_"): np.str_,
    ("numpy", "int64"): np.int64,
    ("numpy", "float64"): np.float64,
}
_TYPES = {
    ("builtins", "str"): str,
    ("builtins", "int"): int,
    ("builtins", "float"): float,
    ("builtins", "bool"): bool,
    ("numpy", "str_"): np.str_,
    ("numpy", "int64"): np.int64,
    ("numpy", "float32"): np.float32,
    ("numpy", "float64"): np.float64,
}
_ARRAYS = (
    *("ndarray", "bool", "bool_", "str_", "float32", "float64"),
    *("int8", "uint8", "int16", "int32", "int64", "intp"),
)
# Parameters of scikit-learn that would call a function, start processes or write files.
_UNSET = ("func", "inverse_func", "memory", "n_jobs")
# Attributes that decide how much a prediction allocates.
_LARGEST = {
    "n_features_in_": 2**23,
    "_n_features_outs": 2**20,
    "_n_out_full": 2**20,
    "_max_degree": 20,
}


class RefusedModel(ValueError):
    """A file describes an object that no model of bochner contains."""


def decode(file: Any) -> Any:
    """Return the object in a skops file, given as an open binary file.

    Anything that is not on the list is a ``RefusedModel``; damage may be any other exception.
    """
    size = _check_directory(file)
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            if entry.filename != _SCHEMA and not _ARRAY_NAME.fullmatch(entry.filename):
                raise RefusedModel(f"it contains a part named {entry.filename!r}")
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise RefusedModel(
                    f"{entry.filename} is compressed by a method that skops does not use"
                )
        if len(set(archive.namelist())) < len(archive.namelist()):
            raise RefusedModel("it contains two parts of the same name")
        decoder = _Decoder(archive, size)
        return decoder.build(decoder.read_schema())


def _check_directory(file):
    """Refuse an archive whose directory is too large, or not at its end; return its size."""
    file.seek(0, io.SEEK_END)
    size = file.tell()
    file.seek(max(0, size - _END_SIZE - _ZIP64_SIZE))
    tail = file.read()
    end, before = tail[-_END_SIZE:], tail[:-_END_SIZE]
    if end[:4] != _END_RECORD or end[-2:] != b"\0\0":
        raise ValueError("it does not end like a zip archive")
    if before.startswith(_ZIP64_LOCATOR) or int.from_bytes(end[12:16], "little") > _DIRECTORY_LIMIT:
        raise RefusedModel("its directory is too large")
    return size


class _Decoder:
    """Builds the objects of one archive and counts the memory they take."""

    def __init__(self, archive: zipfile.ZipFile, size: int):
        self._archive = archive
        self._limit = self._left = max(MEMORY_LIMIT, _LIMIT_PER_BYTE * size)
        self._shared: dict[int, tuple[dict, Any]] = {}

    def read_schema(self) -> Any:
        """Return the parsed description."""
        self._spend(_BYTES_PER_CHARACTER * self._archive.getinfo(_SCHEMA).file_size)
        text = self._archive.read(_SCHEMA).decode("ascii")  # as json.dumps writes it
        self._spend(_BYTES_PER_VALUE * sum(text.count(sign) for sign in "{[,"))
        return json.loads(text)

    def build(self, node: Any, depth: int = 0) -> Any:
        """Return the object that a node describes; nodes of equal id and content share one."""
        if not isinstance(node, dict):
            raise RefusedModel("a node of its description is invalid")
        if depth > _MOST_DEPTH:
            raise RefusedModel("its description is too deep")
        kind = tuple(str(node.get(key)) for key in ("__loader__", "__module__", "__class__"))
        builder = _BUILDERS.get(kind)  # type: ignore[arg-type]
        if builder is None:
            loader, module, name = (part[:80] for part in kind)
            if module.startswith("bochner."):
                raise RefusedModel(
                    f"it contains a {name} of {module}, which this version of bochner does not "
                    "have. It was probably saved by bochner 0.2.0 or earlier: load it with that "
                    "version, or fit the model again"
                )
            raise RefusedModel(
                f"it contains objects of type {module}.{name} ({loader}), which no model needs"
            )
        identity = node.get("__id__")
        if not isinstance(identity, int):
            return builder(self, node, depth + 1)
        if identity not in self._shared or not _is_same(self._shared[identity][0], node):
            self._shared[identity] = node, builder(self, node, depth + 1)
        return self._shared[identity][1]

    def _spend(self, n_bytes):
        self._left -= n_bytes
        if self._left < 0:
            raise RefusedModel(f"it would need more than {self._limit // 2**20} MB of memory")

    # --- plain values -----------------------------------------------------------------------------

    def scalar(self, node, depth):
        content = node["content"]
        if content.lstrip()[:1] in ("[", "{"):
            raise RefusedModel("its description has a container in place of a value")
        return json.loads(content)

    def sequence(self, node, depth):
        return [self.build(item, depth) for item in _list(node["content"])]

    def tuple(self, node, depth):
        return tuple(self.sequence(node, depth))

    def set(self, node, depth):
        return set(self.sequence(node, depth))

    def dictionary(self, node, depth):
        content, kinds = node["content"], _list(node["key_types"]["content"])
        if not isinstance(content, dict) or len(content) != len(kinds):
            raise RefusedModel("it has a dictionary with unequal numbers of keys and key types")
        keys = (_KEY_TYPES.get((kind["__module__"], kind["__class__"])) for kind in kinds)
        values = {}
        for key_type, (key, value) in zip(keys, content.items()):
            if key_type is None:
                raise RefusedModel("it has a dictionary whose keys are neither texts nor numbers")
            values[key_type(key)] = self.build(value, depth)
        return values

    def slice(self, node, depth):
        ends = [node["content"][name] for name in ("start", "stop", "step")]
        if not all(end is None or type(end) is int for end in ends):
            raise RefusedModel("it has a slice that does not consist of integers")
        return slice(*ends)

    def type(self, node, depth):
        return _TYPES[node["__module__"], node["__class__"]]

    # --- NumPy ------------------------------------------------------------------------------------

    def array(self, node, depth):
        if node["type"] == "json":
            return self._object_array(node, depth)
        name = node["file"]
        if node["type"] != "numpy" or not isinstance(name, str):
            raise RefusedModel("it has an array that is stored in an unknown way")
        self._spend(_COPIES * _checked_array_bytes(self._archive, name))
        with self._archive.open(name) as file:
            array = np.lib.format.read_array(file, allow_pickle=False)
            if file.read(1):  # reads to the end, where zipfile compares the checksum
                raise RefusedModel(f"its array {name} is longer than its header says")
        if node["__class__"] == "ndarray":
            return array
        if array.shape != ():
            raise RefusedModel(f"its number {name} is an array")
        return array[()]

    def _object_array(self, node, depth):
        """Build an array of texts or other objects, of one dimension."""
        items = self.sequence(node, depth)
        if self.build(node["shape"], depth) != (len(items),):
            raise RefusedModel("it has an array of objects whose shape contradicts its header")
        array = np.empty(len(items), dtype=object)
        for k, item in enumerate(items):
            array[k] = item
        return array

    def dtype(self, node, depth):
        array = self.build(node["content"], depth)
        if not isinstance(array, np.ndarray):
            raise RefusedModel("it has a dtype that is not stored as one")
        return array.dtype

    def generator(self, node, depth):
        """Build ``np.random.default_rng`` in its saved state."""
        seed = self.build(node["content"]["seed_seq"], depth)
        state = self.build(node["content"]["bit_generator"], depth)
        if seed.pop("pool_size") != 4 or state["bit_generator"] != "PCG64":
            raise RefusedModel("it has a random generator that np.random.default_rng does not make")
        bits = np.random.PCG64(np.random.SeedSequence(**seed))
        bits.state = state
        return np.random.Generator(bits)

    # --- our classes and those of scikit-learn ----------------------------------------------------

    def object(self, node, depth):
        kind: Any = stored_class(node["__module__"], node["__class__"])
        content = node.get("content")
        attributes = (None if content is None else self.build(content, depth)) or {}
        if not isinstance(attributes, dict) or not all(map(_is_attribute, attributes)):
            raise RefusedModel(f"it has a {kind.__name__} whose attributes have no names")
        if issubclass(kind, BaseEstimator):
            return _estimator(kind, attributes)
        names = {field.name for field in fields(kind)}
        for name in set(attributes) - names:
            if not isinstance(getattr_static(kind, name, None), cached_property):
                raise RefusedModel(f"it has a {kind.__name__} with an unknown attribute {name!r}")
        return kind(**{name: value for name, value in attributes.items() if name in names})


def _estimator(kind, attributes):
    """Build an estimator; parameters that the file does not have get their defaults."""
    for name, value in attributes.items():
        of_class = getattr_static(kind, name, None)
        if hasattr(type(of_class), "__get__") and not isinstance(of_class, cached_property):
            raise RefusedModel(f"it has a {kind.__name__} with a value in place of its {name!r}")
        if name in _LARGEST and not 0 <= np.sum(value) <= _LARGEST[name]:
            raise RefusedModel(
                f"{name} of a {kind.__name__} is {value!r:.40}, need at most {_LARGEST[name]}"
            )
        if name in _UNSET and value is not None and kind.__module__.startswith("sklearn."):
            raise RefusedModel(f"{name} of a {kind.__name__} must be None, got {value!r:.40}")
    parameters = {
        name: parameter.default
        for name, parameter in signature(kind.__init__).parameters.items()
        if parameter.default is not Parameter.empty
    }
    if set(attributes) - set(parameters) - {"_sklearn_version"}:  # it is fitted
        for name in dir(kind):
            if isinstance(getattr_static(kind, name), cached_property) and name not in attributes:
                raise RefusedModel(f"it has a {kind.__name__} without {name!r}")
    instance = kind.__new__(kind)
    instance.__setstate__(parameters | attributes)
    return instance


def _is_same(node, other):
    """Compare two nodes without the ids of their contents, which skops creates each time."""
    if isinstance(node, dict) and isinstance(other, dict):
        names = node.keys() - {"__id__"}
        return names == other.keys() - {"__id__"} and all(
            _is_same(node[name], other[name]) for name in names
        )
    if isinstance(node, list) and isinstance(other, list):
        return len(node) == len(other) and all(map(_is_same, node, other))
    return type(node) is type(other) and node == other


def _list(content):
    if not isinstance(content, list):
        raise RefusedModel("it has an invalid sequence")
    return content


def _is_attribute(name):
    return isinstance(name, str) and name.isidentifier() and not name.startswith("__")


def _checked_array_bytes(archive, name):
    """Return the bytes of an array as float64, after comparing its header with its size."""
    with archive.open(name) as file:
        major, _ = np.lib.format.read_magic(file)
        if major not in (1, 2):
            raise RefusedModel(f"its array {name} has an unknown header")
        shape, _, dtype = getattr(np.lib.format, f"read_array_header_{major}_0")(file)
        announced = file.tell() + math.prod(shape) * dtype.itemsize
    if dtype.kind not in "biufcUSMm" or announced != archive.getinfo(name).file_size:
        raise RefusedModel(f"the size of its array {name} contradicts its header")
    return max(math.prod(shape), *shape, 1) * max(dtype.itemsize, _WIDTH)


_BUILDERS: dict[tuple[str, str, str], Callable[[_Decoder, dict, int], Any]] = {
    ("JsonNode", "builtins", "str"): _Decoder.scalar,
    ("ListNode", "builtins", "list"): _Decoder.sequence,
    ("TupleNode", "builtins", "tuple"): _Decoder.tuple,
    ("SetNode", "builtins", "set"): _Decoder.set,
    ("DictNode", "builtins", "dict"): _Decoder.dictionary,
    ("SliceNode", "builtins", "slice"): _Decoder.slice,
    ("DTypeNode", "numpy", "dtype"): _Decoder.dtype,
    ("RandomGeneratorNode", "numpy.random._generator", "Generator"): _Decoder.generator,
    **{("TypeNode", *kind): _Decoder.type for kind in _TYPES},
    **{("NdArrayNode", "numpy", name): _Decoder.array for name in _ARRAYS},
    **{("ObjectNode", *kind): _Decoder.object for kind in STORED_CLASSES},
}
