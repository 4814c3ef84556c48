"""Parameters that are objects with parameters of their own, and what stands there when none is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self


class DefaultParts:
    """For estimators whose parameters may be None for a part by default: ``set_params(part__name=...)`` puts that part in place.

    ``_default_parts`` makes the part that None stands for; this class comes before ``BaseEstimator`` among the bases.
    """

    _default_parts: ClassVar[dict[str, Callable[[], Any]]] = {}

    def set_params(self, **params: Any) -> Self:
        """As in scikit-learn; parameters of a part that is None are those of its default."""
        for name in {key.split("__")[0] for key in params if "__" in key} & set(self._default_parts):
            if params.get(name, getattr(self, name)) is None:
                params = {key: value for key, value in params.items() if key != name}
                setattr(self, name, self._default_parts[name]())
        return super().set_params(**params)  # type: ignore[misc]

    def _part(self, name: str, kind: type) -> Any:
        """The part given, or its default; it must be an object of this kind."""
        part = getattr(self, name)
        default = self._default_parts[name]
        if part is not None and not isinstance(part, kind):
            raise TypeError(
                f"{name} must be an object of {kind.__name__}, got {part!r}. Write e.g. {name}={default()!r}."
            )
        return default() if part is None else part
