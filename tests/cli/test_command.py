"""What all commands have in common: help, exit codes, hints in errors, notes, and a fast start."""

import errno
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from pairlight import cli
from pairlight.cli.command import Command
from pairlight.core.errors import InputError

COMMANDS = ["train", "evaluate", "calibrate", "score", "rank", "encode", "explain", "tune", "compare", "models"]
COMMANDS += ["search", "reproduce", "demo", "doctor", "data list", "data show"]
COMMANDS += ["index create", "index add", "index update", "index delete", "index tune"]
COMMANDS += ["build qa", "build completion", "build citation", "build lcs"]
HEAVY = {"torch", "gensim", "pandas", "rich", "scipy", "matplotlib", "tokenizers", "bm25s", "optuna"}


def ended(action: Callable[[], None]) -> tuple[int, str]:
    """Run a command with the options --out, --left-id and --set that does this; return its exit code and its errors."""

    def command(
        out: str = "", left_id: str = "", settings: Annotated[list[str] | None, typer.Option("--set")] = None
    ) -> None:
        action()

    app = typer.Typer(pretty_exceptions_enable=False)
    app.command(cls=Command)(command)
    done = CliRunner().invoke(app, [])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stderr


def raising(error: BaseException) -> Callable[[], None]:
    def action() -> None:
        raise error

    return action


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(run, command):
    code, out, _ = run(*command.split(), "--help")
    assert code == 0
    assert f"Usage: pairlight {command} " in out
    assert "--json" in out


@pytest.mark.parametrize("group", ["", "data", "build", "index"])
def test_the_help_of_a_group_names_every_command(run, group):
    code, out, _ = run(*group.split(), "--help")
    assert code == 0
    names = {name.removeprefix(group).split()[0] for name in COMMANDS if name.startswith(group)}
    assert len(names) > 1
    listed = [line.split()[0] for line in out.partition("Commands:")[2].splitlines() if line.strip()]
    assert names <= set(listed)
    assert "..." not in out.partition("Commands:")[2]  # no summary is cut off


def test_bad_input_is_exit_code_2_and_one_line():
    assert ended(raising(InputError("k=0 is too small."))) == (2, "pairlight: k=0 is too small.\n")


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("out", " (option --out)"),
        ("left_id", " (option --left-id)"),
        ("settings", " (option --set)"),
        ("skip_bad_rows", ""),  # the command has no such option
        (None, ""),
    ],
)
def test_an_error_names_the_flag_if_the_command_has_the_option(option, hint):
    assert ended(raising(InputError("Bad.", option=option))) == (2, f"pairlight: Bad.{hint}\n")


def test_an_argument_is_not_named_as_a_flag(fails, model, tmp_path):
    (tmp_path / "p.tsv").write_text("q\tright\tlabel\na\tb\t1\n")
    # The arguments `left` and `right` of explain are texts, and the error is about the column `left`.
    fails(["explain", model, "a", "b", "--nearest", tmp_path / "p.tsv"], "(option --nearest)")


def test_trouble_with_the_machine_is_exit_code_1_and_one_line():
    full = OSError(errno.ENOSPC, "No space left on device", "model.safetensors")
    code, err = ended(raising(full))
    assert code == 1
    assert err.startswith("pairlight: No space left on device (model.safetensors). No file was left incomplete")
    for error in (MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")):
        assert ended(raising(error)) == (1, "pairlight: There is not enough memory: use smaller values of --set.\n")


def test_a_defect_keeps_its_traceback():
    for error in (RuntimeError("shapes differ"), KeyError("k")):
        with pytest.raises(type(error)):
            ended(raising(error))


def test_a_closed_pipe_is_no_error():
    process = subprocess.Popen(
        [sys.executable, "-m", "pairlight", "data", "list", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    err = process.stderr.read().decode()
    process.stderr.close()
    process.wait()
    assert "pairlight:" not in err
    assert "Traceback" not in err


@pytest.mark.filterwarnings("always")
def test_each_warning_is_printed_once_as_a_note():
    def action() -> None:
        for message in ("first", "second", "first"):
            warnings.warn(message, stacklevel=1)

    shown = warnings.showwarning
    assert ended(action) == (0, "Note: first\nNote: second\n")
    assert warnings.showwarning is shown


def test_threads_do_not_spin_for_long_unless_requested(monkeypatch):
    monkeypatch.setattr("pairlight.cli.app_with", lambda names: lambda prog_name: None)
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    cli.main()
    assert os.environ["GOMP_SPINCOUNT"] == "3000"
    monkeypatch.setenv("GOMP_SPINCOUNT", "7")
    cli.main()
    assert os.environ["GOMP_SPINCOUNT"] == "7"


@pytest.mark.parametrize("command", ["evaluate", "score", "rank", "encode", "explain"])
def test_commands_that_score_keep_freed_memory(run, data, model, tmp_path, monkeypatch, command):
    calls = []
    monkeypatch.setattr("pairlight.cli.process.disable_malloc_trim", lambda: calls.append(command))
    arguments = {
        "evaluate": [data],
        "score": [data],
        "rank": ["bama", data],
        "encode": [data, "--out", tmp_path / "e"],
        "explain": ["bama", "delo"],
    }
    assert run(command, model, *arguments[command])[0] == 0
    assert calls == [command]


def test_help_loads_no_heavy_package():
    for code in ("import pairlight.cli", "import sys; sys.argv = ['pairlight', '--help']; import pairlight.__main__"):
        script = f"import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n{code}"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert not set(done.stderr.split()) & HEAVY


def test_the_version_is_printed(run):
    from pairlight import __version__

    assert run("--version")[:2] == (0, f"pairlight {__version__}\n")
