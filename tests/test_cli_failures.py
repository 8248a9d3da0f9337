import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

import coterie
from coterie import persistence
from slow import slow
from terminal import PROGRAM, QUICK, WHO, heed, refused, rows, run, start, start_program, write_csv

GOOD = "user,price,click\nann,1,yes\nbob,2,no\nann,0,no\n"


@pytest.fixture
def folder(working_folder):
    Path("good.csv").write_text(GOOD)
    Path("three.csv").write_text(GOOD + "cid,3,maybe\n")
    Path("one.csv").write_text("user,price,click\nann,1,yes\nbob,2,yes\n")
    Path("ragged.csv").write_text(GOOD + "bob,2\n")
    Path("blank.csv").write_text(GOOD + ",1,yes\n")
    Path("bad.csv").write_text("user,price,click\n,1,yes\n")
    Path("groups.csv").write_text("ann,a\n")
    Path("edges.csv").write_text("ann,cid\n")
    Path("loop.csv").write_text("ann,ann\n")
    Path("cycle.csv").write_text("ann,bob\nbob,ann\n")
    Path("indefinite.csv").write_text("ann,bob\n1,2\n2,1\n")
    Path("twice.csv").write_text("ann,a\nann,b\n")
    Path("text.coterie").write_text("hello")
    Path("bare.vw").write_text("|user ann |x a:1\n")
    return working_folder


LEARNER = "learn good.csv --learner MultitaskPerceptron"
BAD_INPUT = [
    ("learn three.csv", "three.csv:5: column 'click': 'maybe' is a third label, after 'yes' and 'no'"),
    ("learn one.csv", "one.csv: column 'click': all 2 records have the label 'yes'; expected two labels"),
    ("learn ragged.csv", "ragged.csv:5: the line has 2 fields, the header 3"),
    ("learn blank.csv", "blank.csv:5: column 'user': the task is missing; --on-error skip leaves such records out"),
    ("learn bad.csv --on-error skip", "no record could be used, 1 were skipped; the first: bad.csv:2: column 'user'"),
    ("learn nothere.csv", "nothere.csv: does not exist"),
    ("learn good.csv --learner MultitaskLogistic(Clusters.read('groups.csv'))", "good.csv:3: column 'user': task"),
    ("learn good.csv --learner MultitaskLogistic(Clusters.read('twice.csv'))", "twice.csv:2: task 'ann' has the group"),
    ("learn good.csv --learner MultitaskPerceptron(TaskGraph.read('edges.csv'))", "good.csv:3: column 'user': task 'b"),
    ("learn good.csv --learner MultitaskPerceptron(TaskGraph.read('loop.csv'))", "edges[0] joins 'ann' to itself"),
    ("learn good.csv --learner MultitaskLogistic(Hierarchy.read('cycle.csv'))", "parents has a cycle through"),
    ("learn good.csv --learner MultitaskPerceptron(Interaction.read('indefinite.csv'))", "must be positive definite"),
    ("learn good.csv --learner MultitaskLogistc()", "--learner: unknown name 'MultitaskLogistc'; did you mean"),
    (f"{LEARNER}(MeanRegularized(share=2))", "share must lie between 0 (independent) and 1 (pooled), got 2"),
    (f"{LEARNER}(HalfUpdate(0.1))", "takes 1 positional argument"),
    (f"{LEARNER}(HalfUpdate()", "--learner: not a Python expression: '(' was never closed"),
    (f"{LEARNER}(average=True,half_life=9)", "cannot average Forgetting"),
    ("learn good.csv --regression --many-classes", "--regression and --many-classes cannot be combined"),
    ("learn good.csv --bits 99", "--bits is 99; expected a whole number from 1 to 30"),
    ("learn good.csv --text titel", "there is no column 'titel'"),
    ("learn good.csv --ignore user,price", "no column 'user,price'; name them separately: 'user' and 'price'"),
    ("learn good.csv --new-task maybe", "'maybe' is not one of 'grow', 'raise'."),
    ("learn good.csv --delay -1", "--delay"),
    ("learn good.csv --delay 5000", "so that none arrives"),
    ("learn good.csv --skip -1", "--skip"),
    ("learn good.csv --skip 3", "good.csv: all of its 3 records were skipped at the start"),
    *(
        (f"learn good.csv --save-every {text}", f"--save-every is '{text}'; expected a number of records, or of secon")
        for text in ("0", "0m", "5d", "x", "-5", "1.5h")
    ),
    ("learn good.csv --alone --report r.html", "--report compares learners"),
    ("learn good.csv --output nowhere/m.coterie", "--output: there is no folder 'nowhere'"),
    ("learn good.csv --report r.pdf", "--report is 'r.pdf'; expected a name that ends in .html or .htm"),
    ("learn good.csv --from text.coterie", "text.coterie is not a complete coterie model"),
    ("learn goood.csv --task user --label click", "goood.csv: does not exist; did you mean 'good.csv'?"),
    ("learn good.csv --tsk user", "--task)"),
    ("learn -", "standard input has no extension; give --format, one of 'csv'"),
]


