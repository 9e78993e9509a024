"""Analyses of TLPs: any records through all analyses in one pass, and everything that their results are shown as."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from campaign.fuzz.judge import CONTROL
from campaign.fuzz.targets.contract import Target, add, saved
from tests.reference.hisi_ptt import walk
from tests.support import captures
from tests.support.recordings import build_perfdata, words_4dw, words_8dw

if TYPE_CHECKING:
    from ptttool.machine.model import Machine

# Bytes of an input before the records: see _Input.
HEAD = 2
# Events by format: filters by port and by requester, inbound, outbound, both, reserved directions.
CONFIGS = {
    True: (0x1_0728_0001, 0x1_0708_0001, 0x1_0738_0001, 0x1_0120_0001, 0x1_0728_0100, 0x1_0710_0001),
    False: (0x0_0728_0001, 0x0_0708_0001, 0x0_0718_0001, 0x0_0738_0001, 0x0_0738_0100, 0x0_0110_0001),
}
TIME_MODELS = ("auto", "auto", "counter", "delta")
SEED_RECORDS = 160


@dataclass(frozen=True)
class _Input:
    """What an input means.

    Parameters
    ----------
    recording : bytes
        The perf.data.
    time_model : str
        How Time is read.
    tick_ns : float or None
        Nanoseconds of a tick.
    has_machine : bool
        Whether the machine is known.
    """

    recording: bytes
    time_model: str
    tick_ns: float | None
    has_machine: bool


def _meaning(data: bytes) -> _Input:
    """Read the two bytes before the records.

    Byte 0: bit 0 8DW, bits 2:1 time model, bit 3 ticks are known, bit 4 no machine, bit 5 a hole in the middle, bit 6 a second CPU.
    Byte 1: the event.
    """
    first, second, records = data[:1] or b"\0", data[1:HEAD] or b"\0", data[HEAD:]
    bits = first[0]
    size = 32 if bits & 1 else 16
    configs = CONFIGS[bool(bits & 1)]
    middle = len(records) // size // 2 * size
    chunks = [(0, 0, records[: middle or None])]
    if middle:
        later = records[middle : len(records) // size * size]
        chunks.append((1, 0, later) if bits & 1 << 6 else (0, middle + (size << 4 if bits & 1 << 5 else 0), later))
    recording = build_perfdata([chunk for chunk in chunks if chunk[2]], config=configs[second[0] % len(configs)])
    return _Input(recording, TIME_MODELS[bits >> 1 & 3], 4.0 if bits & 1 << 3 else None, not bits & 1 << 4)


@cache
def _machine() -> Machine:
    from ptttool.machine.details.read import with_details
    from ptttool.machine.discovery import require_machine
    from ptttool.machine.sources.recorded import DemoSource

    source = DemoSource()
    return with_details(source, require_machine(source, tune=False))


def _of_tlps() -> list[str]:
    from ptttool.analyses.contract import ANALYSES

    return [name for name in ANALYSES.names() if name != "elements"]


def run_all(data: bytes, place: Path) -> None:
    """Run all analyses in one pass, and show, describe and draw what they find."""
    import ptttool
    from ptttool.analyses.drawing.names import names_of
    from ptttool.analyses.drawing.notebook import notebook_html
    from ptttool.documents import to_json
    from ptttool.pipeline.analyzing.ask import Ask
    from ptttool.pipeline.scope import TimeOptions
    from ptttool.report.gather import report_of
    from ptttool.report.markdown import markdown_of
    from ptttool.report.page.build import page_of

    meaning = _meaning(data)
    path = saved(meaning.recording, place, "perf.data")
    machine = _machine() if meaning.has_machine else None
    with (
        ptttool.open(path, parameters={"downstream": "01-02"} if meaning.has_machine else {}) as recording,
        recording._workers(1) as workers,
    ):
        report = report_of(recording, Ask(workers, machine, time=TimeOptions(meaning.time_model, meaning.tick_ns)))
    results: dict[str, Any] = dict(report.results)
    for result in results.values():
        to_json(result)
        if hasattr(result, "shown"):
            notebook_html(result.shown(names_of(machine)))
    markdown_of([report])
    page_of([report], version="1")


def run_tools(data: bytes, place: Path) -> None:
    """Follow TLPs, compare the recording with itself, and write it for other tools."""
    import ptttool
    from ptttool.errors import UsageError

    meaning = _meaning(data)
    path = saved(meaning.recording, place, "perf.data")
    given: dict[str, Any] = {"time_model": meaning.time_model, "tick_ns": meaning.tick_ns}
    ptttool.compare(path, path, **given)
    with ptttool.open(path) as recording:
        for to in ("pcapng", "perfetto"):
            with suppress(UsageError):  # nothing is known of time
                recording.export(place / f"out.{to}", to, force=True, **given)
        for index in (0, 5):
            with suppress(UsageError):  # there are fewer
                recording.follow(index, **given)


def command_all(data: bytes, place: Path) -> list[str]:
    """Show all analyses on the terminal."""
    meaning = _meaning(data)
    path = saved(meaning.recording, place, "perf.data")
    words = ["analyze", ",".join(_of_tlps()), str(path), "--jobs", "1", "--time-model", meaning.time_model]
    return words + (["--demo"] if meaning.has_machine else [])


def command_tools(data: bytes, place: Path) -> list[str]:
    """Compare the recording with itself."""
    path = str(saved(_meaning(data).recording, place, "perf.data"))
    return ["compare", path, path, "--jobs", "1"]


def seeds() -> Iterator[bytes]:
    """Take the beginnings of generated recordings and of real ones, and records of one kind."""
    from ptttool.generate.profiles import PROFILES
    from ptttool.generate.records import Records

    for number, name in enumerate(PROFILES.names()):
        eight_dw = number % 2 == 1
        records = b"".join(bytes(piece) for piece in Records(PROFILES.get(name), eight_dw=eight_dw).pieces(SEED_RECORDS))
        yield bytes([eight_dw | (2 + number % 4 << 1), 3 * (number & 1)]) + records
    for name, head in (("w-randread-4dw", b"\x08\x02"), ("w-config-dir3-4dw", b"\x00\x03"), ("w-download-8dw", b"\x01\x00")):
        yield head + _beginning(name)
    yield b"\x01\x00" + words_8dw(40)
    yield b"\x00\x03" + words_4dw(40)


def _beginning(workload: str) -> bytes:
    """Return the first records of a recording."""
    chunks = walk(captures.content(f"workloads/{workload}"))[1]
    return max((trace for _, _, trace in chunks), key=len)[: SEED_RECORDS * 32]


@cache
def _recorded() -> bytes:
    """Make the recording that the sidecars are of; it never changes, because they name its hash."""
    return build_perfdata([(0, 0, _beginning("w-config-dir3-4dw"))], config=CONFIGS[False][3])


def sidecars() -> Iterator[bytes]:
    """Make sidecars with all that is known of a machine."""
    import tempfile

    from ptttool.capture import sidecar
    from ptttool.machine.measured import ClockSource, KeptClock

    machine = _machine()
    with tempfile.TemporaryDirectory() as name:
        recording = saved(_recorded(), Path(name), "perf.data")
        for device in machine.devices[:2]:
            part = sidecar.part_of(machine, device)
            clock = KeptClock("counter", 11, 4.0, 3.9994, 4.0005, 61, ClockSource.SELF_TEST, "2026-01-01T00:00:00+00:00")
            kept = sidecar.Sidecar(machine=part, command=("perf", "record", "-e", device.name), clock=clock, seconds=1.0)
            yield sidecar.save(recording, kept).read_bytes()


def run_sidecar(data: bytes, place: Path) -> None:
    """Report on a recording that has the sidecar."""
    import ptttool
    from ptttool.capture.names import sidecar_path
    from ptttool.pipeline.analyzing.ask import Ask
    from ptttool.report.gather import report_of
    from ptttool.report.markdown import markdown_of
    from ptttool.report.page.build import page_of

    path = saved(_recorded(), place, "perf.data")
    sidecar_path(path).write_bytes(data)
    with ptttool.open(path) as recording, recording._workers(1) as workers:
        report = report_of(recording, Ask(workers, recording.machine, went_offline=recording.went_offline))
    page = page_of([report], version="1").decode()
    assert page.count("<script") == 3 and "<img" not in page and not CONTROL.search(page)
    markdown_of([report])


def command_sidecar(data: bytes, place: Path) -> list[str]:
    """Report on a recording that has the sidecar, in Markdown."""
    from ptttool.capture.names import sidecar_path

    path = saved(_recorded(), place, "perf.data")
    sidecar_path(path).write_bytes(data)
    return ["report", str(path), "--to", "md", "--jobs", "1"]


# Headers' first bytes: completions, configuration, messages, atomics; all-zero records.
WORDS = (b"\x00\x00\x00\x0a", b"\x01\x00\x00\x4a", b"\x01\x00\x00\x04", b"\x01\x00\x00\x34", b"\xff\xff\xff\xff", bytes(32))
add(Target("analyses", seeds, run_all, command_all, WORDS, 8192))
add(Target("analyses-tools", seeds, run_tools, command_tools, WORDS, 8192))
SIDECAR_WORDS = (
    b"null",
    b"-1",
    b"1e400",
    b'"\\u001b[31m"',
    b'"</script><script>alert(1)</script><img src=x>"',
    b"18446744073709551615",
    b"[[[[",
)
add(Target("report-sidecar", sidecars, run_sidecar, command_sidecar, SIDECAR_WORDS, 131072))
