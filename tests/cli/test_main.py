"""The boundary between exceptions and exit codes, as a shell sees it."""

from __future__ import annotations

import errno
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
import typer.main

from ptttool import __version__, errors
from ptttool.cli import app as application
from ptttool.cli.help.about import Stage
from ptttool.cli.help.page import stages
from ptttool.cli.main import load_commands, main
from ptttool.wording import clean


@pytest.fixture
def failing() -> Iterator[dict[str, BaseException]]:
    """A command ``fail`` that raises what the test puts into the dictionary; gone afterwards."""
    raised: dict[str, BaseException] = {}

    @application.app.command("fail", hidden=True)
    def fail(json: bool = typer.Option(False, "--json", help="json")) -> None:
        raise raised["now"]

    yield raised
    application.app.registered_commands[:] = [c for c in application.app.registered_commands if c.name != "fail"]


ERRORS = [
    (errors.UsageError("m"), 2),
    (errors.DeviceError("m"), 3),
    (errors.AccessError("m"), 4),
    (errors.PerfError("m"), 5),
    (errors.EmptyTraceError("m"), 5),
    (errors.InputError("f", "m", offset=16), 6),
    (errors.OutputError("m"), 6),
    (errors.HardwareError("m"), 7),
    (errors.MissingPackageError("m"), 8),
    (KeyboardInterrupt(), 130),
    (OSError(errno.ENOSPC, "No space left on device", "out"), 6),
    (OSError(errno.ENOMEM, "Cannot allocate memory"), 9),
    (PermissionError(errno.EACCES, "Permission denied", "folder/in"), 4),
    (MemoryError(), 9),
    (ImportError("no such symbol", name="numpy.core"), 8),
    (ZeroDivisionError("division by zero"), 70),
    (RecursionError("too deep"), 70),
]


