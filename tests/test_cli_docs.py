from __future__ import annotations

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


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_section_and_its_help(document, name):
    assert f"\n## {name}\n" in document
    assert f"| [`{name}`](#{name}) |" in document
    assert "For example:" in COMMANDS[name].help


@pytest.mark.parametrize(
    ("name", "parameter", "word"), [pytest.param(*each, id=f"{each[0]} {each[2]}") for each in every_option()]
)
def test_every_option_is_documented(document, name, parameter, word):
    if word not in ("--help", "-h"):
        assert parameter.help
    shared = section(document, "learn") if name in ("compare", "serve") else ""
    said = (
        section(document, name) + shared + (section(document, "The program") if "help" in word or word == "-h" else "")
    )
    assert f"`{word} " in said or f"`{word}`" in said


def test_the_tables_of_options_are_what_the_commands_say(document):
    assert options.map_tables(document) == document, "run tools/refresh_options.py docs/cli.md"
    assert document.count("<!-- options of ") == len(list(options.TABLE.finditer(document))) > 10


def test_options_that_the_document_names_exist(document):
    known = {word for _, _, word in every_option()} | {
        "--version",
        "--install-completion",
        "--show-completion",
        "--help",
    }
    assert set(re.findall(r"`(--[a-z-]+)", document)) <= known


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


@pytest.mark.parametrize("name", ["fit", "compare"])
def test_every_option_of_a_large_command_is_in_a_group(name):
    assert groups_of_help(name)["Options"] == {"--help"}


def test_help_says_of_a_label_what_the_command_takes():
    assert "--regression is given" in " ".join(run("learn", "--help").stdout.split())
    assert "it holds numbers, or classes" in run("fit", "--help").stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_of_help_parse(name):
    lines = re.findall(r"(?m)^ +(?:zcat \S+ \| )?coterie (.*)$", COMMANDS[name].help)
    assert lines
    for line in lines:
        words = shlex.split(line)
        assert words[0] == name
        COMMANDS[name].make_context(name, words[1:])
