"""Mutated tables: seeded changes of a small clean table, as bytes of a file of any kind that can be
read.

A mutant says what must happen to it: the same predictions as those of the clean table, finite ones
or a clear refusal, or a refusal only.
"""

import bz2
import csv
import datetime
import decimal
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from .inputs import FINITE, REFUSED, SAME

N_ROWS = 60
TARGETS = ("price", "label")  # values, classes


@dataclass(frozen=True)
class Mutant:
    name: str
    ending: str
    content: bytes
    must: str


def clean_table(target: str, seed: int = 0, n_rows: int = N_ROWS) -> pd.DataFrame:
    """Numbers, whole numbers, categories with letters that encodings differ in, dates; and a target
    that depends on them.
    """
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows).round(3),
            "weight": (100 * rng.normal(size=n_rows)).round(2) + 0.125,
            "rooms": rng.integers(1, 6, size=n_rows),
            "café": rng.choice(["süß", "salé", "plain"], n_rows),
            "day": (np.datetime64("2020-01-01") + rng.integers(0, 900, size=n_rows)).astype(str),
        }
    )
    signal = np.sin(2 * frame["size"]) + (frame["café"] == "süß") + frame["rooms"] / 5
    frame[target] = (
        np.where(signal > signal.median(), "yes", "no")
        if target == "label"
        else signal.round(4) + 0.00001
    )
    return frame


# --- the same table, written in other ways --------------------------------------------------------


def as_text(frame, encoding="utf-8", **options):
    return frame.to_csv(index=False, **({"lineterminator": "\n"} | options)).encode(encoding)


def as_parquet(frame, **options):
    buffer = io.BytesIO()
    frame.to_parquet(buffer, **options)
    return buffer.getvalue()


def as_lines(frame):
    return "".join(
        json.dumps(record, ensure_ascii=False) + "\n" for record in frame.to_dict("records")
    ).encode()


def from_arrow(table):
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def dictionary_column(frame):
    return from_arrow(
        pa.Table.from_pandas(frame).set_column(
            3, "café", pa.array(frame["café"]).dictionary_encode()
        )
    )


