"""The tables of options in a document, made of what the commands say of their options."""

import re

import typer

from coterie.cli.program import app

COMMANDS = typer.main.get_command(app).commands
#: A table stands below a comment that says which options it has: all of a command, those under one heading, or those
#: that another command has not, or not with the same meaning.
TABLE = re.compile(
    r"^<!-- options of (?P<name>\w+)(?:: (?P<heading>[^|\n]+?)| beside (?P<other>\w+))? -->\n(?:\|.*\n)*", re.M
)


def map_tables(text):
    """The document with all its tables of options made anew."""
    return TABLE.sub(lambda match: table(match[0].partition("\n")[0], **match.groupdict()), text)


def heading_of(parameter):
    """The heading under which help shows an option or argument."""
    argument = parameter.param_type_name == "argument"
    return "Arguments" if argument else getattr(parameter, "rich_help_panel", None) or "Options"


def table(mark, name, heading, other):
    """The table below a comment."""
    rows = [row(parameter) for parameter in chosen(name, heading, other)]
    return "\n".join([mark, "| option | |", "|---|---|", *rows]) + "\n"


def chosen(name, heading, other):
    """The options of a table."""
    known = [] if other is None else [row(parameter) for parameter in COMMANDS[other].params]
    headings = {heading, *(["Arguments"] if heading == "Input" else [])}
    for parameter in COMMANDS[name].params:
        hidden = getattr(parameter, "hidden", False)
        if not hidden and (heading is None or heading_of(parameter) in headings) and row(parameter) not in known:
            yield parameter


def row(parameter):
    """The row of one option: how it is written, its help, and its default."""
    text, shown = re.fullmatch(r"(.*?)(?:  \[default: (.*)\])?", parameter.help, re.DOTALL).groups()
    if shown is None and parameter.default not in (None, False):
        shown = parameter.default
    words = [*parameter.opts, *parameter.secondary_opts]
    if parameter.param_type_name == "argument":
        words = [parameter.metavar + ("..." if parameter.nargs == -1 else "")]
    elif parameter.metavar:
        words = [f"{word} {parameter.metavar}" for word in words]
    written = ", ".join(f"`{word}`" for word in words).replace("|", "\\|")
    return f"| {written} | {text}{'' if shown is None else f' Default: {shown}.'} |"
