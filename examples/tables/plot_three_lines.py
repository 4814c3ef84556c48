"""
A table in three lines
======================

You have a table and a column to predict, and no wish to tune anything. ``SpectralRegressor`` takes the table as it is, learns how far each
column reaches, and blends three kernels by how well they predict rows that were left out.

The diabetes data of scikit-learn: 442 patients, ten columns in their own units, and how far the disease went in a year.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_score, train_test_split

from bochner import SpectralRegressor

whole = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X, X_test, y, y_test = train_test_split(*whole, random_state=0)

# %%
# The three lines. ``members_`` says which kernels were learned, and what each of them counts for.

model = SpectralRegressor(random_state=0)
model.fit(X, y)
prediction = model.predict(X_test)

print(model.members_)

# %%
# Is it any good? One split of so few patients is a coin with an edge, so all 442 of them are predicted in turn, in ten folds, by models that
# people would try first too, all of them with their defaults.

models = {
    "SpectralRegressor": SpectralRegressor(random_state=0),
    "linear regression": LinearRegression(),
    "random forest": RandomForestRegressor(random_state=0),
    "boosted trees": HistGradientBoostingRegressor(random_state=0),
}
folds = KFold(10, shuffle=True, random_state=0)
scores = {name: cross_val_score(one, *whole, cv=folds).mean() for name, one in models.items()}

# %%
# Left: each patient a point, the line is where a perfect prediction would be. The noise of this disease is large: no model comes near the
# line. Right: the share of the variance that each of the models explains. A straight line is hard to beat on this table, and
# the learned kernels have found out that it is nearly one; the trees have to build it from steps.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4), layout="constrained", width_ratios=[1, 1.1]
)
left.scatter(y_test, prediction, s=22, color="#0072B2", alpha=0.7, linewidths=0)
ends = np.array([y_test.min(), y_test.max()])
left.plot(ends, ends, color="black", linewidth=0.8)
left.set(
    xlabel="what happened", ylabel="what was predicted", title="patients that were not learned from"
)
names = sorted(scores, key=scores.get)
colors = ["#D55E00" if name == "SpectralRegressor" else "#999999" for name in names]
right.bar_label(right.barh(names, [scores[name] for name in names], color=colors), fmt=" %.2f")
right.set(
    xlabel="R², mean of ten folds",
    title="with nothing tuned",
    xlim=(0, 1.15 * max(scores.values())),
)
right.spines[["top", "right"]].set_visible(False)
plt.show()