# name: (ending, bytes of the frame); all say the same as the clean file.
SAME_MEANING: dict[str, tuple[str, Callable]] = {
    "semicolons": (".csv", lambda f: as_text(f, sep=";")),
    "semicolons and decimal commas": (".csv", lambda f: as_text(f, sep=";", decimal=",")),
    "bars": (".csv", lambda f: as_text(f, sep="|")),
    "tabs": (".tsv", lambda f: as_text(f, sep="\t")),
    "tabs called csv": (".csv", lambda f: as_text(f, sep="\t")),
    "byte order mark": (".csv", lambda f: as_text(f, "utf-8-sig")),
    "UTF-16": (".csv", lambda f: as_text(f, "utf-16")),
    "UTF-16 without a mark": (".csv", lambda f: as_text(f, "utf-16-le")),
    "UTF-32": (".csv", lambda f: as_text(f, "utf-32")),
    "Latin-1": (".csv", lambda f: as_text(f, "latin-1")),
    "Windows-1252": (".txt", lambda f: as_text(f, "cp1252")),
    "all quoted": (".csv", lambda f: as_text(f, quoting=csv.QUOTE_ALL)),
    "texts quoted": (".csv", lambda f: as_text(f, quoting=csv.QUOTE_NONNUMERIC)),
    "lines of Windows": (".csv", lambda f: as_text(f, lineterminator="\r\n")),
    "lines of old Macs": (".csv", lambda f: as_text(f, lineterminator="\r")),
    "no last line end": (".csv", lambda f: as_text(f).rstrip(b"\n")),
    "empty lines at the end": (".csv", lambda f: as_text(f) + b"\n\n\n"),
    "spaces after commas": (".csv", lambda f: as_text(f).replace(b",", b", ")),
    "separators at line ends": (".csv", lambda f: as_text(f).replace(b"\n", b",\n")),
    "columns backwards": (".csv", lambda f: as_text(f[f.columns[::-1]])),
    "gzip": (".csv.gz", lambda f: gzip.compress(as_text(f))),
    "gzip without its ending": (".csv", lambda f: gzip.compress(as_text(f))),
    "gzip of two members": (
        ".csv.gz",
        lambda f: gzip.compress(as_text(f)[:500]) + gzip.compress(as_text(f)[500:]),
    ),
    "bzip2": (".csv.bz2", lambda f: bz2.compress(as_text(f))),
    "xz": (".csv.xz", lambda f: lzma.compress(as_text(f))),
    "zstandard": (".csv.zst", lambda f: pa.compress(as_text(f), "zstd", asbytes=True)),
    "JSON lines": (".jsonl", as_lines),
    "JSON lines, gzip": (".jsonl.gz", lambda f: gzip.compress(as_lines(f))),
    "JSON list": (".json", lambda f: json.dumps(f.to_dict("records")).encode()),
    "JSON lines of Windows": (".ndjson", lambda f: as_lines(f).replace(b"\n", b"\r\n")),
    "Parquet": (".parquet", as_parquet),
    "Parquet of two row groups": (".parquet", lambda f: as_parquet(f, row_group_size=17)),
    "Parquet, gzip inside": (".pq", lambda f: as_parquet(f, compression="gzip")),
    "Parquet, gzip outside": (".parquet.gz", lambda f: gzip.compress(as_parquet(f))),
    "Parquet with a dictionary column": (".parquet", dictionary_column),
    "Parquet with real dates": (
        ".parquet",
        lambda f: as_parquet(f.assign(day=pd.to_datetime(f["day"]))),
    ),
    "Parquet with nullable numbers": (
        ".parquet",
        lambda f: as_parquet(f.astype({"rooms": "Int64", "size": "Float64"})),
    ),
    "Parquet with an odd index": (
        ".parquet",
        lambda f: as_parquet(f.set_axis(np.arange(len(f))[::-1] * 3)),
    ),
}


# --- bytes that are changed -----------------------------------------------------------------------


def flipped(content, rng):
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 12))):
        changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
    return bytes(changed)


def cut(content, rng):
    return content[: int(rng.integers(len(content)))]


def doubled(content, rng):
    start, end = sorted(rng.integers(len(content), size=2))
    return content[:end] + content[start:]


def lacking(content, rng):
    start, end = sorted(rng.integers(len(content), size=2))
    return content[:start] + content[end:]


def with_bytes(*inserted):
    def change(content, rng):
        for _ in range(int(rng.integers(1, 4))):
            at = int(rng.integers(len(content)))
            content = content[:at] + inserted[rng.integers(len(inserted))] + content[at:]
        return content

    return change


BYTES = {
    "bytes flipped": flipped,
    "cut": cut,
    "a part twice": doubled,
    "a part missing": lacking,
    "bytes of zero": with_bytes(b"\0", b"\0\0\0\0"),
    "quotation marks": with_bytes(b'"', b'""', b'"""', b"'"),
    "line ends": with_bytes(b"\n", b"\r", b"\r\n", b"\x0b", b"\x0c", b"\xc2\x85", b"\xe2\x80\xa8"),
    "separators": with_bytes(b",", b",,,", b";", b"\t", b"|"),
    "letters of other encodings": with_bytes(
        b"\xff", b"\xc3", b"\xe9", b"\xf0\x9f", b"\x81", b"\xed\xa0\x80"
    ),
    "marks within": with_bytes(b"\xef\xbb\xbf", b"\xff\xfe", b"\x1a", b"\x1b[31m", b"\x08"),
    "brackets": with_bytes(b"{", b"}", b"[", b"]", b":", b"\\", b"\\u0000", b"\\ud800"),
}
WRITTEN = {
    ".csv": as_text,
    ".tsv": lambda f: as_text(f, sep="\t"),
    ".csv.gz": lambda f: gzip.compress(as_text(f)),
    ".jsonl": as_lines,
    ".json": lambda f: json.dumps(f.to_dict("records")).encode(),
    ".parquet": as_parquet,
    ".csv.xz": lambda f: lzma.compress(as_text(f)),
    ".csv.bz2": lambda f: bz2.compress(as_text(f)),
    ".csv.zst": lambda f: pa.compress(as_text(f), "zstd", asbytes=True),
}


