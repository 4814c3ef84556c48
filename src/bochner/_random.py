"""Random generators: one from anything that scikit-learn takes as ``random_state``."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def as_generator(random_state: Any) -> np.random.Generator:
    """A numpy Generator from None, a whole number, a RandomState or a Generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or (isinstance(random_state, (int, np.integer)) and random_state >= 0):
        return np.random.default_rng(random_state)
    if isinstance(random_state, (int, np.integer)):
        raise ValueError(f"random_state must not be negative, got {random_state}. Write e.g. random_state=0.")
    return np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))
