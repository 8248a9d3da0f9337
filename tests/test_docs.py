"""The documentation names everything there is, nothing that is not there, and its links lead somewhere."""

import importlib
import inspect
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import typer
import yaml
from bench import harness
from bench.__main__ import SCRIPTS

import console
import coterie
import options
import public
from coterie.cli.program import app

ROOT = Path(__file__).parents[1]
SITE = ROOT / "build" / "site"
DOCS = ROOT / "docs"
APPENDIX = DOCS / "appendix"
BENCH = ROOT / "bench"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OF_THE_ROOT = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
FOLDERS = (DOCS, APPENDIX, ROOT / "papers", ROOT / "papers" / "data")
PAGES = [*OF_THE_ROOT, *(path for place in FOLDERS for path in sorted(place.glob("*.md")))]
TEXT = {path: path.read_text(encoding="utf-8") for path in PAGES}
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|<(?:img|source)[^>]*\bsrc(?:set)?=\"([^\"]+)\"")
SUFFIXES = {".py", ".md", ".toml", ".yaml", ".yml", ".html", ".js", ".css", ".cfg", ".txt", ".json", ""}


def walk(command, words):
    yield " ".join(words), {option for parameter in command.params for option in options_of(parameter)}
    for name, below in getattr(command, "commands", {}).items():
        yield from walk(below, (*words, name))


def options_of(parameter):
    return (option for option in (*parameter.opts, *parameter.secondary_opts) if option.startswith("-"))


#: Each command of the command line by its words, with its options.
COMMANDS = dict(walk(typer.main.get_command(app), ("coterie",)))
COMMON = {"--help", "-h", "--version", "--install-completion", "--show-completion"}


def shown_commands():
    """Each `coterie ...` line of a fenced block."""
    for text in TEXT.values():
        for language, block in FENCED.findall(text):
            if language in ("bash", "console", "sh", "shell"):
                yield from re.findall(r"^(?:\$ )?(?:.*\| *)?(coterie .*)$", block.replace("\\\n", " "), re.MULTILINE)


