"""
Which relation suits these tasks?
=================================

Compare several relations in one pass over the flights that come with the package. A task is a destination. The verdict
says whether learning together helped, and for which destinations. Run it as ``python which_relation.py``.
"""

# %%
# Everything but the relation is the same for all learners. One model per task and one for all are added by ``compare``.

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

import coterie as ct
from coterie import datasets

RELATIONS = {
    "a quarter shared": ct.MeanRegularized(share=0.25),
    "half shared": ct.HalfUpdate(),
    "nine tenths shared": ct.MeanRegularized(share=0.9),
}

flights = datasets.flights(task="dest")
learners = {
    name: ct.MultitaskPerceptron(relation, ct.updates.PassiveAggressive(C=0.1), average=True)
    for name, relation in RELATIONS.items()
}
comparison = ct.compare(learners, flights.X, flights.y, task=flights.task)
for name, trace in sorted(comparison.traces.items(), key=lambda item: item[1].error):
    print(f"{name:18} {trace.error:.2%} error")

# %%
# The best of them against one model per destination:

best = min(RELATIONS, key=lambda name: comparison.traces[name].error)
verdict = comparison.verdict(best)
print(verdict)

# %%
# The gain of each destination with its interval, sorted by gain.

order = np.argsort(-verdict.gain)
colours = {"helped": "tab:green", "hurt": "tab:red", "unclear": "tab:gray"}
figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
for outcome, colour in colours.items():
    rank = np.flatnonzero(verdict.outcome[order] == outcome)
    these = order[rank]
    axes.vlines(rank, 100 * verdict.low[these], 100 * verdict.high[these], color=colour, alpha=0.5)
    axes.plot(rank, 100 * verdict.gain[these], ".", color=colour, label=outcome)
axes.axhline(0, color="black", linewidth=0.5)
axes.set(xlabel="destinations", ylabel="gain, points", title=f"{best} against one model per destination")
axes.legend()
plt.show()

# %%
# ``coterie.evaluation.report.write_report("report.html", comparison, learner=best)`` writes these and more figures as a
# page.
