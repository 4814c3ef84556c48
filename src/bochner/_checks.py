"""Checks of parameters, with messages that state what to write instead."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

# Types of every public ``rng`` and ``random_state``.
Seed = int | np.random.Generator | np.random.SeedSequence | np.random.RandomState | None


def as_generator(seed: Any, name: str = "random_state") -> np.random.Generator:
    """Return a NumPy Generator for a Generator, a seed, a SeedSequence, a RandomState or None.

    A Generator is returned as it is.  None gives a different generator each time.
    """
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, np.random.RandomState) or seed is np.random:
        return np.random.default_rng(check_random_state(seed).randint(2**31, size=4))
    if isinstance(seed, bool) or not isinstance(
        seed, int | np.integer | np.random.SeedSequence | None
    ):
        raise TypeError(
            f"{name} must be an integer, None, a numpy.random.Generator, SeedSequence or "
            f"RandomState, got {seed!r}. Write e.g. {name}=0."
        )
    if isinstance(seed, int | np.integer) and seed < 0:
        raise ValueError(f"{name} must not be negative, got {seed}. Write e.g. {name}=0.")
    return np.random.default_rng(seed)


def check_count(value: Any, name: str, *, minimum: int = 1) -> int:
    """Validate an integer of at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(
            f"{name} must be an integer, got {value!r}. Write e.g. {name}={max(minimum, 100)}."
        )
    if value < minimum:
        raise ValueError(
            f"{name} must be at least {minimum}, got {value}. Write e.g. "
            f"{name}={max(minimum, 100)}."
        )
    return int(value)


def check_auto_count(value: Any, name: str, *, minimum: int = 1) -> None:
    """Validate "auto" or an integer of at least ``minimum``."""
    if isinstance(value, str):
        check_choice(value, name, ("auto",))
    else:
        check_count(value, name, minimum=minimum)


def check_share(value: Any, name: str, *, allow_one: bool = False, example: float = 0.1) -> float:
    """Validate a number between 0 and 1: a share, or a probability."""
    if check_positive(value, name) > 1 or (value == 1 and not allow_one):
        raise ValueError(
            f"{name} must be between 0 and 1, got {value}. Write e.g. {name}={example}."
        )
    return float(value)


def check_positive(value: Any, name: str, *, allow_zero: bool = False) -> float:
    """Validate a positive finite number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}. Write e.g. {name}=1.0.")
    if not np.isfinite(float(value)) or value < 0 or (value == 0 and not allow_zero):
        need = "non-negative" if allow_zero else "positive"
        raise ValueError(f"{name} must be {need} and finite, got {value!r}. Write e.g. {name}=1.0.")
    return float(value)


def check_positive_vector(value: Any, name: str, n_features: int) -> np.ndarray:
    """Return one positive number for all columns, or one per column (ARD), as a vector."""
    if isinstance(value, str):
        raise ValueError(
            f"{name}={value!r} is computed from data, but none were given. Use the prior inside "
            "SpectralFeatures, or call prior.resolved(X) first, or write a number, e.g. "
            f"{name}=1.0."
        )
    try:
        vector = np.asarray([] if value is None else value, dtype=np.float64)
    except (TypeError, ValueError):
        vector = np.empty(0)
    if vector.size == 0:
        raise TypeError(f"{name} must be a number or one number per feature, got {value!r}.")
    if vector.ndim > 1 or (vector.ndim == 1 and len(vector) != n_features):
        raise ValueError(
            f"{name} has shape {vector.shape}, but the data has {n_features} features. "
            "Give one number, or one number per feature."
        )
    if not np.all(np.isfinite(vector)) or np.any(vector <= 0):
        raise ValueError(
            f"{name} must be positive and finite, got {value!r}. Write e.g. {name}=1.0."
        )
    return np.broadcast_to(vector, (n_features,))


def check_choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """Validate one of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")
    return value


def check_flag(value: Any, name: str) -> bool:
    """Validate True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def refuse_class(value: Any, name: str) -> None:
    """Raise TypeError if a class is given instead of an object."""
    if isinstance(value, type):
        raise TypeError(
            f"{name} must be an object, got the class {value.__name__}. Write "
            f"{name}={value.__name__}(), with parentheses."
        )


def check_transformer(value: Any, name: str) -> None:
    """Validate a scikit-learn transformer, or a pipeline that ends in one."""
    refuse_class(value, name)
    if not isinstance(value, (TransformerMixin, Pipeline, FrozenEstimator)):
        raise TypeError(
            f"{name} must be a transformer, got {value!r}. Write e.g. {name}=SpectralFeatures()."
        )


class MissingMethod(NotImplementedError, TypeError):
    """Error for an optional method that an object, such as a prior of your own, does not define."""


def missing_method(owner: Any, method: str, purpose: str, advice: str = "") -> MissingMethod:
    """Return the error for a method that ``purpose``, a noun phrase, needs."""
    kind = type(owner).__name__
    return MissingMethod(
        f"{purpose} of {owner!r} needs the method `{method}`, which {kind} does not define. "
        + (advice or f"Define {kind}.{method}, or use another object.")
    )
