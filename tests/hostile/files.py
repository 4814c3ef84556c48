"""Mutated and crafted model files, and a table of what loading them came to.

``python -m tests.hostile.files [n_files] [seed]`` prints the table. A file either loads as a model
that predicts, or it is refused in one sentence; nothing in it is ever run.
"""

import io
import json
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bochner import load
from bochner.tables import ModelFileError
from bochner.tables.provenance import peak_bytes

from .crafted import CRAFTED, rewritten
from .model_samples import Sample, samples
from .verdicts import answers, is_clear

UNCHANGED, CHANGED, REFUSED = "loaded unchanged", "loaded, other predictions", "refused"
# A number that is wrong for some rows only, such as a scale of zero, is met at these rows: an error
# in our words.
LATER = "refused at predict"
EXPECTED = (UNCHANGED, CHANGED, REFUSED, LATER)

LOADERS = [
    "MethodNode",
    "PartialNode",
    "FunctionNode",
    "OperatorFuncNode",
    "TypeNode",
    "ObjectNode",
    "ConstructorFromReduceNode",
    "CachedNode",
    "LossNode",
    "TreeNode",
    "NdArrayNode",
    "MaskedArrayNode",
    "SparseMatrixNode",
    "BytesNode",
    "DefaultDictNode",
    "DictNode",
    "ListNode",
    "TupleNode",
    "SetNode",
    "JsonNode",
    "SliceNode",
    "DTypeNode",
    "RandomStateNode",
    "RandomGeneratorNode",
]
CLASSES = (
    ("os", "system"),
    ("builtins", "eval"),
    ("builtins", "dict"),
    ("subprocess", "Popen"),
    ("sklearn.svm._classes", "SVC"),
    ("sklearn.preprocessing._data", "StandardScaler"),
    ("pathlib", "Path"),
    ("numpy", "ones"),
    ("numpy", "float64"),
    ("numpy.f2py.crackfortran", "myeval"),
    ("bochner", "load"),
    ("bochner.__main__", "main"),
    ("bochner.measures", "FourierMeasure"),
    ("bochner.expansions", "Expansion"),
    ("bochner.priors.gaussian", "Gaussian"),
    ("bochner.tabular.members", "Blend"),
)
VALUES = (
    *(
        None,
        -1,
        0,
        3,
        10**9,
        10**30,
        1e308,
        0.5,
        "",
        "x" * 10_000,
        [],
        {},
        True,
        "NaN",
        "null",
        "1000000000",
    ),
    *('"text"', "[1, 2]", "../../etc/passwd", [[[[]]]], "schema.json", "numpy", "json"),
)
# Events of Python that no loading of a model causes.
_WATCHED = (
    *(
        "os.system",
        "subprocess.Popen",
        "os.exec",
        "os.posix_spawn",
        "os.fork",
        "os.remove",
        "os.rename",
        "os.mkdir",
    ),
    *("socket.connect", "pickle.find_class", "ctypes.dlopen", "exec", "compile"),
)
# Compiled kernels and imports run code of their own; NumPy parses headers by ``ast.literal_eval``.
_HARMLESS = ("/numba/", "/llvmlite/", "importlib", "/ast.py")

alarms: list[str] = []
_watching = False


def _hook(event, arguments):
    if not _watching or not (
        event in _WATCHED or (event == "open" and str(arguments[1] or "r")[0] in "wax")
    ):
        return
    frame = sys._getframe()
    while frame is not None:
        if any(part in frame.f_code.co_filename for part in _HARMLESS):
            return
        frame = frame.f_back
    alarms.append(f"{event} {arguments!r}"[:200])


sys.addaudithook(_hook)


