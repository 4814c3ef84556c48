"""Compare the results of the current code with those stored in ``tests/golden.json``, exactly.

    make golden                                          compare every case
    python tools/golden.py bounds/ estimators/Spectral   compare the cases whose names begin so
    python tools/golden.py --write                       store the results of the current code
    python tools/golden.py --write bounds/               store these cases anew and keep the others
    python tools/golden.py --list                        print the names of all cases

Every changed, new and missing answer is one line of output, also with ``--write``.  The exit code
is 1 if a comparison found any.  The cases are in ``golden_cases.py``, ``golden_models.py`` and
``golden_tables.py``.

Results must agree to the last digit on every x86-64 processor with AVX2.  So the script fixes the
number of threads and the instruction set of numpy, OpenBLAS and numba before it imports them.
onnxruntime chooses its instructions by itself: with AVX-512 its outputs may differ.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import platform
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "tests" / "golden.json"
# Between the name of a case and that of an answer.
MARK = " :: "
# Longest text that is shown of an old or new value.
LONGEST = 160
PACKAGES = (
    *("numpy", "scipy", "scikit-learn", "numba", "onnxruntime", "onnx", "skl2onnx"),
    *("pandas", "dask", "pyarrow", "lightgbm"),
)
FIXED = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "OPENBLAS_CORETYPE": "Haswell",
    "NUMBA_CPU_NAME": "haswell",
    "NUMBA_CPU_FEATURES": "+avx2,+fma",  # without this numba adds all features of the processor
    "NUMBA_DISABLE_INTEL_SVML": "1",
}
# Names of numpy 2.4, then those of earlier versions.  numpy ignores names that it does not know.
AVX512_OF_NUMPY = "X86_V4 AVX512_ICL AVX512_SPR AVX512F AVX512CD AVX512_KNL AVX512_KNM AVX512_SKX AVX512_CLX AVX512_CNL"


def estimator_name(estimator: Any) -> str:
    """Return the ``repr`` of an estimator on one line."""
    return " ".join(repr(estimator).split())


# --- environment --------------------------------------------------------------------------------


def has_avx512() -> bool:
    """Return True if the processor has AVX-512."""
    try:
        return " avx512f" in Path("/proc/cpuinfo").read_text()
    except OSError:
        return False


def fix_arithmetic() -> None:
    """Set threads and instruction sets; numpy must not have been imported yet."""
    if "numpy" in sys.modules:
        raise RuntimeError("numpy was imported before its instruction set was fixed.")
    os.environ.update(FIXED)
    if has_avx512():
        os.environ["NPY_DISABLE_CPU_FEATURES"] = AVX512_OF_NUMPY
    for name in (
        "BOCHNER_DATA",
        "BOCHNER_TABLES",
    ):  # results must not depend on data of this machine
        os.environ.pop(name, None)


def check_arithmetic() -> None:
    """Raise if a library does not use the fixed instruction set or number of threads."""
    import numba
    import numpy as np
    import scipy.linalg  # noqa: F401  # loads the OpenBLAS of scipy
    from threadpoolctl import threadpool_info

    for library in threadpool_info():
        if library["num_threads"] != 1 or library.get("architecture", "Haswell") != "Haswell":
            raise RuntimeError(f"Needs one thread and the instructions of Haswell, got {library}.")
    umath = np._core._multiarray_umath
    features = umath.__cpu_features__
    # Other features are those of the processor; numpy selects its loops by the dispatched ones.
    wrong = [
        name
        for name in umath.__cpu_dispatch__
        if features[name] and ("AVX512" in name or name == "X86_V4")
    ]
    if wrong or not features["AVX2"] or not features["FMA3"]:
        raise RuntimeError(
            f"numpy must use AVX2 and FMA3 but not AVX-512, and uses {wrong or 'less'}."
        )
    compiled_for = {
        "NUMBA_CPU_NAME": numba.config.CPU_NAME,
        "NUMBA_CPU_FEATURES": numba.config.CPU_FEATURES,
    }
    if not compiled_for.items() <= FIXED.items():
        raise RuntimeError(f"numba must compile for haswell, not for {numba.config.CPU_NAME}.")


def environment() -> dict[str, str]:
    """Return the versions that results depend on."""
    found = {"Python": platform.python_version(), "C library": " ".join(platform.libc_ver())}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "missing"
    return found | {"AVX-512": "yes" if has_avx512() else "no"}


def environment_note(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """Return one sentence on different versions, empty if there are none."""
    names = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    changes = ", ".join(
        f"{name} {old.get(name, 'unknown')} → {new.get(name, 'unknown')}" for name in names
    )
    return (
        f"The file was written in another environment ({changes}), so last digits may differ."
        if names
        else ""
    )


# --- values as JSON -----------------------------------------------------------------------------


def flattened(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield (path, JSON value) for a nested result; functions are called, and errors are values."""
    import numpy as np
    from sklearn.base import BaseEstimator

    if callable(value) and not isinstance(value, BaseEstimator):
        value = attempted(value)
    if isinstance(value, np.generic):
        plain = value.dtype in (np.float64, np.int64, np.bool_) or value.dtype.kind == "U"
        value = value.item() if plain else np.asarray(value)
    if isinstance(value, BaseEstimator):
        value = {"type": type(value).__name__} | value.get_params(deep=False)
    elif dataclasses.is_dataclass(value):
        names = [
            field.name for field in dataclasses.fields(value) if not field.name.startswith("_")
        ]
        value = {name: getattr(value, name) for name in names}
    if isinstance(value, list | tuple):
        if all(is_scalar(one) for one in value):
            yield "", ["list", [len(value)], list(value)]
            return
        if is_rectangular(value):
            yield "", ["list", [len(value), len(value[0])], [one for row in value for one in row]]
            return
        value = {f"{k}": one for k, one in enumerate(value)}
    if isinstance(value, Mapping) and value and all(is_scalar(one) for one in value.values()):
        yield "", ["record", [str(name) for name in value], list(value.values())]
    elif isinstance(value, Mapping):
        for name, part in value.items():
            for path, found in flattened(part):
                yield f"{name}.{path}" if path else str(name), found
    elif isinstance(value, np.ndarray):
        yield "", as_json_array(value)
    elif is_scalar(value):
        yield "", value
    else:
        raise TypeError(f"Cannot store a value of type {type(value).__name__}.")


