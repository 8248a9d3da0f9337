"""``coterie compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .failures import earlier
from .options import ColumnOptions, ComparedOptions, Delay, Files
from .outputs import OutputOptions, finish
from .places import paths_read
from .progress import watching
from .stopping import StoppableRun

if TYPE_CHECKING:
    from coterie.jobs.learners import LearnerSpec

DEFAULT = ("adaptive", "mean(share=0.25)", "mean(share=0.75)")


def compare(
    files: Files,
    columns: ColumnOptions,
    learning: ComparedOptions,
    outputs: OutputOptions,
    delay: Delay = 0,
) -> None:
    """Compare learners on the same records, in one pass.

    One model per task, one for all tasks, and one for all with a constant of each always run beside them. The summary
    is about the best of those asked for, which is also what --output saves.

    For example:
      coterie compare clicks.csv --task user --label click --report report.html
      coterie compare sales.csv -t shop -l sold --learner half --learner "clusters(regions.csv, share=0.5)"
      coterie compare mail.jsonl -t user -l spam --learner "pa1(C=0.1)" --learner "pa1(C=1)" --learner perceptron
    """
    from coterie.jobs.learning import learn

    configs = {text: _learner(learning, text) for text in _specs(learning)}
    outputs.require([*paths_read(files), *(path for config in configs.values() for path in config.files)])
    run = StoppableRun(files, outputs.output, columns.again(False) | {"delay": delay} | outputs.again)
    with run.stopping():
        columns.require_named(files)
        reader = columns.reader(files)
        with watching(reader, outputs.quiet, delay) as on_round:
            outcome = learn(reader, configs, delay=delay, on_round=on_round, stop=run.stop)
        finish("compare", outcome, outputs, run)


def _specs(learning: ComparedOptions) -> list[str]:
    return list(learning.given.get("learner") or DEFAULT)


def _learner(learning: ComparedOptions, text: str) -> LearnerSpec:
    """The learner of a spec, which may be as versions before 0.3 took it: ``share=0.3,pa2,C=0.1``."""
    import re

    from coterie.jobs.old_options import one_word

    before = learning.earlier()
    if not before and (("," not in text and "=" not in text) or re.match(r"\s*@|[^,=]*\(", text)):
        return learning.learner(text)
    regression = "regression" in learning.chosen()
    made = one_word(text, before, regression)
    earlier(f"--learner {text}", f'--learner "{made}"')
    return learning.learner(made)
