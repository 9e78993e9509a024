"""``ptttool generate``: what is written where, and what is left when it ends early."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ptttool.cli.main import main
from ptttool.generate.profiles import PROFILES

PTTTOOL = (sys.executable, "-m", "ptttool")
PAGE = Path(__file__).parents[2] / "docs" / "generating.md"


@pytest.mark.parametrize(("direction", "signs"), [("all", ["not-as-asked"]), ("inbound", []), ("outbound", [])])
def test_a_recording_that_info_and_decode_read(
    direction: str, signs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No single 8DW trace can hold both directions, so its event is that of one."""
    path = tmp_path / "made.data"
    options = ["--size", "256K", "--format", "8dw", "--profile", "mixed", "--direction", direction]
    assert main(["generate", "-o", str(path), *options]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"ptttool: 8,192 TLPs written to {path}\n"
    assert main(["info", str(path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["records"] == 8192
    assert document["host"]["hostname"] == "generated"
    assert [sign["code"] for sign in document["signs_of_loss"]] == signs
    assert document["problems"] == []
    assert main(["decode", str(path), "--limit", "3", "--columns", "index"]) == 0
    assert capsys.readouterr().out.split() == ["index", "0", "1", "2"]


def test_json_says_what_was_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "made.data"
    assert main(["generate", "-o", str(path), "--size", "9M", "--streams", "2", "--seed", "5", "--profile", "gpu", "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    document = json.loads(captured.out)
    assert document["streams"] == [{"cpu": 0, "records": (4 << 20) // 16}, {"cpu": 1, "records": (5 << 20) // 16}]
    assert document["records"] * 16 == document["size"] == 9 << 20
    assert (document["profile"], document["seed"], document["format"]) == ("gpu", 5, "4dw")
    assert 0 < document["duration"] < 1


def test_a_pipe_gets_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "made.data"
    options = ["--size", "300K", "--seed", "3"]
    assert main(["generate", "-o", str(path), *options]) == 0
    done = subprocess.run([*PTTTOOL, "generate", "-o", "-", *options], capture_output=True, check=True)
    assert done.stdout == path.read_bytes()
    assert done.stderr == b""


def test_decode_reads_it_from_the_pipe() -> None:
    ptttool = f"{shlex.quote(sys.executable)} -m ptttool"
    line = f"{ptttool} generate -o - --size 1M | {ptttool} decode - --to csv | wc -l"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    assert int(done.stdout) == (1 << 20) // 16 + 1


def test_a_reader_that_goes_away_is_no_failure() -> None:
    line = f"{{ {shlex.quote(sys.executable)} -m ptttool generate -o - --size 1G; echo $? >&2; }} | head -c 100 | wc -c"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "100"
    assert done.stderr == "0\n"


@pytest.mark.parametrize("output", ["-", "/dev/stdout"])
def test_not_for_a_terminal(output: str) -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run([*PTTTOOL, "generate", "-o", output], stdout=theirs, stderr=subprocess.PIPE, text=True, check=False)
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 6
    assert "a recording is binary: not for a terminal" in done.stderr


def test_an_existing_file_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "made.data"
    path.write_text("mine")
    assert main(["generate", "-o", str(path), "--size", "64K"]) == 6
    assert "exists already" in capsys.readouterr().err
    assert path.read_text() == "mine"
    assert main(["generate", "-o", str(path), "--size", "64K", "--force"]) == 0
    assert path.read_bytes().startswith(b"PERFILE2")


@pytest.mark.parametrize(
    ("arguments", "code", "hints"),
    [
        (["--profile", "nvm"], "unknown-profile", ["nvme"]),
        (["--profile", "floppy"], "unknown-profile", ["bnxt", "drive", "gpu", "hns3", "mixed", "mlx5", "network", "nvme", "virtio"]),
        (["--size", "much"], "bad-size", []),
        (["--payload-size", "1K"], "bad-size", []),
        (["--format", "2dw"], "unknown-format", ["4dw", "8dw"]),
    ],
)
def test_wrong_usage_leaves_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: str, hints: list[str]
) -> None:
    assert main(["generate", "-o", str(tmp_path / "made.data"), "--json", *arguments]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == code
    assert all(hint in error["hint"] for hint in hints)
    assert list(tmp_path.iterdir()) == []


def test_json_and_the_recording_cannot_share_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "-o", "-", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "usage"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_nothing(tmp_path: Path, number: int, code: int) -> None:
    with subprocess.Popen([*PTTTOOL, "generate", "-o", str(tmp_path / "made.data"), "--size", "2G"], stderr=subprocess.PIPE) as made:
        while made.poll() is None and not any(tmp_path.iterdir()):
            time.sleep(0.005)
        made.send_signal(number)
        made.wait(120)
    assert made.returncode == code
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    """A limit on the size of files does as well."""
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)); from ptttool.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-B", "-c", code, "generate", "-o", str(tmp_path / "made.data"), "--size", "4M"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 6
    assert "made.data: File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_memory_is_bounded() -> None:
    code = (
        "import sys; from ptttool.cli.main import main; code = main(sys.argv[1:]);"
        "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]); sys.exit(code)"
    )
    peaks = []
    for size in ("16M", "512M"):
        command = [sys.executable, "-c", code, "generate", "-o", "/dev/null", "--format", "8dw", "--size", size]
        peaks.append(int(subprocess.run(command, capture_output=True, check=True).stdout) / 1024)
    assert peaks[1] < peaks[0] + 20, peaks
    assert peaks[1] < 200


def test_help_and_page_describe_the_profiles_as_they_do_themselves(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"--profile {'|'.join(PROFILES.names())}" in shown
    page = PAGE.read_text(encoding="utf-8")
    for profile in PROFILES:
        assert f" {profile.name} {profile.text} " in " ".join(shown.split())
        assert f"\n| `{profile.name}` | {profile.text} |\n" in page