def is_scalar(value: Any) -> bool:
    """Return True for the values that JSON knows, without lists and objects."""
    return isinstance(value, bool | int | float | str | None)


def is_rectangular(rows: Any) -> bool:
    """Return True for lists of scalars that are all of one length."""
    return all(isinstance(row, list | tuple) and len(row) == len(rows[0]) for row in rows) and all(
        is_scalar(one) for row in rows for one in row
    )


def as_json_array(values: Any) -> list[Any]:
    """Return [dtype, shape, flat values]; values of float32 have the digits that float32 needs."""
    flat = values.ravel()
    if values.dtype.kind == "f" and values.dtype.itemsize < 8:
        return [values.dtype.name, list(values.shape), [float(str(one)) for one in flat]]
    if values.dtype.kind in "fiub":
        return [values.dtype.name, list(values.shape), flat.tolist()]
    kind = "object" if values.dtype == object else "text"
    plain = [one if is_scalar(one) else str(one) for one in flat.tolist()]
    return [kind, list(values.shape), plain]


def attempted(function: Callable[[], Any]) -> Any:
    """Return the result, or the type and the message of the error."""
    try:
        return function()
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())}"


def answers_of(case: Callable[[], Any]) -> dict[str, Any]:
    """Return {answer: JSON value} of a case; a case that raises has one answer, ``error``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = attempted(case)
        parts = result if isinstance(result, Mapping) else {"error": result}
        return {
            f"{name}.{path}" if path else str(name): found
            for name, part in parts.items()
            for path, found in flattened(part)
        }


# --- comparing ----------------------------------------------------------------------------------


def as_line(value: Any) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ": "))


def difference(old: Any, new: Any) -> str | None:
    """Return the difference of two stored values in words, None if they agree to the last digit."""
    if as_line(old) == as_line(new):
        return None
    if is_array(old) and is_array(new):
        if old[:2] != new[:2]:
            return f"{kind_of(old)} → {kind_of(new)}"
        pairs = [(a, b) for a, b in zip(old[2], new[2]) if as_line(a) != as_line(b)]
        counted = f"{len(pairs)} of {len(new[2])} values changed"
        first = f"the first one {shown(pairs[0][0])} → {shown(pairs[0][1])}"
        return f"{counted}, {largest_differences(pairs) or first}"
    sizes = largest_differences([(old, new)])
    return f"{shown(old)} → {shown(new)}" + (f", {sizes}" if sizes else "")


def largest_differences(pairs: Iterable[tuple[Any, Any]]) -> str:
    """Return the largest absolute and relative difference, empty if a value is not finite."""
    absolute, relative = 0.0, 0.0
    for a, b in pairs:
        if not all(type(one) in (int, float) and math.isfinite(one) for one in (a, b)):
            return ""
        absolute = max(absolute, abs(a - b))
        relative = max(relative, abs(a - b) / max(abs(a), abs(b)) if a or b else 0.0)
    return f"largest difference {absolute:.2g} absolute, {relative:.2g} relative"


def is_array(value: Any) -> bool:
    """Return True for [kind, shape or names, values]."""
    return isinstance(value, list) and len(value) == 3


def kind_of(value: Any) -> str:
    """Return kind and shape in words."""
    if value[0] == "record":
        return f"record of {', '.join(value[1])}"
    return f"{value[0]} of shape {tuple(value[1])}"


def shown(value: Any) -> str:
    """Return a short text of a value."""
    text = kind_of(value) if is_array(value) and len(value[2]) > 3 else as_line(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return one line for each changed, missing and new answer, by name."""
    lines = []
    for name in sorted({*old, *new}):
        if name not in new:
            lines.append(f"{name}: missing, was {shown(old[name])}")
        elif name not in old:
            lines.append(f"{name}: new, {shown(new[name])}")
        elif words := difference(old[name], new[name]):
            lines.append(f"{name}: {words}")
    return lines


