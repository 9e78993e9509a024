"""The self-test on files from elsewhere: readings beside a recording, and a recording beside readings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from campaign.fuzz.targets.contract import FIXTURES, Target, add

ANCHORS = FIXTURES / "anchors"
NAME = "anchors-4dw-dir3"


def reading_seeds() -> Iterator[bytes]:
    """Yield readings of the real driver, whole and few."""
    import json

    text = (ANCHORS / f"{NAME}.reads.json").read_bytes()
    body = json.loads(text)
    yield text
    yield json.dumps(body | {"reads": body["reads"][:4]}).encode()


def recording_seeds() -> Iterator[bytes]:
    """Yield recordings of the real driver in both formats."""
    for name in (NAME, "anchors-8dw-dir1"):
        yield (ANCHORS / f"{name}.data").read_bytes()


def run_readings(data: bytes, place: Path) -> None:
    """Judge a good recording with the readings."""
    (place / f"{NAME}.data").write_bytes((ANCHORS / f"{NAME}.data").read_bytes())
    (place / f"{NAME}.reads.json").write_bytes(data)
    _judge(place)


def run_recording(data: bytes, place: Path) -> None:
    """Judge the recording with good readings."""
    (place / f"{NAME}.data").write_bytes(data)
    (place / f"{NAME}.reads.json").write_bytes((ANCHORS / f"{NAME}.reads.json").read_bytes())
    _judge(place)


def _judge(place: Path) -> None:
    from ptttool.api.selftest import judge_recordings
    from ptttool.cli.views.selftest import print_selftest
    from ptttool.documents import dumps

    result = judge_recordings(place)
    assert [one.name for one in result.judged] == [f"A{number}" for number in range(1, 21)]
    assert all(clock.is_sound for clock in result.clocks.values())
    dumps(result)
    print_selftest(result)


def command(data: bytes, place: Path) -> list[str]:
    """Judge the folder."""
    run = run_readings if data.lstrip()[:1] == b"{" else run_recording
    (place / "folder").mkdir(exist_ok=True)
    name = f"{NAME}.reads.json" if run is run_readings else f"{NAME}.data"
    for path in ANCHORS.glob(f"{NAME}.*"):
        (place / "folder" / path.name).write_bytes(path.read_bytes())
    (place / "folder" / name).write_bytes(data)
    return ["selftest", "--from", str(place / "folder")]


WORDS = (b'"reads"', b'"bdf"', b"[", b"{", b"-1", b"9" * 30, b"1e999", b"NaN", b"null", b"4611686018427387903")
add(Target("selftest-readings", reading_seeds, run_readings, command=command, words=WORDS, most=1 << 16))
add(Target("selftest-recording", recording_seeds, run_recording, most=1 << 17))