# --- cells that are changed -----------------------------------------------------------------------

CELLS = {
    "huge numbers": ["1e308", "-1e308", "9" * 400, "1e400", "-1e400", "1e99999999"],
    "tiny numbers": ["1e-320", "5e-324", "1e-400", "0." + "0" * 400 + "1"],
    "infinity in words": ["inf", "-inf", "Infinity", "+Infinity", "1.#INF", "∞"],
    "no numbers": ["nan", "NaN", "NULL", "None", "#N/A", "-", "?", ""],
    "digits of others": ["٣٫١٤", "１２３", "①", "Ⅷ", "½", "१२३", "1\u00a0234", "−5"],
    "formulas": ["=1+1", "=cmd|' /C calc'!A0", "@SUM(A1)", "+1-2", "-2+3"],
    "dates out of range": [
        "0000-00-00",
        "9999-99-99",
        "2020-02-30",
        "30000-01-01",
        "-0044-03-15",
        "0001-01-01",
        "9999-12-31",
    ],
    "dates far away": ["1066-10-14", "2999-01-01", "1677-09-20", "2262-04-12"],
    "times with zones": [
        "2020-01-01T00:00:00Z",
        "2020-01-01T00:00+14:00",
        "2020-01-01 25:00",
        "24:00",
    ],
    "control characters": ["\x01", "\x07\x08", "\x7f", "\u202e", "\u200b", "\ufeff", "\x1b[2J"],
    "emoji and surrogates": ["😀", "👨‍👩‍👧", "e\u0301", "\U0010ffff", "ﷺ"],
    "long texts": ["x" * 200_000, "a b " * 20_000, "a" + " " * 100_000 + "b", "1," * 50_000],
    "markup": [
        "<script>alert(1)</script>",
        "</style>",
        "&amp;",
        "{{7*7}}",
        "${x}",
        "%s%n",
        "'; DROP TABLE x; --",
    ],
    "line ends inside": ["a\nb", "\n", "a\r\nb", "\r"],
    "quotation marks inside": ['"', '"a', 'a"b"c', "'", "\\", '\\"'],
    "hexadecimal and others": [
        "0x1F",
        "1_000",
        "0b1",
        "0o7",
        "1e",
        "e5",
        "--5",
        "1.2.3",
        "1,2,3",
        "TRUE",
        "00123",
    ],
    "percent and money": ["12 %", "$1,234.50", "(5)", "€ 3", "1e3%"],
    "objects": ["{}", "[1, 2]", '{"a": 1}', "None", "nan nan"],
}


def cells(frame):
    return [list(frame.columns), *frame.astype(str).to_numpy().tolist()]


def with_cells(values, column, share):
    def change(frame, target, rng):
        table = cells(frame)
        at = list(frame.columns).index(column if column != "target" else target)
        for row in table[1:]:
            if rng.random() < share:
                row[at] = values[rng.integers(len(values))]
        return table

    return change


def _column(frame, target, rng):
    return str(rng.choice([name for name in frame.columns if name != target]))


def renamed(names):
    def change(frame, target, rng):
        return cells(
            frame.rename(columns={_column(frame, target, rng): names[rng.integers(len(names))]})
        )

    return change


def ragged(change_row):
    def change(frame, target, rng):
        table = cells(frame)
        for k in rng.integers(1, len(table), size=int(rng.integers(1, 6))):
            table[k] = change_row(table[k], rng)
        return table

    return change


