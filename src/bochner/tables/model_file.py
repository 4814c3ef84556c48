"""Model files in the skops format: read without executing anything that the file brings along."""

import zipfile
from pathlib import Path

from .._files import written_whole
from .._text import one_line
from .fitting import TableModel
from .model_schema import UntrustedModel, check_archive
from .reading import needed

FORMAT = "bochner table model 5"
_MAX_BYTES = 2**31


class ModelFileError(ValueError):
    """A file is no model of ours, is damaged, or holds objects that are not trusted."""


def save(model: TableModel, path: str | Path) -> None:
    """Write a model into a file, whole or not at all.

    Parameters
    ----------
    model : TableModel
        What ``fit_table`` returned.
    path : str or path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import pandas as pd
    >>> from bochner import fit_table
    >>> frame = pd.DataFrame({"x": np.arange(40.0), "y": np.arange(40.0) ** 2})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(fit_table(frame, "y"), f"{folder}/model.skops")
    ...     load(f"{folder}/model.skops").facts_["target"]
    'y'
    """
    skops = needed("skops.io")
    with written_whole(path) as beside:
        skops.dump({"format": FORMAT, "model": model}, beside, compression=zipfile.ZIP_DEFLATED)


def load(path: str | Path) -> TableModel:
    """The model in a file that ``save`` wrote; anything else is refused before an object of it is made.

    Parameters
    ----------
    path : str or path
        The file.

    Examples
    --------
    >>> load("nowhere.skops")
    Traceback (most recent call last):
        ...
    bochner.tables.model_file.ModelFileError: There is no model file nowhere.skops.
    """
    skops, path = needed("skops.io"), Path(path)
    if not path.is_file():
        raise ModelFileError(f"There is no model file {path}.")
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
            if size <= _MAX_BYTES:
                check_archive(archive)
        held = skops.get_untrusted_types(file=path) if size <= _MAX_BYTES else []
    except UntrustedModel as error:
        raise ModelFileError(f"{path} is refused: {error}.") from None
    except Exception as error:
        raise ModelFileError(f"{path} is damaged or no model file: {one_line(error)}") from None
    if size > _MAX_BYTES:
        raise ModelFileError(f"{path} would unpack to {size} bytes; model files are below {_MAX_BYTES}.")
    try:
        content = skops.load(path, trusted=held)  # notices a wrong checksum of any part
    except Exception as error:
        raise ModelFileError(f"{path} is damaged: {one_line(error)}") from None
    model = content.get("model") if isinstance(content, dict) and content.get("format") == FORMAT else None
    if not isinstance(model, TableModel):
        raise ModelFileError(f"{path} is a skops file, but no model of `bochner fit` of this version.")
    return model
