"""
Export a model to ONNX
======================

A fitted pipeline becomes an ONNX graph, which any runtime evaluates without Python. ``to_onnx``
runs the graph on the rows that it is given and raises an error if its predictions differ from those
of the model.
"""

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bochner import FourierBoostingClassifier
from bochner.export import to_onnx

X, X_test, y, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
model = make_pipeline(StandardScaler(), FourierBoostingClassifier(n_rounds=60, random_state=0)).fit(
    X, y
)

# %%
# Two graphs, in single and double precision, are run by ONNX Runtime. Both get the rows in the
# precision of the graph.

graphs = {dtype: to_onnx(model, X=X[:50], dtype=dtype) for dtype in (np.float32, np.float64)}
expected = model.predict_proba(X_test)[:, 1]
answers = {}
for dtype, graph in graphs.items():
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    label, probabilities = session.run(None, {session.get_inputs()[0].name: X_test.astype(dtype)})
    answers[dtype.__name__] = probabilities[:, 1]
    same = np.mean(label == model.predict(X_test))
    gap = np.abs(probabilities[:, 1] - expected).max()
    size = len(graph.SerializeToString()) / 1024
    print(
        f"{dtype.__name__}: {size:.0f} kB, {same:.1%} of labels equal, largest difference of a probability {gap:.1e}"
    )

# %%
# Left: probabilities of the model and of the graph. Right: their differences for both precisions,
# on a logarithmic axis.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot([0, 1], [0, 1], color="black", linewidth=0.8)
left.scatter(expected, answers["float32"], s=24, color="#0072B2", alpha=0.7, linewidths=0)
left.set(
    xlabel="in Python",
    ylabel="from the graph, float32",
    title="probability of a benign tumor",
    aspect="equal",
)
for (name, answer), color in zip(answers.items(), ("#D55E00", "#0072B2")):
    right.hist(
        np.log10(np.maximum(np.abs(answer - expected), 1e-18)),
        bins=25,
        color=color,
        alpha=0.7,
        label=name,
    )
right.set(xlabel="log₁₀ of the difference", ylabel="test rows", title="rounding of both precisions")
right.legend()
plt.show()
