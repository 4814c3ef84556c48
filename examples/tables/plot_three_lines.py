"""
A table in three lines
======================

You have a table and a column to predict, and do not want to tune anything. ``SpectralRegressor`` accepts the table as it is, learns a length
for each column, and blends three kernels by their predictions for rows that were left out.

We use the diabetes data of scikit-learn: 442 patients, ten columns in their own units, and the progression of the disease after a year.
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
# These are the three lines. ``members_`` lists the learned kernels and their weights.

model = SpectralRegressor(random_state=0)
model.fit(X, y)
prediction = model.predict(X_test)

print(model.members_)

# %%
# How good is the model? One split of so few patients depends on chance, so we use cross-validation with ten folds. The other models are
# those that many people try first. All have their defaults.

models = {
    "SpectralRegressor": SpectralRegressor(random_state=0),
    "linear regression": LinearRegression(),
    "random forest": RandomForestRegressor(random_state=0),
    "boosted trees": HistGradientBoostingRegressor(random_state=0),
}
folds = KFold(10, shuffle=True, random_state=0)
scores = {name: cross_val_score(one, *whole, cv=folds).mean() for name, one in models.items()}

# %%
# Left: each patient is a point, and perfect predictions would be on the line. The noise of this target is large, and no model comes near the
# line. Right: the share of the variance that each model explains. Linear regression is hard to beat on this table. The learned kernels are
# nearly linear, too, whereas trees approximate a line by steps.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4), layout="constrained", width_ratios=[1, 1.1]
)
left.scatter(y_test, prediction, s=22, color="#0072B2", alpha=0.7, linewidths=0)
ends = np.array([y_test.min(), y_test.max()])
left.plot(ends, ends, color="black", linewidth=0.8)
left.set(xlabel="true value", ylabel="prediction", title="test patients")
names = sorted(scores, key=scores.get)
colors = ["#D55E00" if name == "SpectralRegressor" else "#999999" for name in names]
right.bar_label(right.barh(names, [scores[name] for name in names], color=colors), fmt=" %.2f")
right.set(
    xlabel="R², mean of ten folds",
    title="without tuning",
    xlim=(0, 1.15 * max(scores.values())),
)
right.spines[["top", "right"]].set_visible(False)
plt.show()
