"""Mutated model files: whatever they hold, nothing is run, nothing takes long, and a refusal is one sentence."""

import io
import json
import sys
import time
import warnings
import zipfile
from collections import Counter

import numpy as np

from bochner import load
from bochner.tables import ModelFileError

LOADERS = (
    "MethodNode",
    "PartialNode",
    "FunctionNode",
    "OperatorFuncNode",
    "TypeNode",
    "ObjectNode",
    "ReduceNode",
    "CachedNode",
)
CLASSES = (
    ("os", "system"),
    ("builtins", "eval"),
    ("subprocess", "Popen"),
    ("sklearn.svm", "SVC"),
    ("pathlib", "Path"),
    ("bochner", "load"),
)
VALUES = (None, -1, 0, 10**30, 1e308, "", "x" * 10_000, [], {}, True, "NaN", "../../etc/passwd", [[[[]]]])
# What no loading of a model does.
_WATCHED = (
    "os.system",
    "subprocess.Popen",
    "os.exec",
    "os.posix_spawn",
    "os.remove",
    "os.rename",
    "socket.connect",
    "os.mkdir",
    "pickle.find_class",
)

alarms: list[str] = []
_watching = False


def _hook(event, arguments):
    if _watching and (event in _WATCHED or (event == "open" and str(arguments[1] or "r")[0] in "wax")):
        alarms.append(f"{event} {arguments!r}"[:200])


sys.addaudithook(_hook)


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """Bytes changed, cut or doubled, or the archive rewritten with another description or other arrays."""
    kind = rng.integers(6)
    if kind == 0:
        return _flipped(content, rng)
    if kind == 1:
        cut = int(rng.integers(len(content)))
        return content[:cut] if rng.random() < 0.5 else content[:cut] + content[cut // 2 :]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    if kind == 2:
        name = str(rng.choice([name for name in parts if name != "schema.json"]))
        parts[name] = _flipped(parts[name], rng) if rng.random() < 0.5 else _other_array(rng)
    elif kind == 3:
        parts.pop(str(rng.choice(list(parts))))
    else:
        schema = json.loads(parts["schema.json"])
        for _ in range(int(rng.integers(1, 4))):
            _change(schema, rng)
        parts["schema.json"] = json.dumps(schema).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return buffer.getvalue()


def _flipped(content, rng):
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
    return bytes(changed)


def _other_array(rng):
    buffer = io.BytesIO()
    shape = [(0,), (3,), (1, 1), (2, 5, 2), ()][rng.integers(5)]
    np.save(
        buffer, np.full(shape, [np.nan, 1e300, -1, 7][rng.integers(4)], dtype=["f4", "f8", "i8", "?"][rng.integers(4)])
    )
    if rng.random() < 0.3:  # a header that announces more than there is
        return buffer.getvalue().replace(b"'shape': (", b"'shape': (99999999999999, ", 1)
    return buffer.getvalue()


def _change(schema, rng):
    """One random node: its class, its loader, a value, or nothing of it left."""
    places: list = []
    stack = [schema]
    while stack:
        node = stack.pop()
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in items:
            places.append((node, key))
            stack.append(value)
    node, key = places[int(rng.integers(len(places)))]
    nodes = [(one, k) for one, k in places if k == "__class__"]
    choice = rng.integers(5)
    if choice == 0 and nodes:
        own = nodes[int(rng.integers(len(nodes)))][0]
        own["__module__"], own["__class__"] = CLASSES[rng.integers(len(CLASSES))]
    elif choice == 1 and nodes:
        nodes[int(rng.integers(len(nodes)))][0]["__loader__"] = LOADERS[rng.integers(len(LOADERS))]
    elif choice == 2 and isinstance(node, dict):
        node.pop(key)
    elif choice == 3:
        deep: list = []
        for _ in range(int(rng.integers(400))):
            deep = [deep]
        node[key] = deep
    else:
        node[key] = VALUES[rng.integers(len(VALUES))]


def outcome(path) -> str:
    """What loading a file came to."""
    global _watching
    begun = time.perf_counter()
    alarms.clear()
    try:
        _watching = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            load(path)
    except ModelFileError as error:
        said = "refused" if "\n" not in str(error) else "refused in several lines"
    except BaseException as error:
        said = f"not refused in our words: {type(error).__name__}: {error}"[:200]
    else:
        said = "loaded"
    finally:
        _watching = False
    if alarms:
        return f"did something: {alarms[0]}"
    if time.perf_counter() - begun > 5:
        return "took long"
    return said


def outcomes(content: bytes, folder, n_times: int, seed: int = 0) -> Counter:
    """What ``n_times`` mutations came to."""
    rng, found = np.random.default_rng(seed), Counter()
    for _ in range(n_times):
        (folder / "mutated.skops").write_bytes(mutated(content, rng))
        found[outcome(folder / "mutated.skops")] += 1
    return found
