"""Mistakes that people make: exit code, error code, and what the hint suggests. No sentence of a library is shown."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.models import ParamMeta
from typer.utils import get_params_from_function

from ptttool.cli.app import app
from ptttool.cli.main import load_commands, main
from ptttool.cli.terminal import colours

# Parts of the sentences of the libraries behind the command line.
LEAKS = (
    "Value error",
    "Input should",
    "Invalid value",
    "Got unexpected",
    "No such option",
    "Missing argument",
    "Missing option",
    "requires an",
)

COMMANDS = [
    ("record", ["ptttool trace"]),
    ("capture --rootport nvme0", ["ptttool trace"]),
    ("devices", ["ptttool list"]),
    ("ls", ["ptttool list"]),
    ("reset", ["ptttool tune apply"]),
    ("set", ["ptttool tune set"]),
    ("tune reset", ["ptttool tune apply"]),
    ("help", ["ptttool --help"]),
    ("help trace", ["ptttool --help"]),
    ("tune help", ["ptttool tune --help"]),
    ("version", ["ptttool --version"]),
    ("latency x.data", ["ptttool analyze latency"]),
    ("protocols", ["ptttool decode --protocols"]),
    ("decod x.data", ["ptttool decode"]),
    ("anal", ["ptttool analyze"]),
    ("tune aply", ["ptttool tune apply"]),
    ("tune trace", ["ptttool trace"]),
    ("xyzzy", []),
]


def failure(line: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    words = shlex.split(line)
    at = 2 if words[0] == "tune" else 1
    code = main([*words[:at], "--json", *words[at:]])
    said = capsys.readouterr()
    assert not [leak for leak in LEAKS if leak in said.err], said.err
    document = json.loads(said.out.splitlines()[-1] if said.out.count("\n") == 1 else said.out)
    found: dict[str, Any] = document["error"]
    assert not [leak for leak in LEAKS if leak in str(found)]
    return code, found


@pytest.mark.parametrize(("line", "suggestions"), COMMANDS)
def test_commands_that_do_not_exist(line: str, suggestions: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, error = failure(line, capsys)
    assert (code, error["code"], error["suggestions"]) == (2, "unknown-command", suggestions)


OPTIONS = [
    ("decode a.data --format csv", ["--to"]),
    ("trace --root-port x", ["--rootport"]),
    ("trace --port x", ["--rootport"]),
    ("trace --RootPort x", ["--rootport"]),
    ("decode a.data --filter x", ["--where"]),
    ("decode a.data --column time", ["--columns"]),
    ("decode a.data --threads 2", ["--jobs"]),
    ("trace --time 10", ["--duration"]),
    ("trace --what-if", ["--dry-run"]),
    ("list --bogus", []),
    ("list -x", []),
]


@pytest.mark.parametrize(("line", "suggestions"), OPTIONS)
def test_options_that_do_not_exist(line: str, suggestions: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, error = failure(line, capsys)
    assert (code, error["code"], error["suggestions"]) == (2, "unknown-option", suggestions)


def test_an_option_of_another_name_keeps_its_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--to csv" in failure("decode a.data --format csv", capsys)[1]["hint"]
    assert "--what-if" not in failure("trace --what-if --demo", capsys)[1]["hint"]


VALUES = [
    ("decode a.data --limit 1k", "not-a-number", {"option": "--limit", "value": "1k"}),
    ("decode a.data --limit -5", "too-small", {"option": "--limit", "value": "-5", "smallest": 0}),
    ("decode a.data --jobs 0", "too-small", {"option": "--jobs", "smallest": 1}),
    ("decode a.data --jobs 100000", "too-large", {"option": "--jobs", "largest": 1024}),
    ("event --demo --rootport nvme0 --format 16dw", "unknown-choice", {"option": "--format", "suggestions": []}),
    ("list --color alway", "unknown-choice", {"option": "--color", "suggestions": ["always"]}),
    ("decode a.data --limit", "missing-value", {"option": "--limit"}),
    ("list --tree=yes", "needless-value", {"option": "--tree"}),
    ("tune get", "missing-argument", {"missing": ["DEVICE"]}),
    ("info a.data b.data", "extra-argument", {"words": ["b.data"]}),
]


@pytest.mark.parametrize(("line", "name", "details"), VALUES)
def test_values_that_are_not_taken(line: str, name: str, details: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    code, error = failure(line, capsys)
    assert (code, error["code"]) == (2, name)
    assert error | details == error


def test_short_options(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["trace", "--demo", "--rootport", "0000:00:10.0", "--duration", "1", "--no-decode", "-q", "-o", "a.data"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["decode", "a.data", "-n", "2", "-w", "kind = 'MWr'", "-c", "index,kind", "--to", "csv"]) == 0
    assert capsys.readouterr().out.startswith("index,kind\n8,MWr\n")
    assert main(["-V"]) == 0


def test_errors_are_red_where_colour_is_wanted(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert main(["--color", "always", "tune", "get"]) == 2
    assert f"{colours.Style.ERROR}error:" in capsys.readouterr().err
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    assert main(["tune", "get"]) == 2
    assert f"{colours.Style.ERROR}error:" in capsys.readouterr().err
    assert main(["--color", "never", "tune", "get"]) == 2
    assert "\x1b" not in capsys.readouterr().err
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(["tune", "get"]) == 2
    assert "\x1b" not in capsys.readouterr().err
    assert main(["list", "--demo", "--color", "always"]) == 0
    assert "\x1b[1m" in capsys.readouterr().out


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording, and files that people give in its place."""
    folder = tmp_path_factory.mktemp("mistakes")
    data = str(folder / "a.data")
    assert main(["trace", "--demo", "--rootport", "0000:00:10.0", "--duration", "1", "--no-decode", "-q", "-o", data]) == 0
    assert main(["decode", data, "-q", "-n", "3", "-o", str(folder / "r.parquet")]) == 0
    assert main(["decode", data, "-q", "-n", "3", "-o", str(folder / "p.pcapng")]) == 0
    assert main(["decode", data, "-q", "--to", "perf", "-o", str(folder / "rep.txt")]) == 0
    (folder / "text.txt").write_text("hello world\n")
    (folder / "j.json").write_text('{"a": 1}\n')
    (folder / "program").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(200))
    (folder / "noise").write_bytes(bytes(range(200, 256)))
    return folder


