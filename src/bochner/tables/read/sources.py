"""Bytes of a file or of standard input, decompressed, with a limit on the length of lines."""

import bz2
import gzip
import io
import lzma
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import TableError, needed

STANDARD_INPUT = "-"
PARQUET = (".parquet", ".pq")
_TEXT, _TABS = (".csv", ".txt", ".data", ".dat"), (".tsv", ".tab")
_JSON = (".jsonl", ".ndjson", ".json")
SUFFIXES = (*_TEXT, *_TABS, *PARQUET, *_JSON)
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
# First bytes of compressed files.
_GZIP, _XZ, _ZSTANDARD = b"\x1f\x8b", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"
_BZIP2 = re.compile(rb"BZh[1-9]1AY&SY")

_BEGINNING, _BEGINNING_LINES = 2**18, 20  # bytes, and lines if these are longer
_CHUNK = 2**20
# Longer lines raise an error, because a parser holds a whole line in memory.
MAX_LINE_BYTES = 2**26
# Lines with letters beyond ASCII from which an encoding is detected, in bytes.
_LETTERS = 2**20


def suffix_of(path: Path) -> str:
    """Return the ending of a name in lower case, without that of a compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


class Source:
    """A file, or standard input copied to a temporary file, which can be read several times."""

    def __init__(self, path: str | Path):
        if str(path) == STANDARD_INPUT:
            self.name, self._suffix = "Standard input", ""
            self._folder = tempfile.TemporaryDirectory()  # removed with this object
            self._path = Path(self._folder.name, "table")
            with self._path.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
            return
        path = Path(path)
        self.name, self._path, self._suffix = str(path), path, suffix_of(path)
        if self._suffix not in SUFFIXES:
            endings = f"{', '.join(SUFFIXES)}, optionally followed by {', '.join(COMPRESSIONS)}"
            raise TableError(f"{path} cannot be read as a table: its name must end in {endings}.")
        if not path.is_file():
            raise TableError(f"There is no file {path}.")

    def kind(self) -> str:
        """Return "Parquet", "JSON" or "text", by the name or the first bytes of standard input."""
        is_parquet, is_json = self._suffix in PARQUET, self._suffix in _JSON
        if not self._suffix:
            start = self.beginning()[0]
            is_parquet = start.startswith(b"PAR1")
            is_json = start.lstrip()[:2] in (b'{"', b"[{")
        return "Parquet" if is_parquet else "JSON" if is_json else "text"

    def separator(self) -> str | None:
        """Return the separator that the name implies: a tab for ``.tsv`` and ``.tab``."""
        return "\t" if self._suffix in _TABS else None

    def opened(self) -> Any:
        """Return the decompressed bytes as a stream."""
        raw: Any = self._path.open("rb")
        start = raw.read(16)
        raw.seek(0)
        if start.startswith(_GZIP):
            return gzip.GzipFile(fileobj=raw)
        if start.startswith(_XZ):
            return lzma.LZMAFile(raw)
        if _BZIP2.match(start):
            return bz2.BZ2File(raw)
        if start.startswith(_ZSTANDARD):
            return needed("pyarrow").CompressedInputStream(raw, "zstd")
        return raw

    def lines(self, encoding: str) -> io.TextIOWrapper:
        """Return the decoded text as a stream; reading a line that is too long raises an error."""
        limited = io.BufferedReader(_LimitedLines(self.opened(), self.name), _CHUNK)
        return io.TextIOWrapper(limited, encoding, newline="")

    def seekable(self) -> io.BytesIO | Path:
        """Return the path of an uncompressed file, or all decompressed bytes."""
        with self.opened() as stream:
            if isinstance(stream, io.BufferedReader):
                return self._path
            return io.BytesIO(stream.read())

    def beginning(self) -> tuple[bytes, bool]:
        """Return the first bytes, with at least some lines, and True if there are no others."""
        with self.opened() as stream:
            content, size = b"", _BEGINNING
            while len(content) < MAX_LINE_BYTES:
                more = stream.read(size + 1 - len(content))
                content += more
                if not more:
                    return content, True
                if len(content) > size:
                    if content.count(b"\n") + content.count(b"\r") >= _BEGINNING_LINES:
                        break
                    size *= 2
        return content[:size], False

    def letters(self) -> bytes:
        """Return the first lines of the whole file that hold bytes beyond ASCII."""
        some: list[bytes] = []
        n_bytes = 0
        with self.opened() as stream:
            for line in _byte_lines(stream):
                if not line.isascii():
                    some.append(line)
                    n_bytes += len(line)
                if n_bytes > _LETTERS:
                    break
        return b"\n".join(some)


def _byte_lines(stream: Any) -> Iterator[bytes]:
    """Iterate over lines, or over parts of lines that are longer than a chunk."""
    rest = b""
    while more := stream.read(_CHUNK):
        *lines, rest = (rest + more).split(b"\n")
        yield from lines
        if len(rest) > _CHUNK:
            yield rest
            rest = b""
    yield rest


class _LimitedLines(io.RawIOBase):
    """Bytes of a stream; a line of more than ``MAX_LINE_BYTES`` raises an error."""

    def __init__(self, stream: Any, name: str):
        self._stream, self._name = stream, name
        self._line_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._stream.read(len(buffer))
        last = max(content.rfind(b"\n"), content.rfind(b"\r"))
        self._line_bytes = len(content) - last - 1 if last >= 0 else self._line_bytes + len(content)
        if self._line_bytes > MAX_LINE_BYTES:
            raise TableError(
                f"{self._name} has a line of more than {MAX_LINE_BYTES // 2**20} MiB. Write one "
                "row per line."
            )
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()
