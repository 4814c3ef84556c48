"""Hand-written attacks on ``load``: each returns the bytes of a file that no ``save`` would write."""

import io
import json
import pickle
import warnings
import zipfile
from dataclasses import dataclass

import numpy as np

_PAYLOAD = "__import__('pathlib').Path({!r}).write_text('ran') and 1"


def parts_of(content: bytes) -> dict[str, bytes]:
    """Return the members of an archive by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@dataclass(frozen=True)
class Long:
    """A long part of an archive that is never in memory: a beginning, then one byte many times."""

    start: bytes
    byte: bytes
    n_times: int


def archive_of(parts, compression=zipfile.ZIP_DEFLATED) -> bytes:
    """Return an archive of (name, bytes) pairs."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", compression) as archive:
        warnings.simplefilter("ignore")  # two parts of one name
        for name, part in parts:
            if not isinstance(part, Long):
                archive.writestr(name, part)
                continue
            with archive.open(name, "w") as file:
                file.write(part.start)
                for _ in range(part.n_times // 2**20):
                    file.write(part.byte * 2**20)
    return buffer.getvalue()


def rewritten(content, change) -> bytes:
    """The archive with its description and arrays changed by ``change(schema, parts)``."""
    parts = parts_of(content)
    schema = json.loads(parts.pop("schema.json"))
    change(schema, parts)
    text = json.dumps(schema)
    for name, (item, n_times) in _REPEATED.items():
        text = (
            text.replace(f'"{name}"', f"[{(item + ',') * (n_times - 1)}{item}]")
            if name in text
            else text
        )
    return archive_of([*parts.items(), ("schema.json", text)])


def npy(array) -> bytes:
    """The bytes of an array file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def node(loader, module, name, **more):
    """A node of a description."""
    return {"__loader__": loader, "__module__": module, "__class__": name, **more}


def text(value):
    """The node of a plain value."""
    return node("JsonNode", "builtins", "str", content=json.dumps(value), is_json=True)


def sequence(*items, kind="list"):
    """The node of a list, or of a tuple."""
    return node(f"{kind.capitalize()}Node", "builtins", kind, content=list(items))


def mapping(**items):
    """The node of a dictionary."""
    keys = sequence(*[node("TypeNode", "builtins", "str") for _ in items])
    return node("DictNode", "builtins", "dict", content=items, key_types=keys)


def array(name, module="numpy", kind="ndarray"):
    """The node of an array in a file."""
    return node("NdArrayNode", module, kind, type="numpy", file=name)


def _attribute(schema, added):
    """Add an attribute to the model."""
    attributes = schema["content"]["model"]["content"]
    attributes["content"]["extra_"] = added
    attributes["key_types"]["content"].append(node("TypeNode", "builtins", "str"))


def _holding(make):
    """An attack whose model has the node ``make(payload, parts)`` for an attribute."""

    def craft(content, folder):
        payload = _PAYLOAD.format(str(folder / "MARKER"))
        return rewritten(content, lambda schema, parts: _attribute(schema, make(payload, parts)))

    return craft


def _code_array(payload, parts, module, name):
    parts["666.npy"] = npy(np.frombuffer(payload.encode(), np.uint8))
    return array("666.npy", module, name)


def _functions():
    calls = {
        "os": "system",
        "builtins": "eval",
        "subprocess": "run",
        "numpy": "load",
        "bochner": "load",
        "posix": "system",
    }
    for module, name in calls.items():
        yield (
            f"function {module}.{name}",
            lambda p, _, m=module, n=name: node("FunctionNode", m, n, content={}),
        )
        yield f"type {module}.{name}", lambda p, _, m=module, n=name: node("TypeNode", m, n)
        yield (
            f"array {module}.{name}",
            lambda p, parts, m=module, n=name: _code_array(p, parts, m, n),
        )
        yield (
            f"constructor {module}.{name}",
            lambda p, _, m=module, n=name: node(
                "ConstructorFromReduceNode", m, n, content=sequence(text(p), kind="tuple")
            ),
        )
        yield (
            f"object {module}.{name}",
            lambda p, _, m=module, n=name: node("ObjectNode", m, n, content=mapping(x=text(p))),
        )
        yield (
            f"list {module}.{name}",
            lambda p, _, m=module, n=name: node("ListNode", m, n, content=[text(p)]),
        )
        yield (
            f"set {module}.{name}",
            lambda p, _, m=module, n=name: node("SetNode", m, n, content=[text(p)]),
        )
        yield (
            f"dictionary {module}.{name}",
            lambda p, _, m=module, n=name: node("DictNode", m, n, content={}, key_types=sequence()),
        )


def _key_type(payload, parts):
    found = mapping(**{payload: text(1)})
    found["key_types"]["content"][0] = node("TypeNode", "builtins", "eval")
    return found


def _partial(payload, parts):
    func = node("FunctionNode", "builtins", "eval")
    content = {
        "func": func,
        "args": sequence(text(payload), kind="tuple"),
        "kwds": mapping(),
        "namespace": text(None),
    }
    return node("PartialNode", "functools", "partial", content=content)


def _generator(payload, parts):
    bits = mapping(bit_generator=text("seed"), state=mapping())
    seeds = mapping(
        entropy=text(0),
        spawn_key=sequence(kind="tuple"),
        pool_size=text(4),
        n_children_spawned=text(0),
    )
    content = {"bit_generator": bits, "seed_seq": seeds}
    return node("RandomGeneratorNode", "numpy.random._generator", "Generator", content=content)


def _huge_pool(payload, parts):
    found = _generator(payload, parts)
    found["content"]["bit_generator"]["content"]["bit_generator"] = text("PCG64")
    found["content"]["seed_seq"]["content"]["pool_size"] = text(10**9)
    return found


def _pickled(payload, parts):
    parts["666.npy"] = npy(np.array([{1: 2}], dtype=object))
    return array("666.npy")


def _raw_pickle(payload, parts):
    parts["666.npy"] = pickle.dumps(payload)
    return array("666.npy")


def _huge_header(payload, parts):
    parts["666.npy"] = (
        npy(np.zeros(10)).replace(b"'shape': (10,)", b"'shape': (10000000000,)").ljust(1000, b"\0")
    )
    return array("666.npy")


def _huge_empty(payload, parts):
    parts["666.npy"] = npy(np.zeros((0, 10**12)))
    return array("666.npy")


def _expression_header(payload, parts):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({payload},)}}"
    padded = header.encode().ljust(246) + b"\n"
    parts["666.npy"] = b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded + bytes(8)
    return array("666.npy")


def _ones(payload, parts):
    parts["666.npy"] = npy(np.array([20_000, 17_000]))
    return array("666.npy", "numpy", "ones")


def _zeros_file(name, n_bytes, dtype=np.float64):
    n_numbers = n_bytes // np.dtype(dtype).itemsize
    header = io.BytesIO()
    described = {
        "descr": np.lib.format.dtype_to_descr(np.dtype(dtype)),
        "fortran_order": False,
        "shape": (n_numbers,),
    }
    np.lib.format.write_array_header_1_0(header, described)
    return name, Long(header.getvalue(), b"\0", n_bytes)


def _many_references(payload, parts):
    parts.update([_zeros_file("666.npy", 100 * 2**20)])
    return sequence(*[array("666.npy") for _ in range(25)])


def _shared_references(payload, parts):
    parts.update([_zeros_file("666.npy", 10 * 2**20, np.int8)])
    measures = [
        node(
            "ObjectNode",
            "bochner.measures",
            "FourierMeasure",
            content=mapping(frequencies=array("666.npy"), weights=array("666.npy")),
            __id__=1,
        )
        for _ in range(60)
    ]
    for k, measure in enumerate(measures):
        measure["__id__"] = k
    return sequence(*measures)


def _one_bomb(payload, parts):
    parts.update([_zeros_file("666.npy", 900 * 2**20)])
    return array("666.npy")


def _deep(payload, parts):
    found = text(1)
    for _ in range(300):
        found = sequence(found)
    return found


def _itself(payload, parts):
    """A node that has its own number inside: skops returns the outer one for it."""
    return node("ListNode", "builtins", "list", content=[{"__id__": 7}], __id__=7)


def _cached(payload, parts):
    return sequence(
        node("ListNode", "builtins", "list", content=[], __id__=7),
        node("CachedNode", "x", "y", __id__=7),
    )


def _container_in_value(payload, parts):
    return node("JsonNode", "builtins", "str", content="[" + "{}," * 2_000_000 + "1]", is_json=True)


def _many_values(payload, parts):
    return node("ListNode", "builtins", "list", content="@values")


def _raw_values(payload, parts):
    return node("ListNode", "builtins", "list", content="@dictionaries")


def _long_integer(payload, parts):
    return node("JsonNode", "builtins", "str", content="9" * 1_000_000, is_json=True)


def _shadowing(payload, parts):
    return node(
        "ObjectNode",
        "bochner.models.kernel_machine",
        "KernelMachine",
        content=mapping(predict=text("x"), __class__=text("y")),
    )


def _object_array_of_arrays(payload, parts):
    parts.update([_zeros_file("666.npy", 40 * 2**20)])
    shape = sequence(text(2), text(5 * 2**20), kind="tuple")
    return node(
        "NdArrayNode", "numpy", "ndarray", type="json", content=[array("666.npy")] * 2, shape=shape
    )


def _command_module(payload, parts):
    return node("ObjectNode", "bochner.__main__", "main", content=mapping())


def _function_step(payload, parts):
    content = mapping(func=node("FunctionNode", "os", "system"))
    return node(
        "ObjectNode",
        "sklearn.preprocessing._function_transformer",
        "FunctionTransformer",
        content=content,
    )


def _memory_folder(payload, parts):
    content = mapping(steps=sequence(), memory=text("/tmp/somewhere"))
    return node("ObjectNode", "sklearn.pipeline", "Pipeline", content=content)


def _sparse(payload, parts):
    return node("SparseMatrixNode", "scipy.sparse._csr", "csr_matrix", type="scipy", file="666.npz")


def _method(payload, parts):
    obj = node("ObjectNode", "pathlib", "Path", content=mapping())
    return node("MethodNode", "pathlib", "Path", content={"func": "unlink", "obj": obj})


def _operator(payload, parts):
    return node(
        "OperatorFuncNode", "operator", "methodcaller", attrs=sequence(text("system"), kind="tuple")
    )


def _tree(payload, parts):
    reduced = {"args": sequence(kind="tuple")}
    return node("TreeNode", "sklearn.tree._tree", "Tree", content=mapping(), __reduce__=reduced)


def _loss(payload, parts):
    reduced = {"args": sequence(text(payload), kind="tuple")}
    return node("LossNode", "builtins", "eval", content=mapping(), __reduce__=reduced)


def _masked(payload, parts):
    content = {"data": array("666.npy", "builtins", "eval"), "mask": text(False)}
    return node("MaskedArrayNode", "numpy.ma", "MaskedArray", content=content)


def _default_factory(payload, parts):
    content = {"main": mapping(), "default_factory": node("TypeNode", "os", "abort")}
    return node("DefaultDictNode", "collections", "defaultdict", content=content)


_REPEATED = {"@values": (json.dumps(text(1)), 300_000), "@dictionaries": ("{}", 4_000_000)}

# --- the archive itself ---------------------------------------------------------------------------


def _two_schemas(content, folder):
    parts = parts_of(content)
    evil = json.loads(parts["schema.json"])
    evil["content"]["model"] = node("FunctionNode", "os", "system")
    return archive_of([*parts.items(), ("schema.json", json.dumps(evil))])


def _named(name):
    return lambda content, folder: archive_of([*parts_of(content).items(), (name, b"0")])


def _compressed(method):
    return lambda content, folder: archive_of(parts_of(content).items(), method)


def _commented(content, folder):
    return content[:-2] + b"\x05\x00" + b"PK\x05\x06!"


def _directory_of_a_million(content, folder):
    entry = b"PK\x01\x02" + bytes(24) + (1).to_bytes(2, "little") + bytes(16) + b"a"
    directory = entry * 1_000_000
    sizes = len(directory).to_bytes(4, "little") + bytes(4)
    return directory + b"PK\x05\x06" + bytes(4) + b"\xff\xff\xff\xff" + sizes + b"\0\0"


def _schema_bomb(content, folder):
    return archive_of([("schema.json", Long(b"", b" ", 700 * 2**20))])


def _understated(content, folder):
    """The directory says that an array is small; its data go on."""
    parts = parts_of(content)
    name = next(name for name in parts if name != "schema.json")
    changed = bytearray(archive_of(parts.items()))
    at = changed.rindex(name.encode()) - 46 + 24
    changed[at : at + 4] = (10).to_bytes(4, "little")
    return bytes(changed)


def _root(changed):
    return lambda content, folder: rewritten(content, lambda schema, parts: changed(schema))


def _without_model(schema):
    schema["content"]["model"] = text(1)


def _another_format(schema):
    schema["content"]["format"] = text("another")


def _wide(schema):
    attributes = schema["content"]["model"]["content"]["content"]["steps"]["content"]
    attributes[1]["content"][1]["content"]["content"]["n_features_in_"] = text(10**9)


CRAFTED = {
    **{name: _holding(make) for name, make in _functions()},
    "array numpy.f2py.crackfortran.myeval": _holding(
        lambda payload, parts: _code_array(payload, parts, "numpy.f2py.crackfortran", "myeval")
    ),
    **{
        make.__name__.strip("_").replace("_", " "): _holding(make)
        for make in (
            *(
                _key_type,
                _partial,
                _method,
                _operator,
                _tree,
                _loss,
                _masked,
                _default_factory,
                _sparse,
                _generator,
            ),
            *(
                _huge_pool,
                _pickled,
                _raw_pickle,
                _huge_header,
                _huge_empty,
                _expression_header,
                _ones,
                _one_bomb,
            ),
            *(
                _many_references,
                _shared_references,
                _deep,
                _itself,
                _cached,
                _container_in_value,
                _many_values,
            ),
            *(
                _raw_values,
                _long_integer,
                _shadowing,
                _object_array_of_arrays,
                _command_module,
                _function_step,
            ),
            _memory_folder,
        )
    },
    "two schemas": _two_schemas,
    **{
        f"part {name}": _named(name)
        for name in ("/etc/passwd", "../up.npy", "C:\\x.npy", "1.npy/../2.npy", "x.pkl")
    },
    "lzma": _compressed(zipfile.ZIP_LZMA),
    "bzip2": _compressed(zipfile.ZIP_BZIP2),
    "comment": _commented,
    "directory of a million": _directory_of_a_million,
    "schema of 700 MB": _schema_bomb,
    "understated size": _understated,
    "no model": _root(_without_model),
    "another format": _root(_another_format),
    "a billion columns": _root(_wide),
    "a pickle": lambda content, folder: pickle.dumps({"model": 1}),
    "empty": lambda content, folder: b"",
}
