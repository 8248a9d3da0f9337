import re
import shlex
from pathlib import Path

import pytest
import typer

import console
import options
from coterie.cli.app import app
from terminal import run

DOCUMENT = Path(__file__).parents[1] / "docs" / "cli.md"
COMMANDS = typer.main.get_command(app).commands


def every_option():
    """Every command with every way to write each of its options."""
    for name, command in COMMANDS.items():
        for parameter in command.params:
            if parameter.param_type_name == "option":
                yield from ((name, parameter, word) for word in [*parameter.opts, *parameter.secondary_opts])


@pytest.fixture(scope="module")
def document():
    return DOCUMENT.read_text()


def section(document, heading):
    return re.search(rf"(?ms)^## {heading}$.*?(?=^## |\Z)", document)[0]


def test_every_command_has_its_section_and_its_help(document):
    for name, command in COMMANDS.items():
        assert f"\n## {name}\n" in document
        assert f"| [`{name}`](#{name}) |" in document
        assert "For example:" in command.help


def test_the_options_that_are_documented_are_those_that_there_are(document):
    learn, program = section(document, "learn"), section(document, "The program")
    missing = []
    for name, parameter, word in every_option():
        said = section(document, name) + (learn if name in ("compare", "serve") else "")
        if word in ("--help", "-h"):
            said += program
        if not (parameter.help or word in ("--help", "-h")) or not re.search(rf"`{re.escape(word)}[ `]", said):
            missing.append(f"{name} {word}")
    assert missing == []
    known = {word for _, _, word in every_option()}
    known |= {"--version", "--install-completion", "--show-completion", "--help"}
    assert set(re.findall(r"`(--[a-z-]+)", document)) <= known


def test_the_tables_of_options_are_what_the_commands_say(document):
    assert options.map_tables(document) == document, "run tools/refresh_options.py docs/cli.md"
    assert document.count("<!-- options of ") == len(list(options.TABLE.finditer(document))) > 10


def test_the_document_shows_what_commands_print(document, tmp_path):
    for command, printed in console.commands(document):
        assert console.steady(console.printed_by(command, tmp_path)) == console.steady(printed), command


def groups_of_help(name):
    """The options that help shows, by the heading they stand under."""
    lines = run(name, "--help").stdout.splitlines()
    found, heading = {}, None
    for line in lines:
        if re.match(r"[A-Z].*:$", line):
            heading = found.setdefault(line.removesuffix(":"), set())
        elif option := re.match(r"  (?:-\w, )?(--[\w-]+)", line):
            heading.add(option[1])
    return found


def test_help_has_the_groups_of_the_document(document):
    found = groups_of_help("learn")
    parts = re.split(r"(?m)^(?:\*\*|### )(.*?)(?:\*\*.*)?$", section(document, "learn"))
    documented = {
        heading: set(re.findall(r"(?m)^\| `(--[\w-]+)", text))
        for heading, text in zip(parts[1::2], parts[2::2], strict=True)
    }
    assert found.pop("Options") == {"--help"}
    assert {heading: options for heading, options in found.items() if options} == documented


def test_every_option_of_a_large_command_is_in_a_group_and_a_label_is_what_the_command_takes():
    for name in ("fit", "compare"):
        assert groups_of_help(name)["Options"] == {"--help"}
    assert "--regression is given" in " ".join(run("learn", "--help").stdout.split())
    assert "it holds numbers, or classes" in run("fit", "--help").stdout


def test_examples_of_help_parse():
    for name, command in COMMANDS.items():
        lines = re.findall(r"(?m)^ +(?:zcat \S+ \| )?coterie (.*)$", command.help)
        assert lines
        for line in lines:
            words = shlex.split(line)
            assert words[0] == name
            command.make_context(name, words[1:])
