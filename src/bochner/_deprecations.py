"""Deprecations: what still works in this release, with a warning."""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)


def keyword_only_from(version: str, *, old_order: tuple[str, ...]) -> Callable[[_Class], _Class]:
    """Let a class with keyword-only parameters accept its former positional ones, with a FutureWarning.

    ``old_order`` lists the parameters that could be given by position.  The signature of the class stays
    keyword-only, so that scikit-learn's ``get_params`` and ``clone`` read the parameters as usual.  In
    release ``version`` the decorator is removed.

    >>> @keyword_only_from("0.4", old_order=("rows",))
    ... class Table:
    ...     def __init__(self, *, rows=3):
    ...         self.rows = rows
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     Table(5).rows
    5
    >>> print(caught[0].message)
    Write Table(rows=...): from bochner 0.4 on, this parameter must be given by name.
    """

    def decorate(cls: _Class) -> _Class:
        keyword_only: Callable[..., None] = cls.__init__  # type: ignore[misc]

        @wraps(keyword_only)
        def __init__(self: Any, *positional: Any, **keywords: Any) -> None:
            if not positional or len(positional) > len(old_order):
                return keyword_only(self, *positional, **keywords)
            named = dict(zip(old_order, positional))
            written = ", ".join(f"{name}=..." for name in named)
            noun = "this parameter" if len(named) == 1 else "these parameters"
            warnings.warn(
                f"Write {type(self).__name__}({written}): from bochner {version} on, {noun} must be given by name.",
                FutureWarning,
                stacklevel=2,
            )
            return keyword_only(self, **named, **keywords)

        cls.__init__ = __init__  # type: ignore[misc]
        return cls

    return decorate