@pytest.mark.parametrize(("error", "code"), ERRORS, ids=lambda value: type(value).__name__)
def test_exit_codes(failing: dict[str, BaseException], capsys: pytest.CaptureFixture[str], error: BaseException, code: int) -> None:
    failing["now"] = error
    assert main(["fail"]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert "Traceback" not in said.err
    if code != 130:
        assert said.err.startswith("ptttool: error: ")
        assert said.err.count("\n") <= 2


def test_json_error(failing: dict[str, BaseException], capsys: pytest.CaptureFixture[str]) -> None:
    failing["now"] = errors.InputError("a.data", "it is short", offset=104, hint="record again", code="truncated")
    assert main(["fail", "--json"]) == 6
    assert json.loads(capsys.readouterr().out) == {
        "error": {
            "code": "truncated",
            "exit_code": 6,
            "message": "a.data: offset 0x68: it is short",
            "hint": "record again",
            "path": "a.data",
            "offset": 104,
            "reason": "it is short",
        }
    }


def test_control_characters_do_not_reach_the_terminal(failing: dict[str, BaseException], capsys: pytest.CaptureFixture[str]) -> None:
    failing["now"] = errors.UsageError("evil \x1b]0;title\x07\r\n\x9b31m\u202etxt")
    assert main(["fail"]) == 2
    assert capsys.readouterr().err == "ptttool: error: evil \\x1b]0;title\\x07\\x0d\\x0a\\x9b31m\\u202etxt\n"
    assert clean("plain – text ü") == "plain – text ü"


@pytest.mark.parametrize(("is_compiled", "more"), [(True, ""), (False, " (not compiled: slower)")])
def test_version(is_compiled: bool, more: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("ptttool.cli.main.is_compiled", lambda: is_compiled)
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"ptttool {__version__}{more}\n"


def test_wrong_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no-such-command"]) == 2
    capsys.readouterr()
    assert main([]) == 2
    assert "Usage: ptttool" in capsys.readouterr().err


def test_closed_pipe_is_quiet() -> None:
    """The reader of standard output is gone before anything is written."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-m", "ptttool", "--help"], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", ["list", "filters", "tune show", "list --tree", "list --json", "explain 0x7080001"])
def test_a_reader_that_goes_away_is_no_failure(command: str) -> None:
    line = f"{shlex.quote(sys.executable)} -m ptttool {command} --demo | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.mark.parametrize(
    ("command", "code", "written"),
    [
        ("collect --demo -o out", 0, "out"),
        ("collect --demo -o out --json", 0, "out"),
        ("trace --demo --rootport nvme0 -o out", 0, "out"),
        ("collect --demo -o prof.toml", 6, "prof.toml"),
        ("tune export --demo prof.toml --install --root root --yes", 0, "root/etc"),
        ("wireshark install --folder out", 0, "out/ptttool.lua"),
    ],
)
def test_work_outlives_the_reader_of_its_report(tmp_path: Path, command: str, code: int, written: str) -> None:
    """The reader of standard output is gone before anything is written; each print is a write of its own."""
    subprocess.run([sys.executable, "-m", "ptttool", "tune", "save", "--demo", "prof.toml"], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "root").mkdir()
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-u", "-m", "ptttool", *command.split()], cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, text=True
    )
    os.close(writer)
    assert done.returncode == code, done.stderr
    assert "BrokenPipe" not in done.stderr
    assert (tmp_path / written).exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion(shell: str) -> None:
    environment = os.environ | {"_PTTTOOL_COMPLETE": f"source_{shell}"}
    done = subprocess.run([sys.executable, "-m", "ptttool"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0
    assert "_PTTTOOL_COMPLETE" in done.stdout


def test_commands_are_listed_in_one_order() -> None:
    """Whatever the hashes of this run are."""
    environment = os.environ | {"PYTHONHASHSEED": "4"}
    done = subprocess.run([sys.executable, "-m", "ptttool", "--help"], capture_output=True, text=True, env=environment, check=True)
    listed = done.stdout.partition(f"{Stage.FIND}:")[2].partition("Examples:")[0]
    names = [line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2] != " "]
    load_commands()
    assert names == [name for items in stages(application.app.tree).values() for name, _ in items]


@pytest.mark.parametrize(("number", "code"), [(errno.ENOSPC, "disk-full"), (errno.EFBIG, "file-too-large"), (errno.EROFS, "read-only")])
def test_an_output_without_room_has_one_code(
    failing: dict[str, BaseException], capsys: pytest.CaptureFixture[str], number: int, code: str
) -> None:
    failing["now"] = OSError(number, os.strerror(number))
    assert main(["fail", "--json"]) == 6
    assert json.loads(capsys.readouterr().out)["error"]["code"] == code


@pytest.mark.parametrize("is_there", [True, False])
def test_only_a_file_that_is_new_can_go_elsewhere(
    failing: dict[str, BaseException], capsys: pytest.CaptureFixture[str], tmp_path: Path, is_there: bool
) -> None:
    path = tmp_path / "out.csv"
    if is_there:
        path.touch()
    failing["now"] = PermissionError(errno.EACCES, "Permission denied", str(path))
    assert main(["fail", "--json"]) == 4
    hint = json.loads(capsys.readouterr().out)["error"]["hint"]
    assert ("folder" in hint, "root" in hint) == (not is_there, True)


KEPT = [
    (["decode", "a.data", "-o", "new.csv"], "interrupted, nothing is written"),
    (["-q", "decode", "a.data", "--output=old.csv"], "interrupted: old.csv is as it was before"),
    (["decode", "a.data", "-o", "folder"], "interrupted"),
    (["trace", "-o", "old.csv"], "interrupted"),
    (["info", "a.data"], "interrupted"),
]


@pytest.mark.parametrize(("arguments", "words"), KEPT)
def test_a_word_after_ctrl_c(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    Path("old.csv").write_text("kept")
    Path("folder").mkdir()
    monkeypatch.setattr("ptttool.cli.main._run", stopped)
    assert main(arguments) == 130
    assert capsys.readouterr().err == f"ptttool: {words}\n"
