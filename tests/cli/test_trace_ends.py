"""How a recording ends that nobody ends by Ctrl-C: the terminal is closed, a process is killed, others stop perf, the disk is full."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ptttool.capture import sidecar
from ptttool.capture.keep import settle
from ptttool.capture.names import sidecar_path
from ptttool.capture.perf.recorder import is_complete
from ptttool.capture.unfinished.leftovers import look_at
from ptttool.cli.main import main
from tests.cli.test_trace import EIGHT_DW, SOME, Here, Live, bundled, error_of, here, live

pytestmark = pytest.mark.slow

__all__ = ["here", "live"]  # fixtures
MIB = 1 << 20


def unfinished(live: Live) -> Path:
    (path,) = live.folder.glob("*.part")
    return path


def until(condition: object, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    assert callable(condition)
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# ---- the terminal


def test_a_closed_terminal_ends_the_recording_well(live: Live) -> None:
    """Of an interactive bash, as of an ssh session that drops: SIGHUP comes to all processes of the job, perf too."""
    live.output.write_bytes(b"the last one")
    done = live.run(*EIGHT_DW, "--force", terminal="close")
    assert done.returncode == 0, done.stdout
    assert live.output.read_bytes() == bundled(SOME)
    assert live.files() == {"perf.data", "perf.data.ptttool.json", "perf.data.old"}
    kept = sidecar.load(live.output)
    assert kept is not None
    assert kept.ended is not None


def test_a_report_that_nobody_reads_is_no_error(live: Live) -> None:
    """The terminal is gone; a shell that survives it sees success."""
    words = live.words(EIGHT_DW)
    at = words.index("--") + 1
    terminal = [sys.executable, str(Path(__file__).parents[1] / "standin" / "at_terminal.py"), "close"]
    shell = ["sh", "-c", 'trap : HUP; "$@"; echo $? > dump/code', "sh"]
    command = [*words[:at], *terminal, *shell, *words[at:]]
    subprocess.run(command, cwd=live.folder, env=live.environment("good", {}), timeout=60, check=True, capture_output=True)
    assert (live.folder / "dump" / "code").read_text(encoding="ascii") == "0\n"
    assert live.output.read_bytes() == bundled(SOME)


def test_a_closed_terminal_while_a_command_runs(live: Live) -> None:
    """The command gets the SIGHUP as without ptttool, and the recording ends with it."""
    done = live.run(*EIGHT_DW, "--", "sleep", "30", terminal="close")
    assert done.returncode == 0, done.stdout
    assert live.output.read_bytes() == bundled(SOME)
    kept = sidecar.load(live.output)
    assert kept is not None
    assert kept.traced is not None
    assert kept.traced.signal in ("SIGHUP", "SIGTERM")


def test_quit_at_a_terminal(live: Live) -> None:
    done = live.run(*EIGHT_DW, terminal="quit")
    assert done.returncode == 0, done.stdout
    assert "stopped by SIGQUIT" in done.stdout
    assert live.output.read_bytes() == bundled(SOME)


def test_the_command_reads_the_terminal(live: Live) -> None:
    """It is in the foreground, with the terminal as its controlling one."""
    done = live.run(*EIGHT_DW, "--", "sh", "-c", "read line < /dev/tty; echo got $line", terminal="hello")
    assert done.returncode == 0, done.stdout
    assert "got hello" in done.stdout


def test_a_session_without_a_terminal(live: Live) -> None:
    """As a service has it; the signal comes to its process group."""
    process = started(live, ["setsid", "--wait"], "--json")
    os.killpg(os.getpgid(live.ptttool()), signal.SIGHUP)
    out, err = process.communicate(timeout=120)
    assert json.loads(out)["stopped_by"] == "SIGHUP", err
    assert live.output.read_bytes() == bundled(SOME)


def test_nohup_goes_on(live: Live) -> None:
    process = started(live, ["nohup"], "--duration", "1.5", "--json")
    os.kill(live.ptttool(), signal.SIGHUP)
    out, err = process.communicate(timeout=120)
    body = json.loads(out)
    assert (body["stopped_by"], process.returncode) == (None, 0), err
    assert body["elapsed"] >= 1.5


def started(live: Live, prefix: list[str], *arguments: str) -> subprocess.Popen[str]:
    """Start a recording by way of a program."""
    words = live.words([*EIGHT_DW, *arguments])
    at = words.index("--") + 1
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*words[:at], *prefix, *words[at:]], **streams, text=True, cwd=live.folder, env=live.environment("good", {}))  # type: ignore[call-overload, no-any-return]


def test_a_signal_after_the_end_of_perf(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that is closed sends SIGHUP more than once."""

    def late(*arguments: object) -> object:
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
            os.kill(os.getpid(), number)
        return settle(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("ptttool.capture.record.settle", late)
    before = [signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)]
    assert here.run(*EIGHT_DW, "--duration", "0.1").returncode == 0
    assert here.files() == {"perf.data", "perf.data.ptttool.json"}
    assert before == [signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)]


