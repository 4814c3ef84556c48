"""Compiled kernels, imported at their first use: ``import bochner`` starts no compiler."""

from importlib import import_module
from typing import Any


class LazyModule:
    """Placeholder of a module of this package; the first access to an attribute imports it."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(f".{self._name}", __package__), attribute)
        setattr(self, attribute, value)
        return value


fused = LazyModule("kernels")
boosting = LazyModule("boosting_kernels")
waves = LazyModule("wave_kernels")
grams = LazyModule("gram_kernels")
shapley = LazyModule("shapley_kernels")