def empty_rows(frame, target, rng):
    table = cells(frame)
    for k in sorted(rng.integers(1, len(table), size=8))[::-1]:
        table.insert(int(k), [] if rng.random() < 0.5 else [""] * len(table[0]))
    return table


def target_as(make):
    return lambda frame, target, rng: cells(frame.assign(**{target: make(len(frame), rng)}))


_NAMES = [
    "",
    " ",
    "a\nb",
    "=1+1",
    "<b>",
    "😀",
    "x" * 5000,
    "0",
    "size",
    "predicted price",
    "Unnamed: 0",
    "'",
    "café\0"[:4],
    "day: month sine",
]
TEXTS: dict[str, tuple[Callable, str]] = {
    "a column dropped": (lambda f, t, rng: cells(f.drop(columns=_column(f, t, rng))), FINITE),
    "a column twice": (
        lambda f, t, rng: cells(pd.concat([f, f[[_column(f, t, rng)]]], axis=1)),
        FINITE,
    ),
    "the target twice": (lambda f, t, rng: cells(pd.concat([f, f[[t]]], axis=1)), FINITE),
    "a column renamed": (renamed(_NAMES), FINITE),
    "all columns of one name": (
        lambda f, t, rng: cells(f.set_axis(["size"] * 5 + [t], axis=1)),
        FINITE,
    ),
    "no header": (lambda f, t, rng: cells(f)[1:], REFUSED),
    "only a header": (lambda f, t, rng: cells(f)[:1], REFUSED),
    "one row": (lambda f, t, rng: cells(f)[:2], REFUSED),
    "few rows": (lambda f, t, rng: cells(f)[: int(rng.integers(3, 18))], REFUSED),
    "the header again and again": (
        lambda f, t, rng: [*cells(f)[:30], cells(f)[0], *cells(f)[30:], cells(f)[0]],
        FINITE,
    ),
    "no target": (lambda f, t, rng: cells(f.drop(columns=t)), REFUSED),
    "only the target": (lambda f, t, rng: cells(f[[t]]), REFUSED),
    "target in other letters": (lambda f, t, rng: cells(f.rename(columns={t: t.upper()})), REFUSED),
    "target of one value": (target_as(lambda n, rng: np.full(n, "1.5")), FINITE),
    "target of one class": (target_as(lambda n, rng: np.full(n, "yes")), REFUSED),
    "target of different texts": (
        target_as(lambda n, rng: [f"text {k}" for k in range(n)]),
        REFUSED,
    ),
    "target of different numbers": (target_as(lambda n, rng: np.arange(n) * 7 + 3), FINITE),
    "target missing": (target_as(lambda n, rng: np.full(n, "")), REFUSED),
    "target NaN": (target_as(lambda n, rng: np.full(n, "nan")), REFUSED),
    "target mostly missing": (
        target_as(lambda n, rng: np.where(rng.random(n) < 0.9, "", "1")),
        REFUSED,
    ),
    "target half missing": (
        target_as(
            lambda n, rng: np.where(rng.random(n) < 0.4, "", rng.random(n).round(3).astype(str))
        ),
        FINITE,
    ),
    "target of dates": (
        target_as(lambda n, rng: (np.datetime64("2020-01-01") + np.arange(n)).astype(str)),
        FINITE,
    ),
    "target of two rare classes": (
        target_as(
            lambda n, rng: np.where(np.arange(n) < 2, "a", np.where(np.arange(n) < 5, "b", "c"))
        ),
        FINITE,
    ),
    "target of three and one": (
        target_as(
            lambda n, rng: np.where(np.arange(n) == 7, "one", rng.choice(["a", "b", "c"], n))
        ),
        FINITE,
    ),
    "target of huge numbers": (target_as(lambda n, rng: 1e300 * rng.normal(size=n)), FINITE),
    "target of tiny numbers": (target_as(lambda n, rng: 1e-310 * rng.normal(size=n)), FINITE),
    "target of numbers and texts": (
        target_as(
            lambda n, rng: np.where(rng.random(n) < 0.5, "low", rng.random(n).round(2).astype(str))
        ),
        FINITE,
    ),
    "target of truth values": (target_as(lambda n, rng: rng.choice(["True", "False"], n)), FINITE),
    "target of formulas": (target_as(lambda n, rng: rng.choice(["=A1", "=B2"], n)), FINITE),
    "rows too long": (ragged(lambda row, rng: [*row, *["more"] * int(rng.integers(1, 4))]), FINITE),
    "rows too short": (ragged(lambda row, rng: row[: int(rng.integers(1, len(row)))]), FINITE),
    "empty rows": (empty_rows, FINITE),
    "all rows the same": (lambda f, t, rng: cells(f.iloc[[5] * len(f)]), FINITE),
    "all columns constant": (
        lambda f, t, rng: cells(f.assign(**{c: 1 for c in f.columns if c != t})),
        REFUSED,
    ),
    "many columns": (
        lambda f, t, rng: cells(
            pd.concat(
                [f, pd.DataFrame(rng.normal(size=(len(f), 150)).round(2)).add_prefix("c")], axis=1
            )
        ),
        FINITE,
    ),
    "rows twice": (lambda f, t, rng: cells(pd.concat([f, f])), FINITE),
    **{
        f"{name} in {column}": (with_cells(values, column, share), FINITE)
        for name, values in CELLS.items()
        for column, share in (
            ("size", 0.02),
            ("rooms", 0.3),
            ("café", 0.3),
            ("day", 0.3),
            ("target", 0.05),
        )
    },
}


