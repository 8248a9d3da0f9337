"""``coterie demo``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from .options import DELAY, ColumnOptions, LearningOptions, OptionSet, OutputOptions, option

QUESTION = "Flights that left New York in 2013, in the order of departure: will it arrive more than 15 minutes late?"
REPORT = Path("coterie-demo.html")


@dataclass(frozen=True, kw_only=True)
class DemoOptions(OptionSet):
    """Options of ``demo``."""

    task: Literal["dest", "tailnum"] = option(
        "COLUMN", "`dest` (a destination) or `tailnum` (an aircraft).", "dest", "-t"
    )
    delay: int = option("N", DELAY, 300, min=0)


def demo(demo_options: DemoOptions, outputs: OutputOptions) -> None:
    """Run multitask learning on the included flights data, offline and in seconds.

    Reads the flights that come with the package, learns one model per task and the baselines, and writes a report.
    First it prints the learn command that does the same.

    For example:

        coterie demo
        coterie demo --task tailnum --report aircraft.html
    """
    from coterie import datasets

    from .failures import print_line
    from .learn import learn_new
    from .results import finish_learning
    from .stopping import InterruptibleRun

    task, delay = demo_options.task, demo_options.delay
    report = outputs.report or REPORT
    outputs = replace(outputs, report=report)
    outputs.require([], REPORT)
    ignore = None if task == "tailnum" else ["tailnum"]
    columns = ColumnOptions(task=task, label="late", ignore=ignore)
    if not outputs.quiet:
        options = "".join(f" --ignore {column}" for column in ignore or ()) + (f" --delay {delay}" if delay else "")
        print_line(QUESTION)
        print_line(f"One model per {'destination' if task == 'dest' else 'aircraft'}. The same by hand:")
        print_line(f"  coterie learn {datasets.FLIGHTS} --task {task} --label late{options}\n")
    note = (
        "Without --delay 300 the results would be too good: some 300 flights leave before one has landed and it is "
        "known to be late."
    )
    if delay:
        note = (
            f"Labels come {delay:,} flights late: that many leave before one has landed and it is known whether it was "
            "late. Without the delay results would be too good to be true."
        )
    run = InterruptibleRun([str(datasets.FLIGHTS)], outputs.output, {"delay": delay} | outputs.repeated)
    with run.handling_signals():
        learners = {"": LearningOptions().parse_learner()}
        outcome = learn_new(columns, learners, run, delay=delay, alone=False, quiet=outputs.quiet)
        outcome = replace(outcome, reading=replace(outcome.reading, source="the flights that come with coterie"))
        following = f"Next: open {report} in a browser, then: coterie learn FILE --task COLUMN --label COLUMN"
        finish_learning("demo", outcome, outputs, run, note, following, title=QUESTION)
