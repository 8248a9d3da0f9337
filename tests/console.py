"""The console blocks of a document, run again."""

import contextlib
import os
import re
import shlex
import subprocess
import sys

from typer.testing import CliRunner

from coterie.cli.program import app

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
#: What changes from run to run or from machine to machine: speeds, the sizes of files, the last digits of long numbers.
CHANGES = [
    (re.compile(r"(\d\.\d{6})\d+"), r"\1"),
    (re.compile(r"(?m)(^(?:[a-z]\S*) +[\d.]+ % .* )[\d,]+$"), r"\1N"),
    (re.compile(r"\([\d.]+ [kMG]?B,"), "(SIZE,"),
]


def commands(text):
    """Each command of the document and what it printed there."""
    for block in BLOCK.findall(text):
        for part in re.split(r"(?m)^\$ ", block)[1:]:
            command, _, printed = part.partition("\n")
            yield command, printed


def printed_by(command, folder):
    """What a command prints now, on both streams: in this process, or by a shell where it is more than one of ours."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("COTERIE_")}
    ours = re.fullmatch(r"coterie ([^|>]*?)( 2> /dev/null)?", command)
    if ours:
        with contextlib.chdir(folder):
            hidden = dict.fromkeys(os.environ.keys() - plain.keys())
            result = CliRunner().invoke(app, shlex.split(ours[1]), prog_name="coterie", env=hidden | {"COLUMNS": "100"})
        return result.stdout if ours[2] else result.output
    shell = f'coterie() {{ {sys.executable} -c "from coterie.cli import main; main()" "$@"; }}\n{command}'
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "check": False}
    return subprocess.run(["/bin/bash", "-c", shell], cwd=folder, env=plain | {"COLUMNS": "100"}, **streams).stdout


def steady(text):
    """Text without what changes from run to run, and without how columns were padded for it."""
    for pattern, shown in CHANGES:
        text = pattern.sub(shown, text)
    return [" ".join(line.split()) for line in text.strip().splitlines()]
