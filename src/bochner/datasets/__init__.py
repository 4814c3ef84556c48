"""Data sets and generators, each a scikit-learn Bunch."""

from .files import DatasetNotFound, cache_folder, data_folder, load, where
from .generators import (
    board,
    circles,
    curl_free_field,
    divergence_free_field,
    gradient_field,
    plane_potential,
    sphere_checkerboard,
    swiss,
    toy_bands,
    toy_landmarks,
    windmill,
)

__all__ = [
    "DatasetNotFound",
    "board",
    "cache_folder",
    "circles",
    "curl_free_field",
    "data_folder",
    "divergence_free_field",
    "gradient_field",
    "load",
    "plane_potential",
    "sphere_checkerboard",
    "swiss",
    "toy_bands",
    "toy_landmarks",
    "where",
    "windmill",
]