KINDS = [
    ("r.parquet", "a Parquet file"),
    ("p.pcapng", "a pcapng file"),
    ("rep.txt", "the text of perf report -D"),
    ("text.txt", "a text file"),
    ("j.json", "a JSON file"),
    ("program", "a program (ELF)"),
]


@pytest.mark.parametrize(("name", "kind"), KINDS)
@pytest.mark.parametrize("command", ["info", "decode"])
def test_files_are_told_by_what_they_are(
    command: str, name: str, kind: str, files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    code, error = failure(f"{command} {name}", capsys)
    assert (code, error["code"], error["kind"]) == (6, "foreign-file", kind)


def test_bytes_that_say_nothing(files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    assert failure("decode noise", capsys)[1]["code"] == "not-perf-data"


def test_a_recording_that_does_not_exist_is_named(files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    code, error = failure("decode a.data b.data", capsys)
    assert (code, error["code"], error["is_output"]) == (6, "no-such-file", False)
    code, error = failure("decode a.data out.parquet", capsys)
    assert (code, error["code"], error["is_output"]) == (6, "no-such-file", True)
    assert error["hint"].endswith("-o out.parquet")


def test_a_folder_that_does_not_exist(files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    for line in ("decode a.data -o nowhere/x.csv", "trace --demo --rootport 0000:00:10.0 -o nowhere/x"):
        code, error = failure(line, capsys)
        assert (code, error["code"]) == (6, "output-folder-missing")


CONDITIONS = [
    ("kind = MRd", "'MRd'"),
    ("kind = mrd", "'MRd'"),
    ('kind = "MRd"', "'MRd'"),
    ("direction = inbound", "'inbound'"),
    ("requester = nvme0", "'nvme0'"),
]


@pytest.mark.parametrize(("condition", "suggestion"), CONDITIONS)
def test_texts_without_quotes(
    condition: str, suggestion: str, files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    code, error = failure(f"decode a.data --where {shlex.quote(condition)}", capsys)
    assert (code, error["code"], error["suggestions"]) == (2, "unknown-column", [suggestion])


@pytest.mark.parametrize(("short", "long"), [("4Gi", "0x100000000"), ("64Ki", "65536"), ("1Mi", "1048576"), ("1Ti", "1099511627776")])
def test_sizes_in_conditions(
    short: str, long: str, files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    found = []
    for number in (short, long):
        assert main(["decode", "a.data", "-w", f"address > {number}", "-n", "2", "--to", "csv"]) == 0
        found.append(capsys.readouterr().out)
    assert found[0] == found[1]


ASSIGNMENTS = [("qos_tx_p 2", "qos_tx_p=2"), ("qos_tx_p = 2", "qos_tx_p=2"), ("qos_tx_p= 2 qos_tx_np =1", "qos_tx_p=2 qos_tx_np=1")]


@pytest.mark.parametrize(("words", "meant"), ASSIGNMENTS)
def test_assignments_with_blanks(words: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, error = failure(f"tune set --demo hisi_ptt0_0 {words}", capsys)
    assert (code, error["code"]) == (2, "bad-assignment")
    assert error["hint"].endswith(f": {meant}")


def test_a_header_of_two_dws(capsys: pytest.CaptureFixture[str]) -> None:
    code, error = failure("tlp 60000001 01001e0f", capsys)
    assert (code, error["code"], error["words"]) == (2, "bad-header", 2)
    assert error["hint"] == failure("tlp zz", capsys)[1]["hint"]


@pytest.mark.parametrize("suffix", ["xz", "gz", "zst"])
def test_packed_recordings(suffix: str, files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """All commands read them as they are, with the names from the file beside the unpacked one."""
    import gzip
    import lzma

    import zstandard

    monkeypatch.chdir(files)
    packers: dict[str, Callable[[bytes], bytes]] = {"xz": lzma.compress, "gz": gzip.compress, "zst": zstandard.compress}
    pack = packers[suffix]
    plain = Path("a.data").read_bytes()
    Path(f"a.data.{suffix}").write_bytes(pack(plain))
    for command in (["info"], ["decode", "--ids", "text", "--to", "csv", "-n", "9"], ["analyze", "traffic"]):
        assert main([*command, "a.data"]) == 0
        expected = capsys.readouterr().out
        assert main([*command, f"a.data.{suffix}"]) == 0
        assert capsys.readouterr().out == expected
    assert main(["report", f"a.data.{suffix}", "-o", f"{suffix}.html"]) == 0


def test_columns_are_listed_without_a_recording(capsys: pytest.CaptureFixture[str]) -> None:
    from ptttool.tlp.columns import TLP_SCHEMA

    assert main(["decode", "--columns", "help"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [column.name for column in TLP_SCHEMA]


def _path_options(group: typer.Typer) -> Iterator[tuple[str, ParamMeta]]:
    for command in group.registered_commands:
        assert command.callback is not None
        for name, one in get_params_from_function(command.callback).items():
            if "Path" in str(one.annotation):
                yield f"{command.callback.__module__} {name}", one
    for below in group.registered_groups:
        assert below.typer_instance is not None
        yield from _path_options(below.typer_instance)


def test_whether_a_file_can_be_read_is_not_for_typer_to_say() -> None:
    """It would be wrong usage, in a sentence of its own, and also for a file that is only written."""
    load_commands()
    found = dict(_path_options(app))
    assert len(found) > 30
    assert [name for name, one in found.items() if one.default.readable] == []


UNQUOTED = [
    ("decode a.data --where kind = MRd -n 2", "kind = 'MRd'"),
    ("decode --where tag = 1 AND kind = MRd a.data", "tag = 1 AND kind = 'MRd'"),
    ("analyze latency a.data --where kind = MRd", "kind = 'MRd'"),
    ("compare a.data a.data -w kind = MRd", "kind = 'MRd'"),
]


@pytest.mark.parametrize(("line", "meant"), UNQUOTED)
def test_conditions_without_quotes(
    line: str, meant: str, files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    code, error = failure(line, capsys)
    assert (code, error["code"], error["suggestions"]) == (2, "condition-quotes", [meant])


IN_CONDITIONS = [
    ("kind = 'MRd' && tag = 1", "AND"),
    ("kind = 'MRd' || tag = 1", "OR"),
    ("! tag = 1", "NOT"),
    ("tag => 1", ">="),
    ("address > 0xzz", "0x"),
    ("time > 1us", "no unit"),
    ("payload_bytes > 4KB", "4Ki"),
    ("kind", "kind = 'MRd'"),
    ("payload_bytes", "payload_bytes > 0"),
    ("latency > 1000", "ptttool analyze latency"),
    ("p99 > 1000", "ptttool analyze latency"),
    ("requestr = '01:00.0'", "requester"),
]


@pytest.mark.parametrize(("condition", "hint"), IN_CONDITIONS)
def test_what_is_wrong_in_a_condition(
    condition: str, hint: str, files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    code, error = failure(f"decode a.data --where {shlex.quote(condition)}", capsys)
    assert code == 2
    assert hint in error["hint"]


MEANT = [
    ("analyze a.data latency", "name-first", "ptttool analyze latency a.data"),
    ("analyze a.data latency,loss a.data", "name-first", "ptttool analyze latency,loss a.data a.data"),
    ("analyze a.data", "missing-argument", "ptttool analyze latency a.data"),
    ("trace --demo nvme0", "no-filter", "--rootport nvme0"),
    ("event --demo 01:00.0", "no-filter", "--rootport 01:00.0"),
    ("top --demo nvme0", "extra-argument", "--rootport nvme0"),
    ("analyze latency a.data --limit 3", "unknown-option", "--top 3"),
    ("decode -r a.data", "unknown-option", "FILE"),
    ("trace --demo -e x", "unknown-option", "ptttool event"),
    ("info -D a.data", "unknown-option", "--to perf"),
    ("compare a.data a.data -o x.html", "unknown-option", "> FILE"),
    ("list -s 00:10.0", "unknown-option", "DEVICE"),
    ("list -d 19e5:a12e", "unknown-option", "DEVICE"),
    ("list -nn -s", "unknown-option", "DEVICE"),
    ("trace --demo --rootport nvme0 -C 0", "unknown-option", "--cpu 0"),
    ("trace --demo --rootport nvme0 -m 64M", "unknown-option", "--aux-size 64M"),
    ("tune save --demo -o prof.toml", "unknown-option", "--force"),
    ("list -e x", "unknown-option", "ptttool list --help"),
    ("list --demo eth1", "unknown-device", "ens2"),
    ("tune set --demo eth1 qos_tx_p=1", "unknown-device", "nvme0"),
]


@pytest.mark.parametrize(("line", "name", "hint"), MEANT)
def test_what_is_meant(
    line: str, name: str, hint: str, files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    _, error = failure(line, capsys)
    assert error["code"] == name
    assert hint in error["hint"]


OTHER_KINDS = [
    ("info m.tar.gz", "foreign-file", "ptttool list --sysfs m.tar.gz"),
    ("decode m.tar", "foreign-file", "ptttool list --sysfs m.tar"),
    ("explain m.tar", "foreign-file", "ptttool list --sysfs m.tar"),
    ("info p.toml", "foreign-file", "ptttool tune apply p.toml"),
    ("info a.data.ptttool.json", "foreign-file", ": a.data"),
    ("decode t.csv", "foreign-file", "perf.data"),
    ("info machine", "no-such-file", "--sysfs"),
    ("info .", "no-such-file", "name a recording"),
    ("list --sysfs a.data", "not-a-machine", "without --sysfs"),
    ("tune diff --demo a.data", "not-a-profile", "tune save"),
    ("tune diff --demo text.txt", "bad-toml", "tune save"),
    ("tune diff --demo .", "is-a-folder", "--sysfs"),
]


@pytest.mark.parametrize(("line", "name", "hint"), OTHER_KINDS)
def test_files_and_folders_of_another_kind(
    line: str, name: str, hint: str, files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import tarfile

    monkeypatch.chdir(files)
    Path("machine/sys").mkdir(parents=True, exist_ok=True)
    Path("p.toml").write_text("version = 1\n")
    Path("t.csv").write_text("index,time\n0,1\n")
    for archive, mode in (("m.tar", "w"), ("m.tar.gz", "w:gz")):
        with tarfile.open(archive, mode) as tar:  # type: ignore[call-overload]
            tar.add("machine")
    code, error = failure(line, capsys)
    assert (code, error["code"]) == (6, name)
    assert hint in error["hint"]
    assert str(files) in error["message"] or not line.endswith(" .")
