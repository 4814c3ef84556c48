"""Pages for tests, with text that would do harm if it were not escaped."""

from bochner.tables.facts import Facts
from bochner.tables.pages import model_page
from bochner_papers.runner.pages import write_experiment, write_index
from bochner_papers.runner.summary import averaged, beside_published

EVIL = "<script>window.hacked = 1</script>"
EVIL_ATTRIBUTE = '"><img src=x onerror="window.hacked = 2">'


def summary():
    """An experiment whose every text is hostile."""
    pairs = [
        ({"method": method, "seed": seed}, {"error": value + seed, EVIL: EVIL_ATTRIBUTE})
        for method, value in ((EVIL, 10.0), ("b", 9.0), ("c", 100.0))
        for seed in range(2)
    ]
    paper = {
        "source": EVIL,
        "quantity": EVIL,
        "note": EVIL,
        "row": "method",
        "column": "nothing",
        "value": "error",
        "columns": ["error"],
        "rows": {EVIL: [[1.0, 0.5]], "b": [2.0], "c": [None]},
    }
    return {
        "experiment": "evil",
        "paper": f"Table of {EVIL}",
        "claim": EVIL_ATTRIBUTE,
        "scale": "smoke",
        "verdict": "does not hold",
        "why": EVIL,
        "rule": EVIL,
        "caption": EVIL,
        "command": "bochner reproduce evil --scale smoke",
        "deviations": [EVIL],
        "date": "2020-01-01",
        "environment": {EVIL: EVIL_ATTRIBUTE},
        "n_cases": 8,
        "n_finished": 6,
        "n_left_out": 1,
        "left_out": EVIL,
        "n_of_earlier_code": 1,
        "seconds": 12.0,
        "skipped": [{"case": {"a": EVIL}, "reason": EVIL}],
        "failed": [{"case": {"a": EVIL}, "error": EVIL, "trace": EVIL}],
        "table": averaged(pairs),
        "comparisons": [
            {"caption": EVIL, "columns": ["learner", "gain"], "rows": [[EVIL, "+0.1 ± 0.2"]]}
        ],
        "published": beside_published(pairs, paper),
        "results": [{"case": case, "result": result} for case, result in pairs],
    }


def figure():
    """A matplotlib figure with hostile labels."""
    import matplotlib.pyplot as plt

    chart, axes = plt.subplots()
    axes.plot([1, 2], [3, 4], label=f"--> {EVIL}")
    axes.set(xlabel=EVIL, ylabel="y", title=EVIL_ATTRIBUTE)
    axes.legend()
    return chart


def facts(task):
    """Facts of a table model with hostile names."""
    judged = {"seconds": 1.0, "confidence": 0.95}
    if task == "classification":
        judged |= {
            "error": 0.1,
            "certified": 0.2,
            "log-loss": 0.3,
            "auc": 0.9,
            "average-precision": 0.8,
            "balanced-accuracy": 0.9,
        }
        details = {
            "classes": [EVIL, EVIL_ATTRIBUTE],
            "class_counts": [60, 40],
            "rare": True,
            "positive": EVIL,
            "metrics": ["log-loss", "auc"],
            "confusion": [[5, 1], [2, 4]],
            "roc": [[0.0, 0.0], [0.2, 0.9], [1.0, 1.0]],
            "precision_recall": [[1.0, 0.4], [0.5, 1.0]],
            "calibration": [[0.1, 0.0, 0.1, 10], [0.8, 0.9, 0.1, 15]],
            "threshold": {
                "asked": EVIL,
                "value": 0.2,
                "false_positive_cost": None,
                "false_negative_cost": None,
                "mistakes": [3, 1],
                "mistakes_at_half": [1, 4],
            },
        }
        outputs = [f"score of {EVIL}"]
    else:
        judged |= {"rmse": 2.0, "r2": 0.5, "mae": 1.0, "half_width": 3.0, "coverage": 0.9}
        rows = [[1.0, 0.0, 2.0, 1.5], [2.0, 1.0, 3.0, 4.0]]
        details = {
            "points": [[1.0, 1.5], [2.0, 1.0], [4.0, 4.5]],
            "metrics": ["rmse", "r2"],
            "intervals": {
                "level": 0.9,
                "coverage": 0.9,
                "coverage_error": 0.02,
                "median_width": 2.0,
                "rows": rows,
            },
            "threshold": None,
        }
        outputs = ["prediction"]
    measured = [
        name
        for name in judged
        if name not in ("seconds", "confidence", "error", "certified", "half_width", "coverage")
    ]
    judged |= {
        "standard_errors": dict.fromkeys(measured, 0.1),
        "worse_by": {name: [0.1, 0.2] for name in measured},
    }
    return {
        "target": EVIL,
        "task": task,
        "why_task": EVIL,
        "n_rows": 100,
        "n_train": 75,
        "n_test": 25,
        "n_dropped": 1,
        "identifiers": [],
        "decimal": ".",
        "file": {"unnamed": [], "sep": None, "skip_rows": None},
        "repeated": None,
        "seen": None,
        "cost": {"seconds": 1.0, "peak_bytes": None},
        "columns": {EVIL: ["number", EVIL_ATTRIBUTE], "x": ["left out", EVIL]},
        "notes": [EVIL],
        "seed": 0,
        "split": {"kind": "group", "column": EVIL, "n_groups": 9},
        "refitted": True,
        "version": EVIL,
        "made": EVIL,
        "command": EVIL,
        "fingerprint": EVIL,
        "path": EVIL,
        "members": [
            {
                "name": EVIL,
                "weight": 1.0,
                "held_out_error": 0.5,
                "ridge": None,
                "seconds": 1.0,
                "prior": EVIL_ATTRIBUTE,
            }
        ],
        "verdict": {"kind": "open", "reasons": [EVIL, EVIL_ATTRIBUTE]},
        "judged": {"bochner": judged, "linear": judged, "constant": judged},
        "importance": {EVIL: 0.7, EVIL_ATTRIBUTE: 0.3},
        "importance_error": {EVIL: 0.1, EVIL_ATTRIBUTE: 0.1},
        "worst": {"columns": [EVIL], "rows": [[7, EVIL, EVIL_ATTRIBUTE, 0.1, EVIL]]},
        "effects": {
            "outputs": outputs,
            "curves": [
                {
                    "column": EVIL,
                    "kind": "numbers",
                    "x": [0.0, 1.0, 2.0],
                    "y": [[0.1, -0.1, 0.3]],
                    "band": [0.1, 0.2, 0.1],
                },
                {
                    "column": EVIL,
                    "kind": "levels",
                    "x": [EVIL, EVIL_ATTRIBUTE],
                    "y": [[0.1, -0.2]],
                    "band": None,
                },
            ],
            "level": 0.9,
            "rest_share": 0.25,
        },
        **details,
    }


def write_all(folder, with_figure=True):
    """One page of each kind; returns their paths."""
    pages = [
        write_experiment(summary(), folder, figure() if with_figure else None),
        write_index(folder),
    ]
    for task in ("classification", "regression"):
        path = folder / f"{task}.html"
        path.write_text(model_page(Facts.from_json(facts(task)), EVIL), encoding="utf-8")
        pages.append(path)
    return pages
