"""Random generators: convert a seed or generator of any accepted kind into a NumPy Generator."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

# What every public ``rng`` and ``random_state`` accepts.
Seed = int | np.random.Generator | np.random.SeedSequence | np.random.RandomState | None


def as_generator(seed: Any, name: str = "random_state") -> np.random.Generator:
    """Return a NumPy Generator for a Generator, a seed, a SeedSequence, a RandomState or None.

    A Generator is returned as it is.  None gives a different generator each time.
    """
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, np.random.RandomState) or seed is np.random:
        return np.random.default_rng(check_random_state(seed).randint(2**31, size=4))
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer | np.random.SeedSequence | None):
        raise TypeError(
            f"{name} must be an integer, None, a numpy.random.Generator, SeedSequence or RandomState, got {seed!r}. "
            f"Write e.g. {name}=0."
        )
    if isinstance(seed, int | np.integer) and seed < 0:
        raise ValueError(f"{name} must not be negative, got {seed}. Write e.g. {name}=0.")
    return np.random.default_rng(seed)
