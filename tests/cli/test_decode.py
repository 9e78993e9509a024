"""``ptttool decode``: what goes where, and what happens when something is wrong with either end."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from ptttool.capture import sidecar
from ptttool.cli.main import main
from ptttool.exporters.perf import text
from ptttool.machine.model import Hex16, Hex24, Machine, PciFunction, PciFunctions
from ptttool.pci import PciAddress
from ptttool.tlp.columns import ALL_COLUMNS, DEFAULT_COLUMNS, DW_COLUMNS
from tests.support import captures
from tests.support.recordings import build_directory, build_perfdata, words_4dw, words_8dw
from tests.support.rows import Read, schema_of

PTTTOOL = (sys.executable, "-m", "ptttool")
REAL = captures.FOLDER / "6.12" / "s-8dw-ports-dir3.data"
EVERY_FORMAT = ("table", "csv", "jsonl", "parquet", "arrow", "perf")


def rows_of(path: Path = REAL, columns: tuple[str, ...] = ALL_COLUMNS) -> pl.DataFrame:
    with Read(path) as trace:
        return pl.concat(trace.frames(columns))


def decoded(capfdbinary: pytest.CaptureFixture[bytes], *arguments: str, exit_code: int = 0) -> str:
    """Standard output of a decode that ends as expected."""
    assert main(["decode", *arguments]) == exit_code
    return capfdbinary.readouterr().out.decode()


def run(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """A decode of its own."""
    command = [*PTTTOOL, "decode", *map(str, arguments)]
    return subprocess.run(command, check=False, text=True, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})  # type: ignore[call-overload, no-any-return]


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


# Formats and columns


def test_csv_holds_the_default_columns(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    rows = list(csv.DictReader(io.StringIO(decoded(capfdbinary, str(REAL), "--to", "csv"))))
    expected = rows_of()
    assert tuple(rows[0]) == DEFAULT_COLUMNS
    assert len(rows) == expected.height
    for name in ("time", "kind", "tag", "byte_count", "status"):
        assert [row[name] for row in rows] == ["" if value is None else str(value) for value in expected[name].to_list()]
    assert rows[0]["completer"] == "01:00.0"
    assert {row["address"][:2] for row in rows} <= {"", "0x"}


def test_json_lines_hold_all_columns(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    text = decoded(capfdbinary, str(REAL), "--json", "--limit", "50")
    assert text == decoded(capfdbinary, str(REAL), "--to", "jsonl", "--limit", "50")
    rows = [json.loads(line) for line in text.splitlines()]
    assert len(rows) == 50
    for row, expected in zip(rows, rows_of().to_dicts(), strict=False):
        assert tuple(row) == ALL_COLUMNS
        texts = {"requester", "completer", "destination", "address", "prefix"}
        assert {name: value for name, value in row.items() if name not in texts} == {
            name: value for name, value in expected.items() if name not in texts
        }


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_binary_files(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    assert main(["decode", str(REAL), "-o", str(path), "--words"]) == 0
    back = pl.read_parquet(path) if suffix == ".parquet" else pl.read_ipc(path)
    columns = (*ALL_COLUMNS, *DW_COLUMNS)
    assert back.schema == schema_of(columns)
    assert back.equals(rows_of(columns=columns))
    if suffix == ".parquet":
        facts = pl.read_parquet_metadata(path)
        assert facts["ptttool.event"] == "hisi_ptt0_0/filter=0x80005,type=7,direction=3,format=1/"
        assert facts["ptttool.recording"] == REAL.name


@pytest.mark.parametrize("name", ["6.12/s-8dw-ports-dir3", "6.12/s-4dw-ports-dir0"])
def test_perf_text(capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path, name: str) -> None:
    path = captures.path_of(name, tmp_path)
    with Read(path) as trace:
        expected = b"".join(text(trace.payloads())).decode()
    assert decoded(capfdbinary, str(path), "--to", "perf") == expected
    assert expected.startswith(". ... HISI PTT data: size ")


@pytest.mark.parametrize("option", [("--where", "tag = 1"), ("--columns", "tag"), ("--limit", "0"), ("--offset", "1"), ("--words",)])
def test_perf_text_is_whole(capsys: pytest.CaptureFixture[str], option: tuple[str, ...]) -> None:
    assert main(["decode", str(REAL), "--to", "perf", *option]) == 2
    assert option[0] in capsys.readouterr().err


def test_columns_are_those_asked_for_in_that_order(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    out = decoded(capfdbinary, str(REAL), "--to", "csv", "--columns", "kind,index, dw0,completer", "--limit", "1")
    assert out == "kind,index,dw0,completer\nCplD,0,1241514048,01:00.0\n"
    out = decoded(capfdbinary, str(REAL), "--to", "csv", "--columns", "index", "--words", "--limit", "0")
    assert out == "index,dw0,dw1,dw2,dw3\n"
    out = decoded(capfdbinary, str(REAL), "--to", "table", "--columns", "index,dw0", "--limit", "1")
    assert out.split() == ["index", "dw0", "0", "0x4a000040"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [("kindd", "'kindd'"), ("kind,kind", "'kind' is named twice"), ("", "''"), ("a,", "'a'")],
)
def test_columns_that_there_are_not(capsys: pytest.CaptureFixture[str], columns: str, message: str) -> None:
    assert main(["decode", str(REAL), "--columns", columns]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("limit", [None, 0, 1, 700, 10**6])
@pytest.mark.parametrize("offset", [0, 1, 500, 10**6])
def test_a_range_of_what_the_condition_takes(capfdbinary: pytest.CaptureFixture[bytes], limit: int | None, offset: int) -> None:
    expected = rows_of().filter((pl.col("kind") == "CplD") & (pl.col("completer") == 0x100))["index"]
    assert len(expected) > 500
    range_options = ["--offset", str(offset), *([] if limit is None else ["--limit", str(limit)])]
    condition = "kind = 'CplD' AND completer = '01:00.0'"
    out = decoded(capfdbinary, str(REAL), "--to", "csv", "--columns", "index", "--where", condition, *range_options)
    assert [int(line) for line in out.splitlines()[1:]] == expected.slice(offset, limit).to_list()


@pytest.mark.parametrize("condition", ["kind = 'MRead'", "nothing = 1", "sum(tag) > 1", "tag", "tag =", "requester = '1'", ""])
@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_conditions_that_mean_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path, condition: str, to: str) -> None:
    assert main(["decode", str(REAL), "--to", to, "-o", str(tmp_path / "out"), "--where", condition]) == 2
    assert "ptttool: error: --where: " in capsys.readouterr().err
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("to", ["csv", "parquet", "table"])
def test_a_condition_that_fails_on_the_data_is_wrong_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path, to: str) -> None:
    path = tmp_path / "out"
    condition = "index * 0x7fffffffffffffff // 1 > 0"
    assert main(["decode", str(REAL), "--to", to, "-o", str(path), "--where", condition]) == 2
    assert "--where: conversion" in capsys.readouterr().err
    assert names_in(tmp_path) == []


@pytest.mark.parametrize(
    "arguments", [("--to", "xml"), ("-o", "out.xlsx"), ("--json", "--to", "csv"), ("--limit", "-1"), ("--input", "16dw")]
)
def test_wrong_usage(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["decode", str(REAL), *arguments]) == 2
    assert capsys.readouterr().err.startswith("ptttool: error: ")
    assert names_in(tmp_path) == []


# What is read


def test_raw_dumps_and_patterns(capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    path = tmp_path / "dump"
    path.write_bytes(words_4dw(3))
    out = decoded(capfdbinary, str(path), "--input", "4dw", "--to", "csv", "--columns", "index,kind,address")
    assert out.splitlines() == ["index,kind,address", "0,MWr,0x400001000", "1,MWr,0x400001004", "2,MWr,0x400001008"]
    path.write_bytes(words_8dw(1))
    out = decoded(capfdbinary, str(path), "--input", "8dw", "--pattern", "v1", "--to", "csv", "--columns", "kind,segment")
    assert out.splitlines()[1] == "MWr,0"


@pytest.mark.parametrize("name", ["6.12/x-pipe", "6.12/x-compress-z", "6.1/x-pipe", "6.12/x-with-cpu-clock"])
def test_standard_input_and_pipes(tmp_path: Path, name: str) -> None:
    path = captures.path_of(name, tmp_path)
    expected = run(path, "--to", "csv").stdout
    assert expected.count("\n") > 1000
    with path.open("rb") as file:
        assert run("-", "--to", "csv", stdin=file).stdout == expected
    done = subprocess.run([*PTTTOOL, "decode", "-", "--to", "csv"], input=captures.content(name), stdout=subprocess.PIPE, check=True)
    assert done.stdout.decode() == expected


def test_a_directory_recording(capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    folder = build_directory(tmp_path / "perf.data", [(0, 0, words_8dw(5)), (1, 0, words_8dw(4))])
    out = decoded(capfdbinary, str(folder), "--to", "csv", "--columns", "cpu")
    assert out.split() == ["cpu", *["0"] * 5, *["1"] * 4]


@pytest.mark.parametrize("to", EVERY_FORMAT)
def test_an_empty_recording_has_the_schema_alone_and_a_warning(capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path, to: str) -> None:
    path = tmp_path / "out"
    assert main(["decode", str(captures.FOLDER / "6.12" / "x-idle.data"), "--to", to, "-o", str(path)]) == 0
    assert b"warning: the recording holds no TLP" in capfdbinary.readouterr().err
    if to == "parquet":
        assert pl.read_parquet(path).schema == schema_of(ALL_COLUMNS)
    elif to == "arrow":
        assert pl.read_ipc(path).schema == schema_of(ALL_COLUMNS)
    else:
        lines = {"csv": [",".join(DEFAULT_COLUMNS)], "jsonl": [], "perf": []}
        assert to == "table" or path.read_text().splitlines() == lines[to]


def cut_recording(folder: Path) -> tuple[Path, int]:
    """A recording whose end is missing, and its whole records."""
    whole = build_perfdata([(0, 0, words_8dw(1000)), (0, 32000, words_8dw(1000))])
    path = folder / "cut.data"
    path.write_bytes(whole[: whole.rindex(words_8dw(1000)) + 330])
    return path, 1010


@pytest.mark.parametrize("to", ["csv", "jsonl", "parquet", "arrow"])
def test_what_a_cut_recording_holds_is_written_and_the_exit_code_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, to: str
) -> None:
    path, records = cut_recording(tmp_path)
    out = tmp_path / f"out.{to}"
    assert main(["decode", str(path), "-o", str(out)]) == 6
    error = next(line for line in capsys.readouterr().err.splitlines() if line.startswith("ptttool: error: "))
    assert f"{path}: offset {path.stat().st_size:#x}: " in error
    read: dict[str, Callable[[Path], pl.DataFrame]] = {
        "csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet, "arrow": pl.read_ipc,
    }  # fmt: skip
    assert read[to](out)["index"].to_list() == list(range(records))
    assert names_in(tmp_path) == ["cut.data", f"out.{to}"]


def test_a_failure_is_the_last_json_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, records = cut_recording(tmp_path)
    done = run(path, "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 6
    assert len(lines) == records + 1
    assert lines[-1]["error"]["code"] == "truncated"
    assert main(["decode", "--json", str(path), "--where", "x = 1"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "unknown-column"


@pytest.mark.parametrize("share", [0.0005, 0.01, 0.2, 0.5, 0.9, 0.999])
def test_a_real_recording_cut_anywhere(tmp_path: Path, share: float) -> None:
    data = captures.content("6.12/m-8dw-port10-type7-dir2")
    path = tmp_path / "cut.data"
    path.write_bytes(data[: int(len(data) * share)])
    done = run(path, "--to", "csv")
    assert done.returncode == 6
    assert done.stderr.count("ptttool: error: ") == 1
    assert "Traceback" not in done.stderr
    whole = run(captures.FOLDER / "6.12" / "m-8dw-port10-type7-dir2.data", "--to", "csv").stdout
    assert whole.startswith(done.stdout)


BAD: dict[str, tuple[Callable[[Path], object], int, str]] = {
    "empty": (lambda path: path.write_bytes(b""), 6, "empty"),
    "text": (lambda path: path.write_text("hello\n" * 100), 6, "not a perf.data"),
    "random": (lambda path: path.write_bytes(os.urandom(5000)), 6, "not a perf.data"),
    "magic alone": (lambda path: path.write_bytes(b"PERFILE2"), 6, ""),
    "lying sizes": (lambda path: path.write_bytes(b"PERFILE2" + b"\xff" * 96), 6, ""),
    "zero sizes": (lambda path: path.write_bytes(b"PERFILE2" + bytes(96)), 6, ""),
    "other pmu": (lambda path: path.write_bytes(build_perfdata([(0, 0, bytes(64))], auxtrace_type=4)), 6, "Arm SPE"),
    "no ptt": (lambda path: path.write_bytes(build_perfdata(name="cycles", pmu_type=4, info=b"")), 6, "no PTT"),
    "folder": (lambda path: path.mkdir(), 6, "folder"),
    "nothing": (lambda path: None, 6, "no such file"),
}


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_what_cannot_be_read(capsys: pytest.CaptureFixture[str], tmp_path: Path, what: str, to: str) -> None:
    make, exit_code, message = BAD[what]
    source, out = tmp_path / "in", tmp_path / "out"
    make(source)
    before = names_in(tmp_path)
    assert main(["decode", str(source), "--to", to, "-o", str(out)]) == exit_code
    said = capsys.readouterr()
    assert said.out == ""
    (error,) = [line for line in said.err.splitlines() if line.startswith("ptttool: error: ")]
    assert str(source) in error
    assert message in error
    assert [name for name in names_in(tmp_path) if name not in before] in ([], ["out"])
    assert not out.exists() or what in ("lying sizes", "zero sizes")


def test_a_file_that_must_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    shutil.copy(REAL, path)
    path.chmod(0)
    powerless = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"] if os.geteuid() == 0 else []
    if powerless:
        os.chown(path, 1000, 1000)
    done = subprocess.run([*powerless, *PTTTOOL, "decode", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert f"{path}: permission denied" in done.stderr.lower() or f"{path}: Permission denied" in done.stderr
    assert "hint: " in done.stderr


def test_control_characters_stay_out_of_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "evil\x1b[31m.data"
    path.write_bytes(b"no recording")
    done = run(path)
    assert done.returncode == 6
    assert "\x1b" not in done.stdout + done.stderr
    path.write_bytes(build_perfdata([(0, 0, words_8dw(4))], name="hisi_ptt0_0/\x1b]0;owned\x07filter=1/"))
    out = tmp_path / "out.parquet"
    assert "\x1b" not in run(path, "-o", out).stderr
    assert pl.read_parquet_metadata(out)["ptttool.event"] == "hisi_ptt0_0/\\x1b]0;owned\\x07filter=1/"


def test_names_come_from_the_sidecar_cleaned(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    shutil.copy(captures.FOLDER / "6.12" / "m-8dw-port10-type7-dir2.data", path)
    address = PciAddress(0, 1, 0, 0)
    function = PciFunction(address, Hex16(0x1B36), Hex16(0x10), Hex24(0x010802), "a drive", kernel_names=("nvme\x1b[31m0",))
    sidecar.save(path, sidecar.Sidecar(machine=Machine(origin="a test", functions=PciFunctions({address: function}))))
    rows = run(path, "--limit", "5").stdout.splitlines()[1:]
    assert all("01:00.0 nvme\\x1b[31m0" in row for row in rows)
    assert "\x1b" not in "".join(rows)


# Where it goes


def test_an_existing_file_needs_force(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")
    assert main(["decode", str(REAL), "-o", str(path)]) == 6
    assert "exists already" in capsys.readouterr().err
    assert path.read_text() == "old"
    assert main(["decode", str(REAL), "-o", str(path), "--force"]) == 0
    assert path.read_text().startswith("index,time")


def test_the_recording_is_never_written_over(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    shutil.copy(REAL, path)
    (tmp_path / "link").symlink_to(path)
    for name in ("perf.data", "link"):
        assert main(["decode", str(path), "--to", "csv", "-o", str(tmp_path / name), "--force"]) == 2
        assert "is the recording itself" in capsys.readouterr().err
    assert path.read_bytes() == REAL.read_bytes()


def test_a_linked_output_is_written_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out.csv").symlink_to("elsewhere/real.csv")
    assert main(["decode", str(REAL), "-o", str(tmp_path / "out.csv"), "--limit", "1"]) == 0
    assert (tmp_path / "out.csv").is_symlink()
    assert names_in(tmp_path / "elsewhere") == ["real.csv"]


@pytest.mark.parametrize("to", EVERY_FORMAT)
def test_a_device_and_a_fifo_stay_what_they_are(tmp_path: Path, to: str) -> None:
    assert main(["decode", str(REAL), "--to", to, "-o", os.devnull]) == 0
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)  # noqa: PTH116
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()))
    reader.start()
    assert main(["decode", str(REAL), "--to", to, "-o", str(fifo)]) == 0
    reader.join(20)
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert main(["decode", str(REAL), "--to", to, "-o", str(tmp_path / "file")]) == 0
    assert got == [(tmp_path / "file").read_bytes()]


@pytest.mark.parametrize("output", ["-", "/dev/stdout"])
def test_standard_output_by_name(output: str) -> None:
    assert run(REAL, "--to", "csv", "-o", output).stdout == run(REAL, "--to", "csv").stdout


@pytest.mark.parametrize("to", EVERY_FORMAT)
def test_a_full_disk(tmp_path: Path, to: str) -> None:
    full = Path("/dev/full")
    done = run(REAL, "--to", to, "-o", full)
    assert (done.returncode, done.stderr) == (6, "ptttool: error: /dev/full: No space left on device\n")
    with full.open("w") as file:
        done = run(REAL, "--to", to, stdout=file)
    assert (done.returncode, done.stderr) == (6, "ptttool: error: standard output: No space left on device\n")

    def limited() -> None:
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # Python keeps compiled modules that are cut off
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    out = tmp_path / "out"
    done = run(REAL, "--to", to, "-o", out, preexec_fn=limited)
    assert (done.returncode, done.stderr) == (
        6,
        f"ptttool: error: {out}: File too large\nptttool: hint: no incomplete file was left behind\n",
    )
    assert names_in(tmp_path) == []


def test_a_folder_that_is_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["decode", str(REAL), "-o", str(tmp_path / "none" / "out.csv")]) == 6
    assert str(tmp_path / "none") in capsys.readouterr().err
    assert main(["decode", str(REAL), "--to", "csv", "-o", str(tmp_path)]) == 2
    assert "a folder holds Parquet files" in capsys.readouterr().err


@pytest.mark.parametrize("to", EVERY_FORMAT)
def test_a_closed_pipe_is_no_error(tmp_path: Path, to: str) -> None:
    path = tmp_path / "big"
    path.write_bytes(words_8dw(1 << 13) * 32)
    command = [*PTTTOOL, "decode", str(path), "--input", "8dw", "--to", to]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as writer:
        assert writer.stdout is not None and writer.stderr is not None
        writer.stdout.read(10)
        writer.stdout.close()
        assert writer.stderr.read() == b""
        assert writer.wait() == 0


@pytest.mark.parametrize(
    ("to", "number", "exit_code"),
    [
        ("parquet", signal.SIGINT, 130),
        ("arrow", signal.SIGTERM, 143),
        ("csv", signal.SIGINT, 130),
        ("jsonl", signal.SIGHUP, 129),
        ("perf", signal.SIGTERM, 143),
    ],
)
def test_a_signal_leaves_no_file(tmp_path: Path, to: str, number: signal.Signals, exit_code: int) -> None:
    """While the recording stalls, and while it flows."""
    fifo = tmp_path / "fifo"
    for stalls in (True, False):
        os.mkfifo(fifo)
        flowing = threading.Event()
        sender = threading.Thread(target=feed, args=(fifo, stalls, flowing))
        sender.start()
        command = [*PTTTOOL, "decode", str(fifo), "--to", to, "-o", str(tmp_path / "out")]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as writer:
            assert flowing.wait(120)
            while len(names_in(tmp_path)) < 2:
                time.sleep(0.01)
            time.sleep(0.2)
            writer.send_signal(number)
            try:
                _, said = writer.communicate(timeout=60)
            finally:
                writer.kill()  # for one that does not end
                flowing.clear()
        sender.join()
        assert said == ("ptttool: interrupted, nothing is written\n" if number == signal.SIGINT else "")
        assert writer.returncode == exit_code
        assert names_in(tmp_path) == ["fifo"]
        fifo.unlink()


def feed(fifo: Path, stalls: bool, flowing: threading.Event) -> None:
    """A recording through a pipe that never ends: one payload after the other, or one and then nothing, until nobody reads."""
    payload = words_8dw(1 << 13)
    head = build_perfdata([(0, 0, payload)], mode="pipe")
    with fifo.open("wb", buffering=0) as file:
        try:
            file.write(head)
            flowing.set()
            piece = head[head.index(payload) - 48 :][: 48 + len(payload)]
            while flowing.is_set():
                if stalls:
                    time.sleep(0.01)
                else:
                    file.write(piece)
        except BrokenPipeError:
            return


# On a terminal


def on_terminal(*arguments: str | Path, lines: int = 24, columns: int = 80) -> tuple[str, int]:
    """What a decode shows on a terminal of that size, and its exit code."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    command = [*PTTTOOL, "decode", *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"}) as writer:
        os.close(theirs)
        shown = b"".join(read_terminal(ours))
        os.close(ours)
    return shown.decode().replace("\r\n", "\n"), writer.returncode


