"""check_loss accepts every loss of bochner, and names the method of a loss that is wrong."""

from dataclasses import dataclass

import numpy as np
import pytest
from cases import LOSSES

from bochner import FourierBoostingClassifier, FourierBoostingRegressor, export
from bochner.losses import Hinge, Huber, Logistic, Loss, Multinomial, Poisson, Quantile, Squared
from bochner.testing import check_loss

X = np.random.default_rng(0).normal(size=(60, 2))
TWO = (X[:, 0] * X[:, 1] > 0).astype(int)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_losses_of_bochner_conform(loss):
    check_loss(loss)


def halved(name, place=None):
    """Return a squared loss of which one result is halved."""

    def method(self, *arguments):
        result = getattr(Squared, name)(self, *arguments)
        if place is None:
            return result / 2
        return tuple(part / (2 if k == place else 1) for k, part in enumerate(result))

    return type("Wrong", (Squared,), {name: method})()


WRONG = {
    "derivatives: the gradient of output 0 is not the slope": halved("derivatives", 0),
    "derivatives: the curvature must be positive": type(
        "Wrong", (Squared,), {"derivatives": lambda self, y, H: (H - y, 0 * H)}
    )(),
    "gradient: it differs": halved("gradient"),
    "bend: it must be at least": halved("bend"),
    "values: the loss must be convex": type(
        "Wrong",
        (Squared,),
        {
            "values": lambda self, y, H: -Squared.values(self, y, H),
            "derivatives": lambda self, y, H: (y - H, np.ones_like(H)),
        },
    )(),
    "start: a constant that is": type(
        "Wrong", (Squared,), {"start": lambda self, y, w: Squared.start(self, y, w) + 0.5}
    )(),
    "least: values has": type("Wrong", (Squared,), {"least": lambda self, y: np.ones(len(y))})(),
    "link: predictions must be finite": type(
        "Wrong", (Squared,), {"link": lambda self, H: np.log(np.abs(H) - 10)}
    )(),
    "of_residuals: ℓ depends": type("Wrong", (Poisson,), {"of_residuals": True})(),
    "scaled: the gradient for": type("Wrong", (Huber,), {"scaled": Loss.scaled})(np.array([0.7])),
}


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_method_is_named(message):
    targets = np.random.default_rng(0).poisson(2.0, size=(200, 1))
    with pytest.raises(AssertionError, match=f"^Wrong.{message}"):
        check_loss(WRONG[message], targets)


def test_a_class_is_not_a_loss():
    with pytest.raises(TypeError, match="needs an object"):
        check_loss(Squared)
    with pytest.raises(TypeError, match=r"Write loss=Squared\(\)"):
        FourierBoostingRegressor(loss=Squared).fit(X, TWO)


@pytest.mark.parametrize(
    ("name", "loss"), [("logistic", Logistic()), ("multinomial", Multinomial())]
)
def test_objects_of_losses_equal_their_names(name, loss):
    models = [
        FourierBoostingClassifier(loss=given, n_rounds=5, random_state=0).fit(X, TWO)
        for given in (name, loss)
    ]
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))


@pytest.mark.parametrize(
    ("name", "loss"), [("squared", Squared()), ("quantile", Quantile(0.9)), ("poisson", Poisson())]
)
def test_objects_of_losses_equal_their_names_in_regression(name, loss):
    y = 100.0 + 20 * np.sin(X[:, 0])
    models = [
        FourierBoostingRegressor(loss=given, n_rounds=5, random_state=0).fit(X, y)
        for given in (name, loss)
    ]
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))


def test_constants_of_a_loss_have_the_unit_of_y():
    y = np.sin(X[:, 0]) + (np.arange(60) % 7 == 0)
    models = [
        FourierBoostingRegressor(loss=Huber(np.array([0.3 * unit])), n_rounds=5, random_state=0)
        for unit in (1.0, 1024.0)
    ]
    small, large = models[0].fit(X, y).predict(X), models[1].fit(X, 1024 * y).predict(X)
    np.testing.assert_allclose(large, 1024 * small, rtol=1e-6)


def test_missing_methods_are_named_where_they_are_needed():
    classifier = FourierBoostingClassifier(loss=Hinge(), n_rounds=5, random_state=0).fit(X, TWO)
    assert classifier.score(X, TWO) > 0.6
    with pytest.raises(NotImplementedError, match=r"needs the method `link`.*Define Hinge\.link"):
        classifier.predict_proba(X)
    with pytest.raises(ValueError, match="is for two classes, but y has 3"):
        FourierBoostingClassifier(loss=Hinge()).fit(X, np.arange(60) % 3)

    @dataclass(frozen=True)
    class Linked(Poisson):
        link = lambda self, scores: np.exp(scores)  # noqa: E731
        onnx = Loss.onnx

    model = FourierBoostingRegressor(loss=Linked(), n_rounds=5, random_state=0).fit(X, TWO)
    pytest.importorskip("skl2onnx")
    with pytest.raises(TypeError, match=r"needs the method `onnx`.*Define Linked.onnx"):
        export.to_onnx(model)

    class Coupled(Multinomial):
        bend = Loss.bend

    with pytest.raises(NotImplementedError, match="needs the method `bend`"):
        Coupled().bend(np.eye(3), np.zeros((3, 3)), np.ones((3, 3)))
