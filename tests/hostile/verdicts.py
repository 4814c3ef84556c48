"""What an attack has come to: right, refused clearly, refused unclearly, or silently wrong."""

import re
import warnings
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier

RIGHT, CLEAR, UNCLEAR, WRONG = "right", "refused clearly", "refused unclearly", "silently wrong"

# Words of the machinery underneath: whoever reads them has to guess what was wrong with the input.
_MACHINERY = re.compile(
    r"has no attribute|'NoneType'|unexpected keyword|positional argument|not supported between|unsupported operand|"
    r"could not be broadcast|shapes? mismatch|matmul|dimension mismatch|index \d+ is out of bounds|out of bounds for axis|"
    r"cannot cast|ufunc|LAPACK|numba|setting an array element|object is not (callable|iterable|subscriptable)|len\(\) of unsized|"
    r"unhashable|singular matrix|Cannot interpret|math domain|cannot convert float|maximum recursion|must be real number|"
    r"truth value of an array|invalid literal|expected non-negative integer|SVD did not converge|^'?\w+'?$"
)


@dataclass(frozen=True)
class Outcome:
    """``said`` is the message of a refusal, or what is wrong."""

    kind: str
    said: str = ""


def is_clear(message: str) -> bool:
    return _MACHINERY.search(message) is None and len(message) >= 15


def attacked(action, expected=None, may_differ=False, must_refuse=False):
    """The outcome of ``action``, which gives the answers of an estimator by method.

    Right are answers that are finite and, with ``expected`` given, equal to them; with
    ``must_refuse`` none are.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = action()
    except (ValueError, TypeError) as error:
        return Outcome(CLEAR if is_clear(str(error)) else UNCLEAR, str(error))
    except ImportError as error:
        return Outcome(CLEAR if "pip install" in str(error) else UNCLEAR, str(error))
    except Exception as error:
        return Outcome(UNCLEAR, f"{type(error).__name__}: {error}")
    if must_refuse:
        return Outcome(WRONG, "was taken, but has no meaning")
    for name, values in found.items():
        values = values.toarray() if sp.issparse(values) else np.asarray(values)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            return Outcome(WRONG, f"{name} is not finite")
        if expected is not None and not is_equal(values, expected[name], may_differ):
            return Outcome(WRONG, f"{name} differs")
    return Outcome(RIGHT)


def is_equal(values, expected, may_differ):
    """Labels may differ by a few where numbers may differ by rounding that a search has followed."""
    expected = expected.toarray() if sp.issparse(expected) else np.asarray(expected)
    if values.shape != expected.shape:
        return False
    if values.dtype.kind in "fiub" and expected.dtype.kind in "fiub":
        size = max(1.0, float(np.abs(expected.astype(float)).max(initial=0)))
        precision = 0.2 if may_differ else 1e-4 if values.dtype == np.float32 else 1e-6
        return bool(
            np.abs(values.astype(float) - expected.astype(float)).max(initial=0) <= precision * size
        )
    return np.mean(values.astype(str) == expected.astype(str)) >= (0.9 if may_differ else 1.0)


def answers(fitted, X):
    """What a fitted estimator says about rows, by method."""
    methods = (
        ("predict", "predict_proba", "decision_function")
        if is_classifier(fitted)
        else ("predict", "transform")
    )
    return {name: getattr(fitted, name)(X) for name in methods if hasattr(fitted, name)}