@pytest.mark.parametrize(("command", "message"), BAD_INPUT)
def test_bad_input_ends_in_one_line_and_nothing_is_saved(folder, command, message):
    before = set(folder.iterdir())
    saving = () if "--output" in command or "--from" in command else ("--output", "m.coterie")
    assert message in refused(*command.split(), *WHO, *saving)
    assert set(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("learn good.csv --label click", "--task is missing; name the task column"),
        ("learn good.csv --task user", "--label is missing; name the column to predict"),
        ("learn good.csv --task usr --label click", "no column 'usr' among 'user', 'price', 'click'; did you mean"),
        ("learn bare.vw --task user", "none of its 1 records has a label"),
        ("learn --task user", "Missing argument 'FILE'. (see coterie learn --help)"),
        ("learn good.csv --lable x", "No such option: --lable"),
        ("learn good.csv --save-every 5m", "--save-every requires --output, the path of the model"),
        ("lern", "Did you mean 'learn'? (see coterie --help)"),
        ("--verbose", "No such option: --verbose"),
        ("predict m.coterie", "Missing argument 'FILE'."),
        ("predict nothere.coterie good.csv", "there is no file nothere.coterie"),
        ("explain text.coterie", "text.coterie is not a complete coterie model"),
        ("demo --report r", "--report is 'r'; expected a name that ends in .html or .htm"),
        ("demo --task tailnumber", "'tailnumber' is not one of 'dest', 'tailnum'"),
    ],
)
def test_wrong_usage_ends_in_one_line(folder, command, message):
    assert message in refused(*command.split())


@pytest.fixture
def model(folder):
    run("learn", write_csv(folder / "clicks.csv", rows()), *WHO, "-q", "--output", "m.coterie")
    return "m.coterie"


READS = "is not supported with --from: the model reads as it first did"
GOING_ON = [
    ("clicks.csv --learner MultitaskAROW()", "--learner is not supported with --from: the model continues as it is"),
    ("clicks.csv --text title", f"--text {READS}"),
    ("clicks.csv --report r.html", "--report compares learners"),
    ("clicks.csv --label nothere", "--label is not supported with --from: the model has its label in 'click'"),
    ("clicks.csv --weight price", "the column 'price' is a feature, and cannot be the weight as well"),
    ("bare.csv", "there is no column 'click'"),
    ("third.csv", "third.csv:2: column 'click': 'maybe' is a third label, after 'no' and 'yes'\n"),
]


@pytest.mark.parametrize(("options", "message"), GOING_ON)
def test_what_would_change_a_model_that_goes_on_is_refused(model, options, message):
    Path("bare.csv").write_text("user,price,age\nu1,1,2\n")
    Path("third.csv").write_text("user,price,age,click\nu1,1,2,maybe\n")
    assert message in refused("learn", "--from", model, *options.split()) + "\n"


def test_without_a_command_help_is_shown_and_the_version_is_printed():
    assert run().stdout.strip().startswith("Usage: coterie")
    assert run("--version").stdout == f"coterie {coterie.__version__}\n"


