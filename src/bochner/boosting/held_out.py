"""Validation rows of the user's own, for early stopping: X_val, y_val and sample_weight_val of
``fit``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..data import Rows
from ..data.targets import Labels

# Numbers of validation rows at most, one GiB of doubles: they are held in memory, and looked at
# whole after each round.
MOST_NUMBERS = 2**27


class ValidationRows(NamedTuple):
    """Rows that judge and are not learned from, with targets and weights as boosting reads those of
    its own rows.
    """

    rows: Rows
    targets: np.ndarray
    weights: np.ndarray | None


def validation_given(X_val: Any, y_val: Any, sample_weight_val: Any) -> bool:
    """Whether there are validation rows; one half of them is refused."""
    if X_val is not None and y_val is not None:
        return True
    if X_val is None and y_val is None and sample_weight_val is None:
        return False
    given = {"X_val": X_val, "y_val": y_val, "sample_weight_val": sample_weight_val}
    raise ValueError(
        "Validation rows need both X_val and y_val, got only "
        f"{' and '.join(n for n, part in given.items() if part is not None)}. "
        "Write fit(X, y, X_val=X_val, y_val=y_val)."
    )


@contextmanager
def of_validation_rows() -> Iterator[None]:
    """What is wrong with validation rows is said in the same words as of X and y, and that it is
    about them.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"In the validation rows (X_val, y_val, sample_weight_val): {error}"
        ) from error


def known_labels(labels: Labels, classes: np.ndarray) -> Labels:
    """The labels as codes into the classes of the training rows."""
    known = classes.tolist()
    strangers = [label for label in labels.classes.tolist() if label not in known]
    if strangers:
        raise ValueError(
            f"y holds the labels {strangers}, but the training rows have {known} only."
        )
    return Labels(
        classes, np.array([known.index(label) for label in labels.classes.tolist()])[labels.codes]
    )
