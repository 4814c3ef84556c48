"""No attack on rows, targets, weights or parameters gives wrong answers or an unclear error.

The quick suite tries a twentieth of the attacks, `make test-all` and `make attack` all of them.
"""

import numpy as np
import pytest
from selection import long_except

from tests.conformance.registry import SMALL
from tests.hostile.attacks import failures, input_reports, parameter_reports, table
from tests.hostile.inputs import (
    ATTACKS,
    SAME,
    Example,
    duplicated,
    long_indices,
    spread_out,
    unsorted,
)
from tests.hostile.verdicts import CLEAR, RIGHT, UNCLEAR, WRONG, attacked


def assert_repelled(reports):
    assert not (lost := failures(reports)), "\n".join(
        f"{one.name}: {one.attack}: {one.outcome}" for one in lost
    )


@pytest.mark.parametrize(
    "name",
    long_except(
        SMALL,
        "SpectralRegressor",
        "SpectralFeatures, PacBayes",
        "SpectralLogistic",
        "GBRFF2Classifier",
    ),
)
def test_some_attacks(name):
    rng = np.random.default_rng(len(name))
    assert_repelled([*input_reports(name, rng, 0.05), *parameter_reports(name, rng, 0.05)])


@pytest.mark.long
@pytest.mark.parametrize("name", SMALL)
def test_all_attacks(name):
    assert_repelled([*input_reports(name), *parameter_reports(name)])


def test_every_attack_is_possible_and_changes_something():
    X = np.arange(180.0).reshape(60, 3) / 40
    for y in (np.arange(60) / 7, np.where(np.arange(60) % 2, "a", "b")):
        for attack in ATTACKS:
            kind = "values" if y.dtype.kind == "f" else "labels"
            if attack.only in ("labels", "values") and attack.only != kind:
                continue
            example = attack.change(Example(X, y, X))
            assert (
                example.X is not X
                or example.y is not y
                or example.asked is not X
                or example.keywords
            ), attack.name


def test_attacks_that_must_change_nothing_hold_the_same_numbers():
    X = np.arange(180.0).reshape(60, 3) / 4 - 20
    for change in (duplicated, unsorted, long_indices):
        np.testing.assert_array_equal(change(X).toarray(), X)
    np.testing.assert_array_equal(spread_out(X), X)
    assert sum(attack.must == SAME for attack in ATTACKS) > 30


def fail(error):
    def action():
        raise error

    return action


@pytest.mark.parametrize(
    ("action", "keywords", "kind"),
    [
        (lambda: {"predict": np.zeros(3)}, {}, RIGHT),
        (lambda: {"predict": np.array([0.0, np.nan])}, {}, WRONG),
        (lambda: {"predict": np.zeros(3)}, {"must_refuse": True}, WRONG),
        (lambda: {"predict": np.zeros(3)}, {"expected": {"predict": np.full(3, 1e-5)}}, WRONG),
        (
            lambda: {"predict": np.array(["a", "b"])},
            {"expected": {"predict": np.array(["a", "c"])}},
            WRONG,
        ),
        (fail(ValueError("alpha must be positive, got -1. Write e.g. alpha=1.0.")), {}, CLEAR),
        (fail(ValueError("'<' not supported between instances of 'str' and 'int'")), {}, UNCLEAR),
        (fail(AttributeError("'NoneType' object has no attribute 'shape'")), {}, UNCLEAR),
        (fail(ZeroDivisionError("Weights sum to zero, can't be normalized")), {}, UNCLEAR),
        (fail(ValueError("bad")), {}, UNCLEAR),
    ],
)
def test_verdicts(action, keywords, kind):
    assert attacked(action, **keywords).kind == kind


def test_the_table_counts():
    reports = list(input_reports("SmoothScaler", np.random.default_rng(0), 0.2))
    assert f"{len(reports):8}" in table(reports).splitlines()[1]
    assert table(reports).splitlines()[-1].startswith("all")
