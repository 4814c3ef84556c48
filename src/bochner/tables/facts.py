"""Facts about a fitted table model: typed values, and the same as plain JSON (``facts_``).

In JSON, the fields of a field marked ``_flat`` are among those of its owner, not below its name.
"""

from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Self, get_args, get_origin, get_type_hints

CLASSIFICATION, REGRESSION = "classification", "regression"
LEFT_OUT = "left out"
OURS, CONSTANT = "bochner", "constant"

_flat = {"flat": True}


@dataclass(frozen=True)
class SplitFacts:
    """Rows held out: ``kind`` random, time or group, by a column; ``n_groups`` are held out."""

    kind: str
    column: str | None
    n_groups: int | None


@dataclass(frozen=True)
class RepeatedRows:
    """Rows that repeat another row; ``are_ties``: equal inputs also have different outcomes."""

    n_rows: int
    share: float
    are_ties: bool


@dataclass(frozen=True)
class SeenRows:
    """Held-out rows whose inputs also occur among the training rows."""

    n_rows: int
    share: float


@dataclass(frozen=True)
class FileFacts:
    """Properties of the training file; ``unnamed`` are its columns if it has no header."""

    unnamed: list[str]
    sep: str | None
    skip_rows: int | None


@dataclass(frozen=True)
class ErrorCertificate:
    """Upper bound ``certified`` of the error rate, or of its mean over groups."""

    error: float
    confidence: float
    certified: float
    error_of_groups: float | None = None


@dataclass(frozen=True)
class IntervalCertificate:
    """Half-width that covers a share of all errors; None if there are too few rows."""

    half_width: float | None
    coverage: float
    confidence: float


@dataclass(frozen=True)
class Evaluation:
    """Metrics of one model on the held-out rows, and its differences from our model."""

    standard_errors: dict[str, float | None]
    worse_by: dict[str, list[float] | None]
    certificate: ErrorCertificate | IntervalCertificate = field(metadata=_flat)
    seconds: float
    scores: dict[str, float | None] = field(metadata=_flat)


@dataclass(frozen=True)
class ThresholdFacts:
    """Decision threshold; mistakes are (false positives, false negatives) of held-out rows."""

    asked: str
    value: float
    false_positive_cost: float | None
    false_negative_cost: float | None
    mistakes: list[int]
    mistakes_at_half: list[int]


@dataclass(frozen=True)
class MemberFacts:
    """One kernel of the blend."""

    name: str
    weight: float
    held_out_error: float
    ridge: float | None
    seconds: float
    prior: str


@dataclass(frozen=True)
class Curve:
    """Effect of a column at the places ``x`` on each output; ``kind``: numbers or levels.

    ``band`` has the half-widths of the confidence band of the one output.
    """

    kind: str
    x: list
    y: list[list[float]]
    column: str
    band: list[float] | None


@dataclass(frozen=True)
class Effects:
    """Strongest effects of single columns.

    ``level`` is the level of their bands. ``rest_share`` is the share of the variance of the
    outputs that effects of single columns leave out.
    """

    outputs: list[str]
    curves: list[Curve]
    level: float | None
    rest_share: float


@dataclass(frozen=True)
class WorstRows:
    """Held-out rows with the largest loss: number, truth, prediction, loss, values of columns."""

    columns: list[str]
    rows: list[list]


@dataclass(frozen=True)
class ClassFacts:
    """Classes of the target, and the predictions for held-out rows by class."""

    classes: list
    class_counts: list[int]
    rare: bool
    positive: Any
    confusion: list[list[int]]
    calibration: list[list[float]]
    roc: list[list[float]] | None = None
    precision_recall: list[list[float]] | None = None


@dataclass(frozen=True)
class IntervalFacts:
    """Coverage of prediction intervals on held-out rows, and some of these rows."""

    level: float
    coverage: float
    coverage_error: float
    median_width: float | None
    rows: list[list[float]]


@dataclass(frozen=True)
class ValueFacts:
    """Points of true and predicted values, and intervals."""

    points: list[list[float]]
    intervals: IntervalFacts


@dataclass(frozen=True)
class Verdict:
    """``kind`` is holds, open or fails; ``reasons`` are sentences."""

    kind: str
    reasons: list[str]


