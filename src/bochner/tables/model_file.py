"""Model files in the skops format: read without executing anything that the file brings along."""

from __future__ import annotations

import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from .columns import Columns
from .fitting import TableModel

FORMAT = "bochner table model 1"
_MAX_BYTES = 2**31
_TRUSTED = frozenset(
    {
        "bochner.alignment.LabelSums",
        "bochner.features.SpectralFeatures",
        "bochner.learners.joint_descent.DescentReport",
        "bochner.learners.joint_descent.JointDescent",
        "bochner.learners.pac_bayes.PacBayes",
        "bochner.learners.reweighting.AlignmentReport",
        "bochner.measures.FourierMeasure",
        "bochner.priors.gaussian.Gaussian",
        "numpy.dtype",
    }
)


class ModelFileError(ValueError):
    """A file is no model of ours, is damaged, or holds objects that are not trusted."""


def save_model(model: TableModel, path: str | Path) -> None:
    """Write ``model`` whole or not at all."""
    skops = _import_skops()
    path = Path(path)
    columns = {"numeric": model.columns.numeric, "categorical": model.columns.categorical}
    content = {
        "format": FORMAT,
        "facts": json.dumps(model.facts),
        "columns": json.dumps(columns),
        "pipeline": model.pipeline,
    }
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        part = Path(file.name)
    try:
        skops.dump(content, part, compression=zipfile.ZIP_DEFLATED)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def load_model(path: str | Path) -> TableModel:
    """The model in a file that ``save_model`` wrote; anything else is refused before an object of it is made."""
    skops = _import_skops()
    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"There is no model file {path}.")
    _check_archive(path)
    try:
        strangers = sorted(set(skops.get_untrusted_types(file=path)) - _TRUSTED)
    except Exception as error:
        raise ModelFileError(f"{path} is damaged or no model file: {_short(error)}") from None
    if strangers:
        raise ModelFileError(
            f"{path} is refused: it holds objects of type {', '.join(strangers[:5])}, which no model of ours needs."
        )
    try:
        content = skops.load(path, trusted=sorted(_TRUSTED))
    except Exception as error:
        raise ModelFileError(f"{path} is damaged: {_short(error)}") from None
    return _checked(content, path)


def _check_archive(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            size = sum(entry.file_size for entry in archive.infolist())
            broken = archive.testzip() if size <= _MAX_BYTES else None
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError) as error:
        raise ModelFileError(f"{path} is damaged or no model file: {_short(error)}") from None
    if "schema.json" not in names:
        raise ModelFileError(f"{path} is no model file: it lacks the description that bochner writes.")
    if size > _MAX_BYTES:
        raise ModelFileError(f"{path} would unpack to {size} bytes; model files are below {_MAX_BYTES}.")
    if broken:
        raise ModelFileError(f"{path} is damaged: {broken} in it has a wrong checksum.")


def _checked(content: Any, path: Path) -> TableModel:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFileError(f"{path} is a skops file, but no model of `bochner fit` of this version.")
    try:
        facts, columns = json.loads(content["facts"]), Columns(**json.loads(content["columns"]))
        pipeline = content["pipeline"]
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} is damaged: {_short(error)}") from None
    return TableModel(pipeline, columns, facts)


def _import_skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise ModelFileError("Model files need skops, which is not installed: pip install 'bochner[table]'.") from None
    return skops.io


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