def anchors(text):
    """The anchors that headings make, as GitHub spells them."""
    headings = re.findall(r"^#+ +(.+?)\s*$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def repository_files():
    """What git would commit; where there is no git, as in a source distribution, all text files but caches."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0:
        return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]
    hidden = re.compile(r"/(\.\w[^/]*|__pycache__|build|dist)/")
    return [path for path in ROOT.rglob("*") if path.is_file() and not hidden.search(f"/{path.relative_to(ROOT)}")]


MODULES = {name: getattr(coterie, name) for name in coterie.__all__ if inspect.ismodule(getattr(coterie, name))}
NAMES = public.NAMES | MODULES


def test_every_public_name_is_documented_and_has_an_example():
    docs = "\n".join(text for path, text in TEXT.items() if path not in OF_THE_ROOT)
    assert [name for name in NAMES if not re.search(rf"`(\w+\.)*{name}\b", docs)] == []
    records = ("Trace", "Comparison", "RidgePath", "Choice", "PolicyValue")  # whose functions have the example
    classes = {name: cls for name, cls in NAMES.items() if not isinstance(cls, ModuleType) and name not in records}
    assert [name for name, value in classes.items() if ">>>" not in value.__doc__] == []


def test_docstrings_state_the_defaults_of_parameters():
    """As scikit-learn has it: ``name : type, default=value``, unless the default is None."""
    for name, value in public.NAMES.items():
        parameters = inspect.signature(value).parameters
        sections = re.split(r"\n\n(?=\w[\w ]*\n-+\n)", inspect.cleandoc(value.__doc__))
        listed = next((section for section in sections if section.startswith("Parameters\n")), "")
        for argument, stated in re.findall(r"^(\w+) : .*?(?:, default=(.*))?$", listed, re.MULTILINE):
            default = parameters[argument].default if argument in parameters else None
            if default not in (None, inspect.Parameter.empty):
                assert stated == repr(default).replace("'", '"'), f"{name}: {argument}"


def test_every_command_shown_exists():
    for line in shown_commands():
        words = shlex.split(re.split(r" [|>] ", line)[0], comments=True)
        command = " ".join(words[:2]) if " ".join(words[:2]) in COMMANDS else "coterie"
        assert command != "coterie" or words[1].startswith("-"), line
        known = COMMANDS[command] | COMMON
        unknown = [word for word in words if re.match(r"--?[a-zA-Z]", word) and word.partition("=")[0] not in known]
        assert unknown == [], line


def dead(path):
    """The links of a page that lead nowhere."""
    for target in (first or second for first, second in LINK.findall(FENCED.sub("", TEXT[path]))):
        place, _, anchor = target.partition("#")
        aim = (path.parent / place).resolve() if place else path
        there = aim.exists() and (not anchor or anchor in anchors(aim.read_text(encoding="utf-8")))
        if not re.match(r"[a-z]+:", target) and not there:
            yield f"{path.name}: {target}"


def test_links_lead_somewhere_and_every_page_is_in_the_index():
    assert [link for path in PAGES for link in dead(path)] == []
    for folder in (DOCS, APPENDIX):
        pages = {path.name for path in folder.glob("*.md")} - {"index.md"}
        assert [name for name in pages if f"({name})" not in TEXT[folder / "index.md"]] == []


def test_every_test_that_a_page_names_is_there():
    """`test_name`, or the file before it."""
    files = {path.name: path.read_text(encoding="utf-8") for path in ROOT.glob("**/tests/test_*.py")}
    definition = re.compile(r"^(?:async )?def (test_\w+)\(", re.MULTILINE)
    defined = {name: set(definition.findall(text)) for name, text in files.items()}
    defined[""] = set().union(*defined.values())
    texts = [*TEXT.values(), (ROOT / "SECURITY.md").read_text(encoding="utf-8")]
    named = {name for text in texts for name in re.findall(r"`(?:(?:papers/)?tests/(\w+\.py)::)?(test_\w+)`", text)}
    assert len(named) > 100
    assert [(file, name) for file, name in named if name not in defined[file]] == []


def test_nothing_names_a_path_of_one_machine():
    machine = re.compile(r"/(?:root|work|home/\w+|Users/\w+|tmp)/(?=\w)")
    for path in repository_files():
        if path.suffix not in SUFFIXES or path == Path(__file__):
            continue
        match = machine.search(path.read_text(encoding="utf-8"))
        assert not match, f"{path.relative_to(ROOT)}: {match}"


RULE_USED = """
from coterie import MultitaskPerceptron, progressive_validation
model = MultitaskPerceptron(rule=LargeMargin(wanted=2.0))
trace = progressive_validation(model, [[1.0]] * 4, [1, 1, 1, 0], task=['a'] * 4)
assert trace.updated.tolist() == [True, True, False, True], trace
"""


@pytest.mark.slow
@pytest.mark.parametrize(("page", "after"), [(ROOT / "CONTRIBUTING.md", RULE_USED), (APPENDIX / "extending.md", "")])
def test_the_code_of_pages_on_extending_works(page, after, tmp_path):
    """It registers bodies for compiled functions: in a process and with a cache of its own."""
    blocks = [block for language, block in FENCED.findall(TEXT[page]) if language == "py"]
    script = tmp_path / "guide.py"
    script.write_text("\n\n".join([*blocks, after]), encoding="utf-8")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    subprocess.run([sys.executable, script], check=True, env=environment, cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not SITE.exists(), reason="the site is not built; tools/check --slow does it")
def test_the_site_is_whole_and_needs_no_network():
    texts = {path.relative_to(SITE).as_posix(): path.read_text(encoding="utf-8") for path in SITE.rglob("*.*ml")}
    texts |= {path.name: path.read_text(encoding="utf-8") for path in SITE.rglob("*.css")}
    foreign = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*https?://[^>]*>|@import|url\([\"']?https?:")
    assert [name for name, text in texts.items() if foreign.search(text)] == []
    assert 'href="report-of-the-demo.html"' in texts["verdict.html"]
    assert "coterie demo --quiet --report report-of-the-demo.html" in texts["report-of-the-demo.html"]
    listed = "".join(text for name, text in texts.items() if name.startswith("api/"))
    kinds = {name: "module-" if inspect.ismodule(getattr(coterie, name)) else "" for name in coterie.__all__}
    assert [name for name, kind in kinds.items() if f'id="{kind}coterie.{name}"' not in listed] == []
    examples = [path.stem for path in (ROOT / "examples").glob("*.py")]
    assert [name for name in examples if "sphx-glr-script-out" not in texts[f"gallery/{name}.html"]] == []


CLI = TEXT[DOCS / "cli.md"]
PROGRAMS = typer.main.get_command(app).commands


def test_the_tables_of_options_are_what_the_commands_say():
    assert options.map_tables(CLI) == CLI, "run tools/refresh_options.py docs/cli.md"
    assert CLI.count("<!-- options of ") == len(list(options.TABLE.finditer(CLI))) > 10


@pytest.mark.slow
def test_the_document_shows_what_commands_print(tmp_path):
    for command, printed in console.commands(CLI):
        assert console.steady(console.printed_by(command, tmp_path)) == console.steady(printed), command


def test_examples_of_help_parse():
    for name, command in PROGRAMS.items():
        lines = re.findall(r"(?m)^ +(?:zcat \S+ \| )?coterie (.*)$", command.help)
        assert lines
        for line in lines:
            words = shlex.split(line)
            assert words[0] == name
            command.make_context(name, words[1:])


# -- what says the same thing in several files: the version, the Pythons, and the commands that check them ----------------


def test_the_version_is_the_same_everywhere() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert coterie.__version__ == PROJECT["version"] == cited["version"]
    assert cited["license"] == PROJECT["license"]
    assert [author["name"] for author in cited["authors"]] == [author["name"] for author in PROJECT["authors"]]


def test_the_workflow_runs_the_gate_on_each_python() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "check.yml").read_text())["jobs"]
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert jobs["check"]["strategy"]["matrix"]["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert [step["run"] for step in jobs["check"]["steps"] if "run" in step] == [".ci/run"]
    assert (ROOT / ".ci" / "run").exists()


# -- the scripts in bench/ belong to this version; what they measure is not looked at here ---------------------------------


@pytest.mark.parametrize("name", sorted(path.stem for path in BENCH.glob("[a-z]*.py")))
def test_every_script_is_explained_and_finds_what_it_imports(name):
    module = importlib.import_module(f"bench.{name}")
    assert module.__doc__
    if name in SCRIPTS:
        assert f"| `{name}` |" in (BENCH / "README.md").read_text()
        assert callable(module.rows)


@pytest.mark.parametrize(("folder", "message"), [(None, "set COTERIE_DATA"), ("nowhere", "school.npz: no such file")])
def test_data_that_are_not_there_are_named(monkeypatch, folder, message):
    monkeypatch.delenv("COTERIE_DATA", raising=False)
    if folder is not None:
        monkeypatch.setenv("COTERIE_DATA", folder)
    with pytest.raises(SystemExit, match=message):
        harness.prepared("school")
