"""Model files in the skops format: read without executing anything that the file brings along."""

import zipfile
from pathlib import Path
from typing import Any

from .._files import written_whole
from .._text import one_line
from ..storage import is_ours
from .fitting import TableModel

FORMAT = "bochner table model 2"
_MAX_BYTES = 2**31


class ModelFileError(ValueError):
    """A file is no model of ours, is damaged, or holds objects that are not trusted."""


def save(model: TableModel, path: str | Path) -> None:
    """Write ``model`` whole or not at all."""
    skops = _import_skops()
    with written_whole(path) as beside:
        skops.dump({"format": FORMAT, "model": model}, beside, compression=zipfile.ZIP_DEFLATED)


def load(path: str | Path) -> TableModel:
    """The model in a file that ``save`` wrote; anything else is refused before an object of it is made."""
    skops = _import_skops()
    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"There is no model file {path}.")
    _check_archive(path)
    try:
        held = skops.get_untrusted_types(file=path)
    except Exception as error:
        raise ModelFileError(f"{path} is damaged or no model file: {one_line(error)}") from None
    strangers = [name for name in held if not is_ours(name)]
    if strangers:
        raise ModelFileError(
            f"{path} is refused: it holds objects of type {', '.join(strangers[:5])}, which no model of ours needs."
        )
    try:
        content = skops.load(path, trusted=held)
    except Exception as error:
        raise ModelFileError(f"{path} is damaged: {one_line(error)}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFileError(f"{path} is a skops file, but no model of `bochner fit` of this version.")
    model = content.get("model")
    if not isinstance(model, TableModel):
        raise ModelFileError(f"{path} is damaged: it holds no model.")
    return model


def _check_archive(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            size = sum(entry.file_size for entry in archive.infolist())
            broken = archive.testzip() if size <= _MAX_BYTES else None
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError) as error:
        raise ModelFileError(f"{path} is damaged or no model file: {one_line(error)}") from None
    if "schema.json" not in names:
        raise ModelFileError(f"{path} is no model file: it lacks the description that bochner writes.")
    if size > _MAX_BYTES:
        raise ModelFileError(f"{path} would unpack to {size} bytes; model files are below {_MAX_BYTES}.")
    if broken:
        raise ModelFileError(f"{path} is damaged: {broken} in it has a wrong checksum.")


def _import_skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise ModelFileError("Model files need skops, which is not installed: pip install 'bochner[table]'.") from None
    return skops.io
