"""Parameters that are objects and None by default: what None stands for."""

from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, clone

from ._validation import refuse_class


class NestedDefaults(BaseEstimator):
    """Base of parameter objects and estimators: ``prior__gamma=2.0`` also works while prior is None.

    ``_defaults`` names the parameters and the objects that None stands for; they are never changed, only cloned.
    """

    _defaults: ClassVar[Any] = {}  # a property where defaults depend on other parameters

    def _part(self, name: str, kind: type | None = None) -> Any:
        """The parameter ``name``, or what None stands for; it must be an object of this kind."""
        value, default = getattr(self, name), self._defaults[name]
        refuse_class(value, name)
        if value is not None and kind is not None and not isinstance(value, kind):
            raise TypeError(
                f"{name} must be an object of {kind.__name__}, got {value!r}. Write e.g. {name}={default!r}."
            )
        return clone(default) if value is None else value

    def set_params(self, **parameters: Any) -> Self:
        own = self.get_params(deep=False)
        for key in list(parameters):
            name, nested, inner = key.partition("__")
            if not nested or name not in own or parameters.get(name, own[name]) is not None:
                continue
            if name not in self._defaults:
                raise ValueError(
                    f"{name}=None of {type(self).__name__} has no parameter {inner!r}. Give an object first, then set {key}."
                )
            parameters[name] = clone(self._defaults[name])
        return super().set_params(**parameters)