def flipped(content: bytes, rng: np.random.Generator) -> bytes:
    """Change, remove or repeat bytes."""
    changed, kind = bytearray(content), rng.integers(4)
    if kind == 0:
        return content[: rng.integers(len(content))]
    if kind == 1:
        cut = int(rng.integers(len(content)))
        return content[:cut] + content[cut // 2 :]
    for _ in range(int(rng.integers(1, 6))):
        changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
    return bytes(changed)


def with_other_schema(content: bytes, rng: np.random.Generator) -> bytes:
    """Change a few random nodes: a class, a loader, a file, a value, their order, or remove them."""

    def change(schema, parts):
        for _ in range(int(rng.integers(1, 4))):
            _change_node(schema, parts, rng)

    return rewritten(content, change)


def _change_node(schema, parts, rng):
    places: list = []
    stack = [schema]
    while stack:
        node = stack.pop()
        items = list(
            node.items()
            if isinstance(node, dict)
            else enumerate(node)
            if isinstance(node, list)
            else ()
        )
        places += [(node, key) for key, _ in items]
        stack += [value for _, value in items]

    def one_of(chosen):
        return chosen[int(rng.integers(len(chosen)))]

    nodes = [node for node, key in places if key == "__class__"]
    node, key = one_of(places)
    choice = rng.integers(8)
    if choice == 0:
        own = one_of(nodes)
        own["__module__"], own["__class__"] = one_of(CLASSES)
    elif choice == 1:
        one_of(nodes)["__loader__"] = one_of(LOADERS)
    elif choice == 2:
        node.pop(key)
    elif choice == 3 and parts:
        arrays = [own for own in nodes if "file" in own]
        if arrays:
            one_of(arrays)["file"] = one_of([*parts, "absent.npy"])
    elif choice == 4:  # another node in its place
        other, other_key = one_of(
            [place for place in places if isinstance(place[0][place[1]], dict)]
        )
        node[key] = json.loads(json.dumps(other[other_key]))
    elif choice == 5 and isinstance(key, str):  # an attribute of another name
        node[one_of(["predict", "__class__", "classes_", "n_features_in_", key + "_"])] = node.pop(
            key
        )
    else:
        node[key] = one_of(VALUES)


def with_other_arrays(content: bytes, rng: np.random.Generator) -> bytes:
    """Change the dtype, the shape, the numbers or the bytes of one or two arrays."""

    def change(schema, parts):
        names = sorted(parts)
        for name in rng.choice(names, size=min(len(names), int(rng.integers(1, 3))), replace=False):
            parts[str(name)] = _other_array(parts[str(name)], rng)

    return rewritten(content, change)


def _other_array(content, rng):
    array, kind = np.load(io.BytesIO(content)), rng.integers(9)
    if kind == 0:
        return content[: rng.integers(len(content))]
    if kind == 1:  # a header that announces more than there is
        return content.replace(b"'shape': (", b"'shape': (99999999, ", 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == 2:
            array = array.astype(
                [object, "f2", "f4", "i8", "?", "c16", "U3", "S2", "M8[s]"][rng.integers(9)]
            )
        elif kind == 3:
            array = array.T if array.ndim > 1 else array[None]
        elif kind == 4:
            array = array[: len(array) // 2] if array.ndim else np.full((2, 2), array)
        elif kind == 5:
            array = np.concatenate([array, array], axis=-1) if array.ndim else array.reshape(1)
        elif kind == 6:
            array = array.ravel() if array.ndim > 1 else np.zeros((0, 3))
        elif array.dtype.kind in "fiu" and array.size:
            array = np.array(array)
            array.flat[rng.integers(array.size)] = [-1, 2**30, 0, 7][rng.integers(4)]
            if array.dtype.kind == "f" and kind == 7:
                array.flat[0] = [np.nan, np.inf, -1e300, 0][rng.integers(4)]
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


KINDS: dict[str, Callable[[bytes, np.random.Generator], bytes]] = {
    "flipped bytes": flipped,
    "changed descriptions": with_other_schema,
    "changed arrays": with_other_arrays,
}


def outcome(sample: Sample, content: bytes, folder: Path) -> str:
    """Load and predict, and return what happened."""
    global _watching
    path = folder / "attack.skops"
    path.write_bytes(content)
    alarms.clear()
    model = None
    try:
        _watching = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = load(path)
            found = answers(model, sample.rows)
    except ModelFileError as error:
        said = REFUSED if "\n" not in str(error) else "refused in several lines"
    except BaseException as error:
        when = "load" if model is None else "predict"
        said = f"failed at {when}: {type(error).__name__}: {error}"[:300]
        if model is not None and isinstance(error, ValueError) and is_clear(str(error)):
            said = LATER
    else:
        same = set(found) == set(sample.expected) and all(
            np.array_equal(found[name], sample.expected[name]) for name in found
        )
        said = UNCHANGED if same else CHANGED
    finally:
        _watching = False
    if alarms or (folder / "MARKER").exists():
        return f"did something: {(alarms or ['wrote MARKER'])[0]}"
    return said


def outcomes(
    samples: list[Sample], folder: Path, n_files: int, seed: int = 0, crafted=CRAFTED
) -> dict[str, Counter]:
    """Mutate ``n_files`` files, an equal share of each kind, and add the crafted ones."""
    rng = np.random.default_rng(seed)
    found: dict[str, Counter] = {kind: Counter() for kind in [*KINDS, "crafted files"]}
    for k in range(n_files):
        kind = list(KINDS)[k % len(KINDS)]
        sample = samples[k // len(KINDS) % len(samples)]
        found[kind][outcome(sample, KINDS[kind](sample.content, rng), folder)] += 1
    for name, craft in crafted.items():
        said = outcome(samples[0], craft(samples[0].content, folder), folder)
        found["crafted files"][said if said in EXPECTED else f"{name}: {said}"] += 1
    return found


def table(found: dict[str, Counter]) -> str:
    """Format counts as one line for each kind of file."""
    lines = [
        f"{'':24}{'files':>8}{'unchanged':>12}{'changed':>12}{'refused':>12}{'at predict':>12}{'other':>8}"
    ]
    for kind, counts in [*found.items(), ("all", sum(found.values(), Counter()))]:
        usual = [counts[name] for name in EXPECTED]
        n_files = sum(counts.values())
        lines.append(
            f"{kind:24}{n_files:8}"
            + "".join(f"{n:12}" for n in usual)
            + f"{n_files - sum(usual):8}"
        )
    others = [name for counts in found.values() for name in counts if name not in EXPECTED]
    return "\n".join([*lines, *others])


def main():
    n_files, seed = map(
        int, [*sys.argv[1:], "1000", "0"][:2] if len(sys.argv) != 2 else [sys.argv[1], "0"]
    )
    with tempfile.TemporaryDirectory() as folder:
        made = samples(Path(folder))
        found = outcomes(made, Path(folder), n_files, seed)
    print(table(found))
    print(f"peak memory: {(peak_bytes() or 0) / 2**20:.0f} MB")
    counts = sum(found.values(), Counter())
    return int(not set(counts) <= set(EXPECTED) or counts[LATER] > 0.01 * counts.total())


if __name__ == "__main__":
    sys.exit(main())