# ---- kills


def test_ptttool_is_killed(live: Live, capsys: pytest.CaptureFixture[str]) -> None:
    """perf ends well by itself; the file waits for its name, with its sidecar."""
    process = live.start(*EIGHT_DW)
    os.kill(live.ptttool(), signal.SIGKILL)
    process.communicate(timeout=120)
    path = unfinished(live)
    until(lambda: not look_at(path).being_written)
    assert path.read_bytes() == bundled(SOME)
    assert main(["recover", str(live.output), "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["recordings"]
    assert (one["state"], one["tlps"]) == ("complete", 5569)
    kept = sidecar.load(live.output)
    assert kept is not None
    assert kept.options["root_ports"] == ["0000:00:10.0"]
    assert live.files() == {"perf.data", "perf.data.ptttool.json"}


def test_all_are_killed_at_once(live: Live) -> None:
    """As by a power loss: what has reached the file can be recovered, and the next trace says so."""
    process = live.start(*EIGHT_DW, "--aux-size", "16M", case="busy-link")
    pid = live.ptttool()
    until(lambda: unfinished(live).stat().st_size > 17 * MIB)  # perf's own records take less than 1 MiB
    both = [*live.processes("record"), pid]
    for number in both:
        os.kill(number, signal.SIGSTOP)
    for number in both:
        os.kill(number, signal.SIGKILL)
    process.communicate(timeout=120)
    path = unfinished(live)
    until(lambda: not look_at(path).being_written)
    one = look_at(path)
    assert one.state == "cut-short"
    # Two steps of half the AUX area, and what was written of the third.
    assert one.held.aux_bytes >= 16 * MIB
    assert one.held.tlps == one.held.aux_bytes // 32
    done = live.run(*EIGHT_DW, "--duration", "0.1", "--json", "--no-decode", "-o", "next.data")
    assert [each["code"] for each in json.loads(done.stdout)["warnings"]] == ["unfinished-recording"]
    assert path.exists()


def test_perf_is_killed_before_it_has_written_any_trace(live: Live) -> None:
    live.output.write_bytes(b"the last one")
    process = live.start(*EIGHT_DW, "--force", "--json")
    live.ptttool()
    (perf,) = live.processes("record")
    time.sleep(0.3)
    os.kill(perf, signal.SIGKILL)
    out, _ = process.communicate(timeout=120)
    error = json.loads(out)["error"]
    assert error["code"] == "perf-killed"
    assert error["seconds_lost"] > 0.2
    assert "32 MiB" in error["message"]
    assert live.files() == {"perf.data"}


def test_perf_is_killed_with_trace_in_the_file(live: Live) -> None:
    live.output.write_bytes(b"the last one")
    process = live.start(*EIGHT_DW, "--force", "--aux-size", "16M", "--json", case="busy-link")
    live.ptttool()
    until(lambda: unfinished(live).stat().st_size > 9 * MIB)
    os.kill(live.processes("record")[0], signal.SIGKILL)
    out, _ = process.communicate(timeout=120)
    error = json.loads(out)["error"]
    assert (error["code"], error["recording"]) == ("perf-killed", "perf.data")
    assert "perf.data.old" in error["hint"]
    assert not is_complete(live.output)
    assert live.output.stat().st_size > 8 * MIB
    assert live.files() == {"perf.data", "perf.data.old", "perf.data.ptttool.json"}


@pytest.mark.parametrize("options", [[], ["--duration", "30"]])
def test_others_stop_perf(live: Live, options: list[str]) -> None:
    process = live.start(*EIGHT_DW, *options, "--json")
    live.ptttool()
    os.kill(live.processes("record")[0], signal.SIGTERM)
    out, _ = process.communicate(timeout=120)
    body = json.loads(out)
    (warning,) = body["warnings"]
    assert (warning["code"], warning["details"]["signal"]) == ("stopped-by-others", "SIGTERM")
    assert body["stopped_by"] is None
    assert live.output.read_bytes() == bundled(SOME)


# ---- passwords


def test_the_arguments_of_the_command_are_not_kept(here: Here) -> None:
    secret = "hunter2-in-an-argument"
    command = ("--", "sh", "-c", "exit 0", "sh", f"--password={secret}")
    done = here.run(*EIGHT_DW, "--json", *command)
    assert done.returncode == 0, done.stderr
    assert secret not in done.stdout
    for path in here.folder.iterdir():
        assert secret.encode() not in path.read_bytes(), path
        assert path.stat().st_mode & 0o777 == 0o600, path
    here.run(*EIGHT_DW, "--force", "--json", "--keep-command", *command)
    assert secret in sidecar_path(here.output).read_text(encoding="utf-8")


def test_perf_is_not_given_the_arguments(live: Live) -> None:
    """perf keeps its command line in the header of the recording, and all users can see it in the list of processes."""
    process = live.start(*EIGHT_DW, "--", "sh", "-c", "exec sleep 30", "hunter2")
    live.ptttool()
    (perf,) = live.processes("record")
    assert b"hunter2" not in Path(f"/proc/{perf}/cmdline").read_bytes()
    os.kill(perf, signal.SIGINT)
    process.communicate(timeout=120)


# ---- the output


def mount(folder: Path, size: str) -> None:
    """Give a folder a disk of its own."""
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True).returncode:
        pytest.skip("file systems cannot be mounted here")


def test_a_full_disk_is_refused_at_once(here: Here) -> None:
    small = here.folder / "dump"
    small.mkdir()
    mount(small, "2m")
    try:
        (small / "filler").write_bytes(bytes(MIB * 3 // 2))
        body = error_of(here.run(*EIGHT_DW, "--duration", "30", "--json", "-o", str(small / "x")))
        assert body["code"] == "disk-full"
        assert [path.name for path in small.iterdir()] == ["filler"]
        subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
        body = error_of(here.run(*EIGHT_DW, "--duration", "30", "--json", "-o", str(small / "x")))
        assert (body["code"], body["exit_code"]) == ("read-only", 6)
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_disk_that_becomes_full(here: Here) -> None:
    """The recordings and sidecars of before and of now are there."""
    small = here.folder / "dump"
    small.mkdir()
    mount(small, "12m")
    try:
        output = small / "x"
        output.write_bytes(b"the last one")
        body = error_of(here.run(*EIGHT_DW, "--force", "--aux-size", "16M", "--json", "-o", str(output), case="busy-link"))
        assert (body["code"], body["recording"]) == ("disk-full", str(output))
        assert Path(f"{output}.old").read_bytes() == b"the last one"
        assert output.stat().st_size > 11 * MIB
        kept = sidecar.load(output)
        assert kept is not None
        assert kept.options["config"] == 0x107280001
        assert {path.name for path in small.iterdir()} == {"x", "x.old", "x.ptttool.json"}
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.parametrize("others", ["rm perf.data.*.part", "for each in perf.data.*.part; do mv $each moved; ln -s precious $each; done"])
def test_others_take_the_unfinished_file_away(here: Here, others: str) -> None:
    """ptttool has it open: nothing is lost."""
    (here.folder / "precious").write_bytes(b"precious")
    done = here.run(*EIGHT_DW, "--json", "--", "sh", "-c", others)
    assert done.returncode == 0, done.stderr
    assert [one["code"] for one in json.loads(done.stdout)["warnings"]] == ["unfinished-gone"]
    assert here.output.read_bytes() == bundled(SOME)
    assert sidecar.load(here.output) is not None
    assert (here.folder / "precious").read_bytes() == b"precious"


@pytest.mark.parametrize("leads_to", ["file", "nothing", "folder"])
def test_a_link_as_output_is_refused(here: Here, leads_to: str) -> None:
    target = here.folder / "target"
    if leads_to == "file":
        target.write_bytes(b"precious")
    elif leads_to == "folder":
        target.mkdir()
    here.output.symlink_to("target")
    before = here.files()
    body = error_of(here.run(*EIGHT_DW, "--duration", "30", "--json"))
    assert (body["code"], body["exit_code"]) == ("output-is-link", 6)
    assert body["target"] == str(target)
    assert here.files() == before
    assert here.output.is_symlink()
    assert leads_to != "file" or target.read_bytes() == b"precious"


def test_a_link_as_old_is_refused(here: Here) -> None:
    here.output.write_bytes(b"the last one")
    Path(f"{here.output}.old").symlink_to("precious")
    assert error_of(here.run(*EIGHT_DW, "--force", "--duration", "30", "--json"))["code"] == "old-is-link"


def test_a_link_as_folder_is_followed(here: Here) -> None:
    (here.folder / "dump").mkdir()
    (here.folder / "link").symlink_to("dump")
    assert here.run(*EIGHT_DW, "--duration", "0.1", "-o", "link/x").returncode == 0
    assert {path.name for path in (here.folder / "dump").iterdir()} == {"x", "x.ptttool.json"}


def test_without_a_folder_for_temporary_files(here: Here) -> None:
    """perf's standard error needs none."""
    done = here.run(*EIGHT_DW, "--duration", "0.1", "--json", TMPDIR="/proc/none", TEMP="/proc/none", TMP="/proc/none")
    assert done.returncode == 0, done.stderr


# ---- the real perf


def real_perf(folder: Path) -> list[str]:
    """Words that record a software event with the real perf through the recorder, at a terminal that is then closed."""
    code = (
        "import sys; from pathlib import Path\n"
        "from ptttool.capture.perf.recorder import Recorder\n"
        "from ptttool.capture.perf.switch import Switch\n"
        "from ptttool.capture.unfinished.file import UnfinishedFile\n"
        "with UnfinishedFile(Path('real.data')) as file, Switch() as switch:\n"
        "    words = ['perf', 'record', '-e', 'cpu-clock', '-C', '0', '-o', str(file.through_proc), *switch.options]\n"
        "    outcome = Recorder(words, file.through_proc, switch).run(lambda now: now.tracing and Path('begun').touch())\n"
        "    file.take_name('real.data')\n"
        "    Path('outcome').write_text(f'{outcome.complete} {outcome.stopped_by} {outcome.traced}')\n"
    )
    (folder / "record.py").write_text(code, encoding="utf-8")
    return [sys.executable, str(folder / "record.py")]


def can_record(folder: Path) -> bool:
    done = subprocess.run(
        ["perf", "record", "-e", "cpu-clock", "-C", "0", "-o", str(folder / "try.data"), "--", "true"], capture_output=True
    )
    return done.returncode == 0


def test_the_real_perf_survives_the_terminal(live: Live) -> None:
    if not can_record(live.folder):
        pytest.skip("perf may not record here")
    (live.folder / "try.data").unlink()
    terminal = [sys.executable, str(Path(__file__).parents[1] / "standin" / "at_terminal.py"), "close:begun"]
    environment = live.environment("good", {"PATH": os.environ["PATH"]})
    subprocess.run([*terminal, *real_perf(live.folder)], cwd=live.folder, env=environment, timeout=60, check=True, capture_output=True)
    complete, stopped_by, traced = (live.folder / "outcome").read_text(encoding="utf-8").split()
    assert (complete, stopped_by) == ("True", "SIGHUP")
    assert float(traced) > 0
    assert is_complete(live.folder / "real.data")
    header = subprocess.run(["perf", "report", "--header-only", "-i", "real.data"], cwd=live.folder, capture_output=True, text=True)
    assert "# cmdline" in header.stdout
