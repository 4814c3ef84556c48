"""
Reading the page of a model
===========================

``bochner fit TABLE --target COLUMN`` fits a model, evaluates it on held-out rows, and compares it with baselines. ``bochner report`` writes
the results to one page. This example does the same from Python, for the diabetes table of scikit-learn. It explains how to read the most
important parts of the page.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from bochner import fit_table
from bochner.tables.facts import Facts
from bochner.tables.pages import model_page

table = load_diabetes(as_frame=True, scaled=False).frame
model = fit_table(table, "target", seed=0)
facts = model.facts_
# HTML, as ``bochner report`` writes it to a file.
page = model_page(Facts.from_json(facts), "diabetes")
print(
    f"a page of {len(page) / 1000:.0f} kB, with all its pictures in it, from {facts['n_test']} "
    "held-out rows"
)

# %%
# **The verdict** comes first. It is green only if the model is clearly better than a constant, and no baseline is better by more than two
# standard errors.

print(facts["verdict"]["kind"], *facts["verdict"]["reasons"], sep="\n")

# %%
# **The baselines** are listed by their difference from our model, with the standard error of the difference over the same held-out rows. A
# bar that crosses zero is within noise. **The columns** have importances, also with errors. **The intervals** are evaluated: how many of
# those of 90 % contain the true value?

metric = facts["metrics"][0]
others = {
    name: judged["worse_by"][metric]
    for name, judged in facts["judged"].items()
    if name != "bochner"
}
others = dict(sorted(others.items(), key=lambda item: item[1][0]))
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
differences, errors = np.array(list(others.values())).T
left.errorbar(differences, list(others), xerr=2 * errors, fmt="o", color="#0072B2", capsize=3)
left.axvline(0, color="black", linewidth=0.8)
left.set(xlabel=f"worse than our model by ({metric})", title="baselines, with two standard errors")
names = sorted(facts["importance"], key=facts["importance"].get)[-6:]
spread = [facts["importance_error"][name] for name in names]
middle.barh(
    names,
    [facts["importance"][name] for name in names],
    xerr=spread,
    color="#56B4E9",
    ecolor="#666666",
)
middle.set(xlabel="importance, a share", title="columns that matter")
predicted, lower, upper, true = np.array(facts["intervals"]["rows"]).T
place = np.arange(len(true))
colors = np.where((lower <= true) & (true <= upper), "#0072B2", "#D55E00")
right.vlines(place, lower, upper, color="#CCCCCC", linewidth=2)
right.plot(place, predicted, color="#999999", linewidth=1)
right.scatter(place, true, s=12, color=colors, zorder=3)
covered = f"{facts['intervals']['coverage']:.0%} ± {facts['intervals']['coverage_error']:.0%}"
right.set(
    xlabel="held-out patient, by prediction",
    ylabel="target",
    title=f"intervals of 90 %: {covered} inside",
)
plt.show()