def read_terminal(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            piece = os.read(descriptor, 65536)
        except OSError:  # the other end is closed
            return
        if not piece:
            return
        yield piece


@pytest.mark.parametrize(("lines", "columns"), [(24, 80), (24, 60), (40, 140), (10, 30)])
def test_a_terminal_shows_a_page_and_says_how_to_see_more(lines: int, columns: int) -> None:
    shown, exit_code = on_terminal(REAL, lines=lines, columns=columns)
    assert exit_code == 0
    seen = re.sub(r"\x1b\[[01]m", "", shown).splitlines()  # bold heads
    assert not [line for line in seen if "\x1b" in line]
    assert max(map(len, seen)) <= columns
    rows = [line for line in seen if "CplD" in line or "Cpl " in line]
    assert lines - 8 <= len(rows) < lines
    assert len(seen) < lines or lines == 10
    assert "--limit N shows more" in " ".join(line.strip() for line in seen)


def test_a_terminal_shows_as_many_rows_as_are_asked_for() -> None:
    shown, _ = on_terminal(REAL, "--limit", "100")
    assert len(shown.splitlines()) == 101
    assert "shows more" not in shown


@pytest.mark.parametrize("to", ["parquet", "arrow"])
@pytest.mark.parametrize("output", [None, "-", "/dev/stdout", "/dev/tty"])
def test_nothing_binary_to_a_terminal(to: str, output: str | None) -> None:
    arguments = [] if output is None else ["-o", output]
    if output == "/dev/tty":
        shown, exit_code = on_controlling_terminal(to)
    else:
        shown, exit_code = on_terminal(REAL, "--to", to, *arguments)
    assert exit_code == 6
    assert f"{to} is binary: not for a terminal" in shown
    assert "ARROW1" not in shown
    assert "PAR1" not in shown


def on_controlling_terminal(to: str) -> tuple[str, int]:
    import pty

    child, ours = pty.fork()
    if child == 0:
        os.execv(sys.executable, [*PTTTOOL, "decode", str(REAL), "--to", to, "-o", "/dev/tty"])
    shown = b"".join(read_terminal(ours))
    os.close(ours)
    return shown.decode(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_pipe_gets_all_rows_as_a_table() -> None:
    done = run(REAL)
    assert len(done.stdout.splitlines()) == rows_of().height + 1
    assert "\x1b" not in done.stdout


def test_memory_is_bounded(tmp_path: Path) -> None:
    """Four times the records need no more of it."""
    code = (
        "import sys; from ptttool.cli.main import main; code = main(sys.argv[1:]);"
        "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]); sys.exit(code)"
    )
    part = words_8dw(1 << 13)
    peaks = []
    for times in (64, 256):
        path = tmp_path / f"{times}"
        with path.open("wb") as file:
            for _ in range(times):
                file.write(part)
        command = [sys.executable, "-c", code, "decode", str(path), "--input", "8dw", "--to", "parquet", "-o", str(path) + ".parquet"]
        peaks.append(int(subprocess.run(command, capture_output=True, check=True).stdout) / 1024)
    assert peaks[1] < peaks[0] + 40, peaks


def test_the_sidecar_is_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "perf.data"
    shutil.copy(REAL, path)
    sidecar = tmp_path / "perf.data.ptttool.json"
    sidecar.write_text("{}")
    assert main(["decode", str(path), "-o", str(sidecar), "--to", "jsonl", "--force", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "output-is-input"
    assert sidecar.read_text() == "{}"


def test_lines_of_several_recordings_name_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    paths = [tmp_path / "a.data", tmp_path / "longer.data"]
    for path in paths:
        path.write_bytes(build_perfdata([(0, 0, words_4dw(3))]))
    assert main(["decode", *map(str, paths)]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[0] == "file"
    assert [line.split()[0] for line in lines] == [str(path) for path in paths for _ in range(3)]
    assert {line.index(" MWr ") for line in lines} == {head.index("kind") - 1}
