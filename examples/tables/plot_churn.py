"""
Customers who leave: calibrated probabilities of rare events
============================================================

Seven of a hundred customers leave. To act on it, you need calibrated probabilities: of all customers with "20 %", one in five should leave.
Two things prevent that: overconfident models, and weights that make both classes count the same.

The table is generated. Its columns (contracts, months, complaints, prices) have categories and missing values, as real tables do.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.calibration import calibration_curve
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score, log_loss
from sklearn.model_selection import train_test_split

from bochner import SpectralClassifier

rng = np.random.default_rng(0)
n_rows = 8000
table = pd.DataFrame(
    {
        "months": rng.gamma(2.0, 14.0, n_rows).round(),
        "price": rng.normal(60, 20, n_rows).clip(15).round(2),
        "complaints": rng.poisson(0.7, n_rows),
        "minutes": rng.lognormal(5, 0.7, n_rows).round(),
        "contract": pd.Categorical(
            rng.choice(["monthly", "one year", "two years"], n_rows, p=[0.5, 0.3, 0.2])
        ),
        "region": pd.Categorical(rng.choice(list("ABCDEF"), n_rows)),
    }
)
lasting = table["contract"].map({"monthly": 0.0, "one year": -1.2, "two years": -2.4}).astype(float)
logit = (
    -1.9
    + lasting
    + 0.7 * table["complaints"]
    - 1.1 * np.tanh(table["months"] / 24)
    + 0.9 * np.sin(table["price"] / 16)
)
churn = np.where(rng.random(n_rows) < 1 / (1 + np.exp(-logit)), "leaves", "stays")
table.loc[rng.random(n_rows) < 0.1, "minutes"] = np.nan
print(f"{np.mean(churn == 'leaves'):.1%} leave")
X, X_test, y, y_test = train_test_split(
    table, churn, train_size=2500, stratify=churn, random_state=0
)

# %%
# Four models with their defaults. Two of them have ``class_weight="balanced"``, so that both classes count the same. ``SpectralClassifier``
# accepts categories and missing values, and so does scikit-learn's boosting with ``categorical_features="from_dtype"``.

trees = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
balanced_trees = HistGradientBoostingClassifier(
    categorical_features="from_dtype", class_weight="balanced", random_state=0
)
models = {
    "SpectralClassifier": SpectralClassifier(random_state=0),
    "SpectralClassifier, balanced": SpectralClassifier(class_weight="balanced", random_state=0),
    "boosted trees": trees,
    "boosted trees, balanced": balanced_trees,
}
leaves = y_test == "leaves"
chances = {}
for name, model in models.items():
    model.fit(X, y)
    chances[name] = model.predict_proba(X_test)[:, list(model.classes_).index("leaves")]
    loss, found = log_loss(leaves, chances[name]), average_precision_score(leaves, chances[name])
    print(f"{name:30} log-loss {loss:.3f}   average precision {found:.3f}")
print(
    f"{'a constant':30} log-loss {log_loss(leaves, np.full(len(leaves), np.mean(y == 'leaves'))):.3f}"
)

# %%
# Left: customers in ten groups by their predicted probability, and the share of each group that left. On the dashed line a model is
# calibrated. Below it, predicted probabilities are too high; that is the purpose and the price of balanced weights.
#
# Right: you call customers in the order of their probabilities. The curve shows which share of those who leave you have reached. Weights
# hardly change this order.

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
looks = {
    "SpectralClassifier": ("#0072B2", "o-"),
    "SpectralClassifier, balanced": ("#56B4E9", "o--"),
    "boosted trees": ("#D55E00", "s-"),
    "boosted trees, balanced": ("#E69F00", "s--"),
}
left.plot([0, 1], [0, 1], "--", color="black", linewidth=0.8)
for name, (color, look) in looks.items():
    happened, said = calibration_curve(leaves, chances[name], n_bins=10, strategy="quantile")
    left.plot(said, happened, look, color=color, markersize=4, label=name)
    reached = np.cumsum(leaves[np.argsort(-chances[name])]) / leaves.sum()
    right.plot(np.linspace(0, 100, len(leaves)), 100 * reached, look[1:], color=color, label=name)
left.set(
    xlabel="predicted probability",
    ylabel="share that left",
    xlim=(0, 0.8),
    ylim=(0, 0.8),
    title="calibration",
)
right.plot([0, 100], [0, 100], "--", color="black", linewidth=0.8)
right.set(
    xlabel="customers called, %",
    ylabel="of those who leave, reached, %",
    title="whom to call first",
)
left.legend(fontsize="small")
for axis in (left, right):
    axis.grid(alpha=0.3)
plt.show()
