"""Which relation suits these tasks? Several over one pass of the flights that come with the package, and a verdict.

Run it: python which_relation.py    (it writes which_relation.html if plotly is there: pip install "coterie[report]")
"""

from __future__ import annotations

from importlib.util import find_spec

import coterie as ct
from coterie import datasets
from coterie.streams.verdict import verdict

RELATIONS = {
    "a quarter shared": ct.MeanRegularized(share=0.25),
    "half shared": ct.HalfUpdate(),
    "nine tenths shared": ct.MeanRegularized(share=0.9),
}


def learner(relation):
    """Everything but the relation is the same for all."""
    return ct.MultitaskPerceptron(relation, ct.PassiveAggressive(C=0.1), average=True)


def main():
    """Late or not, from what is known before departure, a task being a destination."""
    flights = datasets.flights(task="dest")
    learners = {name: learner(relation) for name, relation in RELATIONS.items()}
    comparison = ct.compare(learners, flights.X, flights.y, task=flights.task)
    for name, trace in sorted(comparison.traces.items(), key=lambda item: item[1].error):
        print(f"{name:18} {trace.error:.2%} error, {comparison.seconds[name]:.1f} s")
    others = [name for name in comparison.traces if name != "independent"]
    best = min(others, key=lambda name: comparison.traces[name].error)
    print(verdict(comparison.traces[best], comparison.traces["independent"]).sentence(best))
    if find_spec("plotly"):
        from coterie.report import write_report

        print("report:", write_report("which_relation.html", comparison, learner=best))


if __name__ == "__main__":
    main()
