"""Standard streams that are closed, full or ASCII, and control characters in what is printed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pairlight.cli.output import print_json
from pairlight.core.terminal import printable, printable_line

HOSTILE = "bama\x1b[2J\x1b]0;title\x07\x9b31m delo"


def shell(command: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run `pairlight ...` as a shell does."""
    program = f"'{sys.executable}' -m pairlight {command}"
    return subprocess.run(
        ["bash", "-c", program], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
    )


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("data list >&-", "Bad file descriptor"),
        ("data list >/dev/full", "No space left on device"),
        ("--help >&-", "Bad file descriptor"),
        ("--help >/dev/full", "No space left on device"),
    ],
)
def test_output_that_cannot_be_written_is_one_line(command, words):
    done = shell(command)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr == f"pairlight: Standard output cannot be written ({words}): check where it goes.\n"


def test_a_closed_standard_input_is_empty(model):
    done = shell(f"rank '{model}' bama - <&-")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        2,
        "pairlight: standard input contains no text: give at least one line with a text.",
    )


def test_a_terminal_with_few_characters_shows_the_others_as_escapes(model, tmp_path):
    (tmp_path / "texts.txt").write_text("bama 猫\n", encoding="utf-8")
    done = shell(f"rank '{model}' bama '{tmp_path / 'texts.txt'}'", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("bama \\u732b\n")


def test_text_is_printed_without_control_characters():
    assert printable(HOSTILE + "\t\n") == "bama [2J ]0;title  31m delo\t\n"
    assert printable_line("one\ntwo\tthree\r") == "one two three "
    assert printable("0.9 \u202ebad\u2066\u2028") == "0.9  bad  "  # would be shown from right to left, in two lines


def test_json_escapes_every_control_character(capsys):
    print_json({"text": HOSTILE + "\x7f\u202e"})
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"text": HOSTILE + "\x7f\u202e"}
    assert printable(printed) == printed


def test_rank_and_score_print_no_control_characters_to_a_terminal(run, model, tmp_path, monkeypatch):
    rows = [{"left": "bama", "right": HOSTILE, "text": HOSTILE, "id": "\x1b[0m"}]
    table = tmp_path / "texts.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    code, out, _ = run("rank", model, "bama", table)
    assert (code, printable(out)) == (0, out)
    assert "\x1b[2J" in run("score", model, table)[1]  # to a file or a pipe: as it was
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    code, out, _ = run("score", model, table)
    assert (code, printable(out)) == (0, out)


def test_a_file_name_with_control_characters_does_not_reach_the_terminal(run, model):
    code, _, err = run("rank", model, "bama", Path("no\x1b[2J.txt"))
    assert (code, printable(err)) == (2, err)