# --- the file -----------------------------------------------------------------------------------


def read_stored(path: Path = STORED) -> dict[str, Any]:
    """Return the stored environment and answers, both empty if there is no file."""
    return (
        json.loads(path.read_text(encoding="utf-8"))
        if path.exists()
        else {"environment": {}, "answers": {}}
    )


def write_stored(stored: Mapping[str, Any], path: Path = STORED) -> None:
    """Write one line for each answer, sorted by name; the file is replaced as a whole."""
    lines = [
        f"{as_line(name)}: {as_line(stored['answers'][name])}" for name in sorted(stored["answers"])
    ]
    text = (
        f'{{\n"environment": {as_line(stored["environment"])},\n"answers": {{\n'
        + ",\n".join(lines)
        + "\n}\n}\n"
    )
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, delete=False
    ) as beside:
        beside.write(text)
    os.chmod(beside.name, 0o644)
    os.replace(beside.name, path)


def is_chosen(name: str, beginnings: list[str]) -> bool:
    """Return True if the name begins with one of the beginnings, or if there are none."""
    return not beginnings or name.startswith(tuple(beginnings))


def n_values(answers: Mapping[str, Any]) -> int:
    """Return the number of single values."""
    return sum(len(value[2]) if is_array(value) else 1 for value in answers.values())


def main(arguments: list[str] | None = None) -> int:
    """Compare or write; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="beginnings of names of cases")
    parser.add_argument(
        "--write", action="store_true", help="store the results of the current code"
    )
    parser.add_argument(
        "--list", action="store_true", help="print the names of the cases and run nothing"
    )
    parser.add_argument(
        "--times", action="store_true", help="also print the CPU seconds of each case"
    )
    options = parser.parse_args(arguments)
    fix_arithmetic()
    check_arithmetic()
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tools"), str(ROOT / "tests" / "conformance")]
    from golden_cases import all_cases

    cases = {name: case for name, case in all_cases().items() if is_chosen(name, options.names)}
    if options.list:
        print("\n".join(cases))
        return 0
    stored, now = read_stored(), environment()
    if note := environment_note(stored["environment"], now) if stored["environment"] else "":
        print(note)
        if options.write and options.names:
            print("Write all cases, so that the file has one environment.")
            return 2
    new: dict[str, Any] = {}
    for name, case in cases.items():
        started = time.process_time()
        new |= {f"{name}{MARK}{answer}": value for answer, value in answers_of(case).items()}
        if options.times:
            print(f"{time.process_time() - started:7.2f} s  {name}", flush=True)
    old = {
        name: value for name, value in stored["answers"].items() if is_chosen(name, options.names)
    }
    lines = changes(old, new)
    print("\n".join(lines), end="\n" if lines else "")
    if options.write:
        others = {name: value for name, value in stored["answers"].items() if name not in old}
        write_stored({"environment": now, "answers": others | new})
    print(
        f"{len(lines)} of {len(new)} answers changed; {len(cases)} cases, {n_values(new)} values, "
        f"{time.process_time():.0f} CPU seconds."
    )
    return 1 if lines and not options.write else 0


if __name__ == "__main__":
    sys.exit(main())
