"""Numbers in texts: with thousands separators, currency signs, a decimal comma, in parentheses."""

import re
from collections.abc import Sequence

import numpy as np

POINT, COMMA = ".", ","

# Codes of currencies. A number in percent keeps its unit: 12 % is 12.
_CODES = "USD|EUR|GBP|CHF|JPY|CNY|RMB|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR"
_CURRENCY = rf"(?:[$€£¥₹₽₩₺₪₫฿¢]|(?:US|CA|AU|NZ|HK|S|A|C|R)\$|{_CODES}|kr\.?|zł|Fr\.?|Rs\.?)"
_BLANKS = "\u0020\u00a0\u2009\u202f"
_BEFORE = re.compile(rf"^([+-]?)[{_BLANKS}]*{_CURRENCY}[{_BLANKS}]*", re.IGNORECASE)
_AFTER = re.compile(rf"[{_BLANKS}]*(?:{_CURRENCY}|%|‰|,-|,–)$", re.IGNORECASE)


def _pattern(decimal, separators):
    """Return a pattern of numbers, whose digits may be in groups of three."""
    grouped = rf"[1-9]\d{{0,2}}([{separators}])\d{{3}}(?:\1\d{{3}})*"
    return re.compile(
        rf"[+-]?(?:{grouped}(?:{decimal}\d*)?|\d+(?:{decimal}\d*)?|{decimal}\d+)(?:[eE][+-]?\d+)?",
        re.ASCII,
    )


_PATTERNS = {
    POINT: _pattern(r"\.", rf",'’_{_BLANKS}"),
    COMMA: _pattern(",", rf"\.'’_{_BLANKS}"),
}
_NO_DIGITS = re.compile(rf"[,.'’_{_BLANKS}]")
# A code of digits, such as 00123, is not a quantity: as a number it would lose its zeros.
_CODE = re.compile(r"0\d+", re.ASCII)
# Characters of a number; matching longer texts would take long.
_LONGEST = 500


def number_of(text: str, decimal: str = POINT) -> float:
    """Return the number that a text stands for, NaN for other texts.

    >>> number_of("$1,234.50"), number_of("(12 %)"), number_of("1.234,5 €", COMMA)
    (1234.5, -12.0, 1234.5)
    >>> number_of("12 Elm Street"), number_of("007")
    (nan, nan)
    """
    text = text.strip().replace("−", "-")
    if len(text) > _LONGEST:
        return np.nan
    sign = 1.0
    if text.startswith("(") and text.endswith(")"):  # as accountants write a loss
        text, sign = text[1:-1].strip(), -1.0
    text = _AFTER.sub("", _BEFORE.sub(r"\1", text))
    if not _PATTERNS[decimal].fullmatch(text) or _CODE.fullmatch(text):
        return np.nan
    whole, mark, rest = text.partition(decimal)
    return sign * float(_NO_DIGITS.sub("", whole) + mark.replace(COMMA, POINT) + rest)


def numbers_of(texts: Sequence[str], decimal: str = POINT) -> np.ndarray:
    """Return the number that each text stands for, NaN for others."""
    numbers = {text: number_of(text, decimal) for text in set(texts)}
    return np.array([numbers[text] for text in texts], dtype=np.float64)


def decimal_of(texts: Sequence[str], doubtful: str = POINT) -> str:
    """Return the decimal mark that makes most texts numbers; ``doubtful`` for texts like 1,234.

    >>> decimal_of(["1,5", "20"]), decimal_of(["1,234"]), decimal_of(["1,234"], doubtful=COMMA)
    (',', '.', ',')
    """
    read = {mark: np.isfinite(numbers_of(texts, mark)) for mark in (POINT, COMMA)}
    points, commas = np.sum(read[POINT] & ~read[COMMA]), np.sum(read[COMMA] & ~read[POINT])
    return doubtful if points == commas else POINT if points > commas else COMMA


def notation_of(texts: Sequence[str], decimal: str) -> str:
    """Describe the notation of numbers; plain ones have an empty description.

    >>> notation_of(["$1,234", "$5"], POINT), notation_of(["1,5"], COMMA)
    ('with currency signs and thousands separators', 'with a decimal comma')
    """
    grouped = re.compile(rf"\d[{',' if decimal == POINT else '.'}'’_{_BLANKS}]\d")
    signs = {
        "currency signs": any(re.search(_CURRENCY, text, re.IGNORECASE) for text in texts),
        "percent signs": any("%" in text for text in texts),
        "thousands separators": any(grouped.search(text) for text in texts),
        "a decimal comma": decimal == COMMA and any("," in text for text in texts),
        "parentheses for negative numbers": any(text.strip().startswith("(") for text in texts),
    }
    used = [words for words, yes in signs.items() if yes]
    return "with " + " and ".join(filter(None, [", ".join(used[:-1]), used[-1]])) if used else ""
