"""What a notebook shows of a model: scikit-learn's diagram, and what was learned."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from page_samples import EVIL, EVIL_ATTRIBUTE
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr
from tabular_samples import QUICK, regression

from bochner import SpectralClassifier, SpectralRegressor
from bochner.tabular import notebook

pd = pytest.importorskip("pandas")


class Balanced(HTMLParser):
    """Complains about tags that are not closed in order, and collects the cells of our tables."""

    def __init__(self):
        super().__init__()
        self.open, self.cells = [], []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.cells.append(data)


def own_part(model):
    """What stands under scikit-learn's diagram, whose ids count up."""
    html = model._repr_html_()
    start = html.index(notebook._STYLE)
    without_ids = [
        re.sub(r"sk-[\w-]*-\d+", "", part) for part in (html[:start], estimator_html_repr(model))
    ]
    assert without_ids[0] == without_ids[1]
    return html[start:]


def fitted(kind=SpectralRegressor, names=("a", "b", "c", "d"), **parameters):
    X, y = regression(80)
    X = pd.DataFrame(X, columns=list(names))
    return kind(evidence=QUICK, random_state=0, **parameters).fit(
        X, y if kind is SpectralRegressor else y > 0
    )


def test_a_model_that_is_not_fitted_shows_scikit_learns_diagram():
    model = SpectralRegressor()
    without_ids = [
        re.sub(r"sk-[\w-]*-\d+", "", part)
        for part in (model._repr_html_(), estimator_html_repr(model))
    ]
    assert without_ids[0] == without_ids[1]
    assert model._repr_mimebundle_()["text/plain"] == "SpectralRegressor()"


@pytest.mark.parametrize("kind", [SpectralRegressor, SpectralClassifier])
def test_a_fitted_model_shows_members_path_and_columns(kind):
    model = fitted(kind, trees=True, n_jobs=1)
    html = own_part(model)
    page = Balanced()
    page.feed(html)
    assert page.open == []
    assert [m.name for m in model.members_] == ["anova", "laplace", "gaussian", "trees"]
    assert {
        "anova",
        "laplace",
        "gaussian",
        "trees",
        "held-out error",
        "histogram trees, no prior",
    } <= set(page.cells)
    assert "leave-one-out" in html
    assert [cell for cell in page.cells if cell in "abcd"] == [
        "abcd"[j] for j in np.argsort(-model.feature_importances_, kind="stable")
    ]
    bundle = model._repr_mimebundle_()
    assert bundle["text/html"].endswith(html)
    assert repr(model.members_) in bundle["text/plain"]
    assert model.path_ in bundle["text/plain"]


def test_names_of_columns_are_escaped():
    html = own_part(fitted(names=(EVIL, EVIL_ATTRIBUTE, "a & b", "d")))
    assert "<script" not in html
    assert "<img" not in html
    assert "&lt;script&gt;" in html
    assert "a &amp; b" in html


def test_text_displays_and_pipelines_stay_as_they_are():
    model = fitted()
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert "text/html" not in model._repr_mimebundle_()
    assert "bochner-model" not in make_pipeline(model)._repr_html_()


def test_what_a_look_would_cost_decides_over_bars(monkeypatch):
    model = fitted()
    rows = model._background
    np.testing.assert_allclose(
        notebook.quick_importances(model.blend_, model.inputs_, rows), model.feature_importances_
    )
    monkeypatch.setattr(
        notebook, "_AFFORDABLE_WORK", 20 * 5 * 4 * sum(map(len, model.blend_.members))
    )
    assert notebook.quick_importances(model.blend_, model.inputs_, rows).sum() == pytest.approx(1)
    monkeypatch.setattr(notebook, "_AFFORDABLE_WORK", 1)
    assert notebook.quick_importances(model.blend_, model.inputs_, rows) is None
    assert "feature_importances_" in own_part(model)


def test_constant_columns_have_no_bars():
    X = np.ones((10, 2))
    html = own_part(SpectralRegressor(evidence=QUICK, random_state=0).fit(X, np.arange(10.0)))
    assert "importance" not in html
