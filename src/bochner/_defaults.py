"""A parameter that is None stands for a default object, whose own parameters can be set all the same."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator


class DefaultParts(BaseEstimator):
    """An object some of whose parameters may be None, which stands for an object of ``_default_parts``.

    ``set_params(features__n_components=5)`` then works although ``features`` is None: the default takes its place.
    """

    def _default_parts(self) -> dict[str, Any]:
        """What None stands for, by the name of the parameter."""
        return {}

    def _part(self, name: str) -> Any:
        """The parameter, or what it stands for."""
        value = getattr(self, name)
        return self._default_parts()[name] if value is None else value

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of parts that are None so far."""
        for name, default in self._default_parts().items():
            asked = any(key.startswith(f"{name}__") for key in params)
            if asked and name not in params and getattr(self, name) is None:
                setattr(self, name, default)
        return super().set_params(**params)
