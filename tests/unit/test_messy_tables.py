"""Messy tables made of real ones, from file to score: as good as the clean ones.
benchmarks/messy_tables.py has ten beside CatBoost.
"""

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
pytest.importorskip("skops")

import messy_samples as messy
from sklearn.datasets import load_breast_cancer, load_diabetes
from table_samples import quick_models

from bochner import fit_table, load, load_table, save

SEED = 1


@pytest.fixture(scope="module", autouse=True)
def quick_fits():
    """Messy and clean tables get the same cheap models."""
    with quick_models():
        yield


@pytest.mark.long
def test_a_table_of_values_with_money_dates_and_identifiers(tmp_path):
    """A target in euros with its season; decimal commas, dates, 120 towns, identifiers, a remark."""
    rng = np.random.default_rng(0)
    clean = load_diabetes(as_frame=True, scaled=False).frame
    clean["income"] = rng.integers(10**6, size=len(clean))
    days = pandas.Series(
        pandas.to_datetime("2018-03-01")
        + pandas.to_timedelta(rng.integers(1000, size=len(clean)), "D")
    )
    town = rng.integers(120, size=len(clean))
    season = 60 * np.sin(2 * np.pi * days.dt.day_of_year / 365.25)
    clean["target"] += season + 1e-4 * clean["income"] + 20 * rng.normal(size=120)[town]
    mess = clean.assign(
        target=messy.german(clean["target"], 2),
        income=messy.thousands(clean["income"]),
        sex=messy.truths(clean["sex"] == 1, rng),
        bmi=messy.mixed(clean["bmi"], rng, share=0.02),
        seen=days.dt.strftime("%d/%m/%Y"),
        town=[f"town {k}" for k in town],
        **messy.identifiers(len(clean), rng),
    )
    mess.to_csv(tmp_path / "t.csv", index=False, sep=";", encoding="cp1252")
    model = fit_table(load_table(tmp_path / "t.csv"), "target", seed=SEED, compare=False)
    facts = model.facts_
    assert facts["task"] == "regression"
    assert facts["dates"] == ["seen"]
    assert facts["categorical"] == ["sex", "town"]
    assert set(facts["left_out"]) == {"customer_id", "row", "token", "remark"}
    assert facts["columns"]["income"] == ["number", "numbers written with thousands separators"]
    by_hand = clean.assign(day=days.dt.day_of_year, town=[f"town {k}" for k in town])
    reference = fit_table(by_hand, "target", seed=SEED, compare=False).facts_["judged"]["bochner"][
        "r2"
    ]
    assert facts["judged"]["bochner"]["r2"] > reference - 0.03
    assert facts["judged"]["bochner"]["r2"] > 0.4
    assert sum(facts["importance"].values()) == pytest.approx(1)
    assert set(facts["importance"]) == set(facts["columns"]) - set(facts["left_out"])
    save(model, tmp_path / "m.skops")
    table = load_table(tmp_path / "t.csv")
    np.testing.assert_array_equal(load(tmp_path / "m.skops").predict(table), model.predict(table))
    one_by_one = [model.predict(table.iloc[[k]])[0] for k in range(5)]
    np.testing.assert_allclose(one_by_one, model.predict(table)[:5])


@pytest.mark.long
def test_a_table_of_classes_with_holes_and_names_that_come_again(tmp_path):
    rng = np.random.default_rng(0)
    clean = load_breast_cancer(as_frame=True).frame
    clean["target"] = np.array(["malignant", "benign"])[clean["target"]]
    holes = messy.with_holes(clean.drop(columns="target"), rng)
    names = [name.removeprefix("mean ").removeprefix("worst ") for name in holes.columns]
    mess = holes.assign(area=messy.thousands(1000 * holes["mean area"])).set_axis(
        [*names, "area"], axis=1
    )
    mess["target"] = clean["target"]
    mess.to_csv(tmp_path / "t.csv", index=False, sep="\t", encoding="utf-16", na_rep="n/a")
    model = fit_table(load_table(tmp_path / "t.csv"), "target", seed=SEED, compare=False)
    assert model.facts_["left_out"] == {}
    assert len(model.facts_["numeric"]) == 31
    assert "radius.1" in model.facts_["numeric"]
    reference = fit_table(
        holes.assign(target=clean["target"]), "target", seed=SEED, compare=False
    ).facts_["judged"]["bochner"]
    assert model.facts_["judged"]["bochner"]["error"] < reference["error"] + 0.02


def test_a_target_with_decimal_commas_leads_in_no_circle(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    frame = pandas.DataFrame(
        {"x": x, "y": [f"{v:.2f}".replace(".", ",") for v in 3 * x + rng.normal(size=80)]}
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    facts = fit_table(load_table(tmp_path / "t.csv"), "y").facts_
    assert facts["task"] == "regression"
    assert facts["judged"]["bochner"]["r2"] > 0.6


def test_texts_of_few_numbers_stay_labels_of_their_own_type():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=60)
    frame = pandas.DataFrame({"x": y + 0.1 * rng.normal(size=60), "y": y.astype(str)})
    assert fit_table(frame, "y").classes_.tolist() == ["0", "1"]
