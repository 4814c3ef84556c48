"""Fitted models as ONNX graphs, alone or in pipelines, by way of skl2onnx."""

from .conversion import to_onnx
from .registration import register_converters

__all__ = ["register_converters", "to_onnx"]
