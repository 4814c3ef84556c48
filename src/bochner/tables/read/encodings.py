"""Detect encodings of text files: byte order marks, UTF-8, otherwise charset-normalizer."""

import codecs
import re
from typing import Any

from ..errors import needed

_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_FOREIGN = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"PAR1": "a Parquet file",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"SQLite format 3": "a database",
    b"ARROW1": "an Arrow file",
}
_CONTROL = frozenset(map(chr, range(32))) - frozenset("\t\n\r\f\x1a")

_WESTERN, _CENTRAL = "cp1252", "cp1250"
_NAMES = {
    _WESTERN: "Windows-1252, Western European",
    _CENTRAL: "Windows-1250, Central European",
    "cp1251": "Windows-1251, Cyrillic",
    "koi8_r": "KOI8-R, Cyrillic",
    "cp1253": "Windows-1253, Greek",
    "cp1255": "Windows-1255, Hebrew",
    "cp1256": "Windows-1256, Arabic",
    "cp932": "Shift-JIS, Japanese",
    "euc_jp": "EUC-JP, Japanese",
    "gb18030": "GB 18030, Chinese",
    "big5": "Big5, Chinese",
    "euc_kr": "EUC-KR, Korean",
}
# Other scripts have several bytes beyond ASCII in a row; Latin words hardly ever have four.
_OTHER_SCRIPT = re.compile(rb"[\x80-\xff]{4}")
_MOSTLY = 10  # valid letters of UTF-8 for each invalid byte: UTF-8 with damaged places
_CHUNK = 2**20


class BinaryContent(ValueError):
    """Bytes that are not text; the message states what they are."""


def encoding_of(content: bytes, complete: bool) -> str:
    """Detect the encoding of a file that begins with ``content`` (``complete``: the whole file).

    >>> encoding_of("größe;stück".encode("latin-1"), True), encoding_of("größe".encode(), True)
    ('cp1252', 'utf-8')
    """
    for mark, name in _BYTE_ORDER_MARKS.items():
        if content.startswith(mark):
            return name
    foreign = next((what for start, what in _FOREIGN.items() if content.startswith(start)), None)
    if foreign:
        raise BinaryContent(f"it is {foreign}")
    if b"\0" in content:
        return _utf16_of(content)
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(content, complete)
    if sum(character in _CONTROL for character in text) > 0.01 * len(text):
        raise BinaryContent("it is full of control characters")
    n_invalid = text.count("\ufffd")
    n_letters = sum(not character.isascii() for character in text) - n_invalid
    if n_invalid == 0 or n_letters > _MOSTLY * n_invalid:
        return "utf-8"
    return _legacy_encoding_of(content, complete)


def _utf16_of(content):
    """Recognize UTF-16 without a byte order mark: every other byte of Latin text is zero."""
    for name, zeros, letters in (
        ("utf-16-le", slice(1, 2000, 2), slice(0, 2000, 2)),
        ("utf-16-be", slice(0, 2000, 2), slice(1, 2000, 2)),
    ):
        odd = content[zeros]
        if odd.count(0) > 0.7 * len(odd) and content[letters].count(0) == 0:
            return name
    raise BinaryContent("it holds bytes of zero")


def _legacy_encoding_of(content, complete):
    """Choose among encodings of one script; Windows-1252 if the letters do not decide."""
    lines = content.splitlines()
    lines = dict.fromkeys(
        line for line in (lines if complete else lines[:-1] or lines) if not line.isascii()
    )
    sample = b"\n".join(lines)
    detect = needed("charset_normalizer").from_bytes
    if _OTHER_SCRIPT.search(sample):
        best = detect(sample, cp_isolation=list(_NAMES)).best()
        if best is not None and best.encoding not in (_WESTERN, _CENTRAL):
            return best.encoding
    # Matches that decode to the same text are merged: then the letters do not decide.
    matches = detect(sample, cp_isolation=[_WESTERN, _CENTRAL])
    quality = {
        name: (-match.chaos, match.coherence)
        for match in matches
        for name in match.could_be_from_charset
    }
    if _CENTRAL in quality and quality[_CENTRAL] > quality.get(_WESTERN, (-1.0, 0.0)):
        return _CENTRAL
    try:
        content.decode(_WESTERN)
    except UnicodeDecodeError:
        return "latin-1"  # in which every byte is a letter
    return _WESTERN


def encoding_note(encoding: str) -> list[str]:
    """Return a note on an encoding that is not the usual one."""
    if encoding.startswith("utf-8"):
        return []
    name = _NAMES.get(encoding, encoding.upper())
    return [f"The text is encoded in {name} (detected; --encoding overrides)."]


def undecodable_byte(stream: Any, encoding: str) -> tuple[int, int, int] | None:
    """Return position, value and line of the first byte that cannot be decoded, else None."""
    decoder, start, n_lines = codecs.getincrementaldecoder(encoding)(), 0, 1
    while True:
        content = stream.read(_CHUNK)
        pending = decoder.getstate()[0]
        try:
            decoder.decode(content, final=not content)
        except UnicodeDecodeError as error:
            place = error.start - len(pending)
            n_lines += content[: max(place, 0)].count(b"\n")
            return start + place, error.object[error.start], n_lines
        if not content:
            return None
        start, n_lines = start + len(content), n_lines + content.count(b"\n")