def written(table, rng):
    """Cells as text; quotation marks and separators in them are quoted, or not, as a careless
    writer would do.
    """
    mark = ",;\t|"[rng.integers(4)] if rng.random() < 0.3 else ","
    if rng.random() < 0.15:
        return "\n".join(mark.join(row) for row in table).encode()
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=mark, lineterminator="\n").writerows(table)
    return buffer.getvalue().encode()


# --- files that are no tables, and unusual Parquet ------------------------------------------------


def zipped(content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("table.csv", content)
    return buffer.getvalue()


FOREIGN: dict[str, tuple[str, Callable, str]] = {
    "empty file": (".csv", lambda f, rng: b"", REFUSED),
    "empty gzip": (".csv.gz", lambda f, rng: gzip.compress(b""), REFUSED),
    "empty Parquet": (".parquet", lambda f, rng: b"", REFUSED),
    "empty JSON": (".jsonl", lambda f, rng: b"", REFUSED),
    "only blanks": (".csv", lambda f, rng: b" \n \n\t\n", REFUSED),
    "only a byte order mark": (".csv", lambda f, rng: b"\xef\xbb\xbf", REFUSED),
    "only zeros": (".csv", lambda f, rng: b"\0" * 3000, REFUSED),
    "garbage": (".csv", lambda f, rng: rng.bytes(5000), REFUSED),
    "garbage called gzip": (".csv.gz", lambda f, rng: b"\x1f\x8b" + rng.bytes(500), REFUSED),
    "garbage called Parquet": (
        ".parquet",
        lambda f, rng: b"PAR1" + rng.bytes(500) + b"PAR1",
        REFUSED,
    ),
    "garbage called JSON": (".jsonl", lambda f, rng: rng.bytes(500), REFUSED),
    "zip called csv": (".csv", lambda f, rng: zipped(as_text(f)), REFUSED),
    "Parquet called csv": (".csv", lambda f, rng: as_parquet(f), REFUSED),
    "csv called Parquet": (".parquet", lambda f, rng: as_text(f), REFUSED),
    "csv called JSON": (".jsonl", lambda f, rng: as_text(f), REFUSED),
    "picture": (".csv", lambda f, rng: b"\x89PNG\r\n\x1a\n" + rng.bytes(300), REFUSED),
    "program": (
        ".csv",
        lambda f, rng: b"\x7fELF\x02\x01\x01" + bytes(50) + rng.bytes(300),
        REFUSED,
    ),
    "gzip cut in the middle": (
        ".csv.gz",
        lambda f, rng: gzip.compress(as_text(f))[: int(rng.integers(30, 800))],
        REFUSED,
    ),
    "gzip in gzip": (".csv.gz", lambda f, rng: gzip.compress(gzip.compress(as_text(f))), REFUSED),
    "bomb": (
        ".csv.gz",
        lambda f, rng: gzip.compress(b"a,price,label\n" + b"0" * 30_000_000),
        REFUSED,
    ),
    "deep JSON": (".json", lambda f, rng: b"[" * 100_000, REFUSED),
    "deep JSON line": (".jsonl", lambda f, rng: b'{"a":' * 50_000, REFUSED),
    "JSON number": (".json", lambda f, rng: b"42", REFUSED),
    "JSON of lists": (".json", lambda f, rng: json.dumps(f.to_numpy().tolist()).encode(), REFUSED),
    "JSON of columns": (".json", lambda f, rng: json.dumps(f.to_dict("list")).encode(), REFUSED),
    "JSON of huge whole numbers": (
        ".jsonl",
        lambda f, rng: as_lines(f).replace(b'"rooms": 1', b'"rooms": 1' + b"0" * 300),
        FINITE,
    ),
    "JSON of endless whole numbers": (
        ".jsonl",
        lambda f, rng: as_lines(f).replace(b'"rooms": 1', b'"rooms": 1' + b"0" * 6000),
        FINITE,
    ),
    "JSON with NaN": (
        ".jsonl",
        lambda f, rng: as_lines(f).replace(b'"rooms": 1', b'"rooms": NaN'),
        FINITE,
    ),
    "JSON with Infinity": (
        ".jsonl",
        lambda f, rng: as_lines(f).replace(b'"rooms": 1', b'"rooms": -Infinity'),
        FINITE,
    ),
    "JSON with objects": (
        ".jsonl",
        lambda f, rng: as_lines(f).replace(b'"rooms": 1', b'"rooms": {"a": [1]}'),
        FINITE,
    ),
    "JSON of mixed types": (
        ".jsonl",
        lambda f, rng: (
            as_lines(f)
            .replace(b'"rooms": 1', b'"rooms": true')
            .replace(b'"rooms": 2', b'"rooms": "two"')
        ),
        FINITE,
    ),
    "JSON with names twice": (
        ".jsonl",
        lambda f, rng: as_lines(f).replace(b'"rooms": 1', b'"rooms": 1, "rooms": 2'),
        FINITE,
    ),
    "JSON in UTF-16": (".jsonl", lambda f, rng: as_lines(f).decode().encode("utf-16"), FINITE),
    "JSON with half a letter": (
        ".jsonl",
        lambda f, rng: as_lines(f).replace("süß".encode(), b"\\ud800"),
        FINITE,
    ),
    "JSON with a different name in each row": (
        ".jsonl",
        lambda f, rng: b"".join(json.dumps({f"c{k}": k}).encode() + b"\n" for k in range(60)),
        REFUSED,
    ),
}


def arrow_column(make):
    return lambda f, rng: from_arrow(
        pa.Table.from_pandas(f, preserve_index=False).append_column("extra", make(len(f), rng))
    )


def instead(make):
    def change(frame, rng):
        table = pa.Table.from_pandas(frame, preserve_index=False)
        return from_arrow(table.set_column(0, "size", make(frame, rng)))

    return change


def target_instead(make):
    def change(frame, rng):
        table = pa.Table.from_pandas(frame, preserve_index=False)
        return from_arrow(
            table.set_column(len(frame.columns) - 1, frame.columns[-1], make(len(frame), rng))
        )

    return change


ARROW: dict[str, Callable] = {
    "lists": arrow_column(lambda n, rng: pa.array([[1, 2]] * n)),
    "lists of different length": arrow_column(
        lambda n, rng: pa.array([list(range(k % 4)) for k in range(n)])
    ),
    "structures": arrow_column(lambda n, rng: pa.array([{"a": k, "b": "x"} for k in range(n)])),
    "maps": arrow_column(
        lambda n, rng: pa.array([[("a", k)] for k in range(n)], pa.map_(pa.string(), pa.int64()))
    ),
    "decimals": instead(
        lambda f, rng: pa.array([decimal.Decimal(str(v)) for v in f["size"]], pa.decimal128(20, 3))
    ),
    "wide decimals": arrow_column(
        lambda n, rng: pa.array(
            [decimal.Decimal(7) ** (k % 70) for k in range(n)], pa.decimal256(76, 0)
        )
    ),
    "times with zones": arrow_column(
        lambda n, rng: pa.array(
            [10**9 * k * 86400 for k in range(n)], pa.timestamp("ns", "Asia/Kolkata")
        )
    ),
    "times far away": arrow_column(
        lambda n, rng: pa.array([k * 10**14 for k in range(n)], pa.timestamp("ms"))
    ),
    "times beyond all years": arrow_column(
        lambda n, rng: pa.array([k * 10**17 for k in range(n)], pa.timestamp("us"))
    ),
    "days": arrow_column(
        lambda n, rng: pa.array([datetime.date(2020, 1, 1 + k % 28) for k in range(n)])
    ),
    "days far away": arrow_column(
        lambda n, rng: pa.array([k * 10**5 for k in range(n)], pa.date32())
    ),
    "clock times": arrow_column(
        lambda n, rng: pa.array([k * 10**6 for k in range(n)], pa.time64("us"))
    ),
    "spans": arrow_column(
        lambda n, rng: pa.array(
            [int(k) * 10**6 for k in rng.integers(10**6, size=n)], pa.duration("us")
        )
    ),
    "bytes": arrow_column(lambda n, rng: pa.array([bytes([k % 7, 0, 255]) for k in range(n)])),
    "nothing": arrow_column(lambda n, rng: pa.nulls(n)),
    "truth values": arrow_column(
        lambda n, rng: pa.array([k % 3 == 0 if k % 5 else None for k in range(n)])
    ),
    "dictionary with holes": arrow_column(
        lambda n, rng: pa.array(["a", None, "b"] * (n // 3)).dictionary_encode()
    ),
    "dictionary of numbers": arrow_column(
        lambda n, rng: pa.array([k % 5 for k in range(n)]).dictionary_encode()
    ),
    "huge unsigned numbers": arrow_column(
        lambda n, rng: pa.array(
            [2**64 - 1 - int(k) for k in rng.integers(1000, size=n)], pa.uint64()
        )
    ),
    "half floats": arrow_column(lambda n, rng: pa.array(rng.normal(size=n).astype(np.float16))),
    "infinity": instead(
        lambda f, rng: pa.array([np.inf if k % 7 == 0 else v for k, v in enumerate(f["size"])])
    ),
    "only infinity": instead(lambda f, rng: pa.array([np.inf] * len(f))),
    "NaN and null": instead(
        lambda f, rng: pa.array(
            [None if k % 7 == 0 else np.nan if k % 5 == 0 else v for k, v in enumerate(f["size"])]
        )
    ),
    "two columns of one name": lambda f, rng: from_arrow(
        pa.table([pa.array(f["size"]), *(pa.array(f[c]) for c in f)], names=["size", *f.columns])
    ),
    "no rows": lambda f, rng: as_parquet(f.head(0)),
    "no columns": lambda f, rng: as_parquet(f[[]]),
    "names of rows": lambda f, rng: as_parquet(f.set_index("day")),
    "names of rows in levels": lambda f, rng: as_parquet(f.set_index(["day", "rooms"])),
    "periods": lambda f, rng: as_parquet(
        f.assign(extra=pd.period_range("2020-01", periods=len(f), freq="M"))
    ),
    "intervals": lambda f, rng: as_parquet(f.assign(extra=pd.cut(f["size"], 4).astype("interval"))),
    "ordered categories": lambda f, rng: as_parquet(
        f.assign(extra=pd.Categorical(f["rooms"].astype(str), list("12345"), ordered=True))
    ),
    "target of decimals": target_instead(
        lambda n, rng: pa.array([decimal.Decimal(k) / 4 for k in range(n)], pa.decimal128(20, 3))
    ),
    "target of lists": target_instead(lambda n, rng: pa.array([[k % 2] for k in range(n)])),
    "target of structures": target_instead(
        lambda n, rng: pa.array([{"a": k % 2} for k in range(n)])
    ),
    "target of times": target_instead(
        lambda n, rng: pa.array([10**9 * k * 86400 for k in range(n)], pa.timestamp("ns", "UTC"))
    ),
    "target of spans": target_instead(
        lambda n, rng: pa.array([k * 10**6 for k in range(n)], pa.duration("us"))
    ),
    "target of truth values": target_instead(
        lambda n, rng: pa.array([k % 3 == 0 for k in range(n)])
    ),
    "target of truth values and null": target_instead(
        lambda n, rng: pa.array([k % 3 == 0 if k % 4 else None for k in range(n)])
    ),
    "target of a dictionary": target_instead(
        lambda n, rng: pa.array(["a", "b", "c"] * (n // 3)).dictionary_encode()
    ),
    "target of bytes": target_instead(lambda n, rng: pa.array([bytes([k % 2]) for k in range(n)])),
    "target of infinity": target_instead(
        lambda n, rng: pa.array([np.inf if k % 9 == 0 else k / 7 for k in range(n)])
    ),
    "target of nothing": target_instead(lambda n, rng: pa.nulls(n)),
    "target of half floats": target_instead(
        lambda n, rng: pa.array(rng.normal(size=n).astype(np.float16))
    ),
    "target of huge unsigned numbers": target_instead(
        lambda n, rng: pa.array(
            [2**64 - 1 - 10**15 * int(k) for k in rng.integers(1000, size=n)], pa.uint64()
        )
    ),
}


def mutants(n_times: int, seed: int = 0):
    """(target, mutant) of ``n_times`` mutations, every kind in turn, those of bytes and cells again
    and again with other draws.
    """
    makers = list(_makers())
    order = np.random.default_rng(seed).permutation(len(makers))
    for k in range(n_times):
        maker = makers[order[k % len(makers)]]
        target = TARGETS[(k + k // len(makers)) % 2]
        yield target, maker(clean_table(target), target, np.random.default_rng([seed, k]))


def _makers():
    for name, (ending, write) in SAME_MEANING.items():
        yield lambda f, t, rng, n=name, e=ending, w=write: Mutant(f"same table: {n}", e, w(f), SAME)
    for name, change in BYTES.items():
        for ending, write in WRITTEN.items():
            yield lambda f, t, rng, n=name, e=ending, w=write, c=change: Mutant(
                f"bytes: {n} {e}", e, c(w(f), rng), FINITE
            )
    for name, (change, must) in TEXTS.items():
        yield lambda f, t, rng, n=name, c=change, m=must: Mutant(
            f"cells: {n}", ".csv", written(c(f, t, rng), rng), m
        )
    for name, (ending, make, must) in FOREIGN.items():
        yield lambda f, t, rng, n=name, e=ending, w=make, m=must: Mutant(
            f"file: {n}", e, w(f, rng), m
        )
    for name, make in ARROW.items():
        yield lambda f, t, rng, n=name, w=make: Mutant(
            f"Parquet: {n}", ".parquet", w(f, rng), FINITE
        )