def test_what_is_nobodys_fault_ends_with_1(folder, monkeypatch):
    monkeypatch.setattr("coterie.AdaptiveSharingClassifier.save", lambda self, path: 1 / 0)
    command = ("learn", "good.csv", *WHO, "--output", "m.coterie")
    assert refused(*command, code=1) == "ZeroDivisionError: division by zero (set COTERIE_DEBUG=1 to see where)"
    monkeypatch.setenv("COTERIE_DEBUG", "1")
    assert isinstance(run(*command, code=1).exception, ZeroDivisionError)


def test_a_file_that_grows_too_large_leaves_no_part_of_it(model, folder):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    command = ("predict", model, "clicks.csv", "--output", "out.csv")
    run(*command)  # compiles, and has room for what is compiled
    Path("out.csv").unlink()
    before = set(folder.iterdir())
    process = start(*command, stderr=subprocess.PIPE, text=True, preexec_fn=limit)
    assert (process.communicate(timeout=300)[1], process.returncode) == ("coterie: error: out.csv: File too large\n", 1)
    assert set(folder.iterdir()) == before


def test_a_full_device_is_told_in_one_line(model):
    with Path("/dev/full").open("w") as full:
        process = start("predict", model, "clicks.csv", stdout=full, stderr=subprocess.PIPE, text=True)
        message = "coterie: error: standard output: No space left on device\n"
        assert (process.communicate(timeout=300)[1], process.returncode) == (message, 1)
    assert refused("predict", model, "clicks.csv", "--output", "/dev/full", code=1).startswith("/dev/full: ")


def test_a_closed_pipe_ends_quietly(model):
    reader, writer = os.pipe()
    os.close(reader)
    process = start("predict", model, "clicks.csv", stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (process.communicate(timeout=300)[1], process.returncode) == (b"", 141)


@pytest.mark.parametrize("where", [slow("a full device"), "a pipe that nobody reads"])
def test_progress_that_cannot_be_written_ends_no_run(folder, where):
    if where == "a full device":
        writer = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, writer = os.pipe()
        os.close(reader)
    command = ("learn", "good.csv", *WHO, "--alone", "--output", "m.coterie")
    process = start(*command, stdout=subprocess.DEVNULL, stderr=writer)
    os.close(writer)
    assert process.wait(timeout=300) == 0
    assert persistence.load("m.coterie").state_.rounds == 3


@pytest.mark.parametrize("descriptor", [slow(0), 1, slow(2)])
def test_streams_that_are_closed_are_as_the_null_device(folder, descriptor):
    command = ("learn", "good.csv", *WHO, *QUICK, "--output", "mö.coterie")
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    streams.pop(("stdin", "stdout", "stderr")[descriptor])
    process = start_program(*command, **streams, encoding="utf-8", preexec_fn=lambda: os.close(descriptor))
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0
    assert (out is None) if descriptor == 1 else ("Model: mö.coterie" in out)
    assert (err is None) if descriptor == 2 else ("error" not in err)
    assert persistence.load("mö.coterie").state_.rounds == 3


def test_an_interrupt_ends_with_130(folder):
    os.mkfifo("pipe.csv")
    process = start("learn", "pipe.csv", *WHO, stderr=subprocess.PIPE, preexec_fn=heed)
    with Path("pipe.csv").open("wb"):  # opens when the command does
        process.send_signal(signal.SIGINT)
        message = b"coterie: stopped before a record was learned: nothing was saved\n"
        assert (process.communicate(timeout=300)[1], process.returncode) == (message, 130)


def test_help_needs_no_heavy_import():
    heavy = {"sklearn", "pyarrow", "pandas", "plotly", "matplotlib", "scipy.sparse.linalg"}
    code = f"{PROGRAM[2].partition(';')[0]}; import sys\ntry: main()\nfinally: print({heavy} & set(sys.modules))"
    output = subprocess.check_output([PROGRAM[0], "-c", code, "learn", "--help"], text=True)
    assert "Usage: coterie learn" in output
    assert output.splitlines()[-1] == "set()"
