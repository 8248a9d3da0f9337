"""``--help`` in groups, as the documentation has them, where a command has many options."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

#: What the options of ``learn``, ``compare`` and ``fit`` are about, in the order in which they are shown.
GROUPS = {
    "What to read": "task label features ignore text scale bits format on_error delay",
    "How tasks share": "relation share b groups parents graph matrix members eta ridge epoch",
    "Several views instead of tasks": "view multiview p",
    "How it learns": "regression many_classes method learner rule step r C alpha choose_on epsilon half_life average "
    "storage storage_bits dtype kernel sigma degree budget budget_size alone from_ new_task",
    "Asking for labels": "query ask ask_c label_budget label_window label_per_task ask_seed",
    "What comes out": "model report plot json quiet",
}
_GROUP_OF = {name: group for group, names in GROUPS.items() for name in names.split()}
_FILES, _OTHERS = "Arguments", "Options"


class Grouped(TyperCommand):
    """A command that shows its options in groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options of each group."""
        shown: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                others = _FILES if parameter.param_type_name == "argument" else _OTHERS
                shown.setdefault(_GROUP_OF.get(parameter.name or "", others), []).append(record)
        for group in (_FILES, *GROUPS, _OTHERS):
            if group in shown:
                with formatter.section(group):
                    formatter.write_dl(shown[group])