@dataclass(frozen=True)
class Cost:
    """Seconds, and the peak memory in bytes if it is known."""

    seconds: float
    peak_bytes: int | None


@dataclass(frozen=True)
class Provenance:
    """Version, date and command of a fit, and a fingerprint of its table."""

    version: str
    made: str
    fingerprint: str
    command: str | None


@dataclass(frozen=True)
class Facts:
    """Everything that reports, pages and the command state about a fitted table model."""

    target: str
    task: str
    why_task: str
    n_rows: int
    n_train: int
    n_test: int
    n_dropped: int
    seed: int
    split: SplitFacts
    metrics: list[str]
    refitted: bool
    identifiers: list[str]
    decimal: str
    file: FileFacts
    notes: list[str]
    judged: dict[str, Evaluation]
    threshold: ThresholdFacts | None
    columns: dict[str, list[str]]
    path: str
    members: list[MemberFacts]
    provenance: Provenance = field(metadata=_flat)
    importance: dict[str, float]
    importance_error: dict[str, float]
    effects: Effects | None
    worst: WorstRows
    of_classes: ClassFacts | None = field(metadata=_flat)
    of_values: ValueFacts | None = field(metadata=_flat)
    repeated: RepeatedRows | None
    seen: SeenRows | None
    verdict: Verdict
    cost: Cost
    monotone: dict[str, int] | None = None

    @property
    def classify(self) -> bool:
        """True for classification."""
        return self.task == CLASSIFICATION

    @property
    def ours(self) -> Evaluation:
        """Evaluation of our model."""
        return self.judged[OURS]

    def names(self, role: str) -> list[str]:
        """Return the columns with this role."""
        return [name for name, (own, _) in self.columns.items() if own == role]

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON values, with the names of columns by role."""
        roles = {"numeric": "number", "dates": "date", "categorical": "category"}
        reasons = {name: self.columns[name][1] for name in self.names(LEFT_OUT)}
        names = {key: self.names(role) for key, role in roles.items()}
        return as_json(self) | names | {"left_out": reasons}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """Return the typed values of plain JSON; damaged content raises KeyError or TypeError."""
        return _typed(cls, content)


def as_json(value: Any) -> Any:
    """Return a value of the classes above as plain JSON; optional fields without value are absent.

    >>> as_json(SeenRows(3, 0.5))
    {'n_rows': 3, 'share': 0.5}
    """
    if not is_dataclass(value):
        if isinstance(value, dict):
            return {name: as_json(one) for name, one in value.items()}
        return [as_json(one) for one in value] if isinstance(value, list | tuple) else value
    content: dict[str, Any] = {}
    for one in fields(value):
        plain = as_json(getattr(value, one.name))
        if one.metadata.get("flat"):
            content |= plain or {}
        elif plain is not None or _is_required(one):
            content[one.name] = plain
    return content


def _is_required(one: Field) -> bool:
    return one.default is MISSING


def _typed(kind: Any, content: Any) -> Any:
    """Return JSON content as a value of this type."""
    options = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    classes = [option for option in options if is_dataclass(option)]
    if not classes:
        if get_origin(kind) is list and get_args(kind):
            return [_typed(get_args(kind)[0], one) for one in content]
        if get_origin(kind) is dict:
            return {name: _typed(get_args(kind)[1], one) for name, one in content.items()}
        return content
    if content is None and NoneType in options:
        return None
    kind = next((one for one in classes if _is_complete(one, content)), classes[-1])
    hints, values = get_type_hints(kind), {}
    for one in fields(kind):
        hint = hints[one.name]
        if not one.metadata.get("flat"):
            if one.name in content or _is_required(one):
                values[one.name] = _typed(hint, content[one.name])
        elif get_origin(hint) is dict:  # scores, named like their standard errors
            values[one.name] = {name: content[name] for name in content["standard_errors"]}
        else:
            parts = [option for option in get_args(hint) if is_dataclass(option)]
            names = {own.name for part in parts for own in fields(part)}
            absent = NoneType in get_args(hint) and names.isdisjoint(content)
            values[one.name] = None if absent else _typed(hint, content)
    return kind(**values)


def _is_complete(kind: Any, content: dict[str, Any]) -> bool:
    return all(one.name in content for one in fields(kind) if _is_required(one))
