"""Hostile descriptions: sidecars, tune profiles, files of parameters, snapshots of trace, conditions."""

from __future__ import annotations

import shutil
from pathlib import Path

from bench.bombs.contract import bomb

RECORDINGS = Path(__file__).parents[2] / "fixtures" / "captures"


def trace(folder: Path) -> str:
    """Write a short trace and return its path."""
    path = folder / "trace.bin"
    path.write_bytes(bytes(4096))
    return str(path)


@bomb("sidecar-json", "a sidecar of empty objects (1,000)", 1000)
def sidecar(folder: Path, size: int) -> list[str]:
    """Put a sidecar of many empty objects beside a recording."""
    recording = next(iter(sorted(RECORDINGS.rglob("*.data"))))
    path = folder / "perf.data"
    shutil.copy(recording, path)
    Path(f"{path}.ptttool.json").write_text('{"ptttool_sidecar": 1, "x": [' + "{}," * (1000 * size) + "{}]}", encoding="ascii")
    return ["info", "--json", str(path)]


@bomb("profile-dots", "a tune profile with one key of as many parts", 5000, 6, "over-budget")
def profile(folder: Path, size: int) -> list[str]:
    """Write a profile with a long dotted key."""
    path = folder / "p.toml"
    path.write_text("a." * size + "a = 1\n", encoding="ascii")
    return ["tune", "diff", "--json", "--demo", str(path)]


@bomb("profile-keys", "a tune profile with as many attributes that are not there", 2000, 6, "profile-attribute-missing")
def profile_keys(folder: Path, size: int) -> list[str]:
    """Write a profile with attributes that no machine has."""
    path = folder / "p.toml"
    lines = "".join(f"qos_tx_{number:x}=1\n" for number in range(min(size, 4000)))
    path.write_text(f"version = 1\n[devices.hisi_ptt0_0]\n{lines}", encoding="ascii")
    return ["tune", "apply", "--dry-run", "--json", "--demo", str(path)]


@bomb("parameters-blanks", "a line of blanks in a file of parameters (1,000)", 100, 2)
def blanks(folder: Path, size: int) -> list[str]:
    """Write a file of parameters with a long line of blanks."""
    path = folder / "p.scf"
    path.write_text("srcid_bits = " + " " * (1000 * size) + "x" + " " * (1000 * size) + "y # z\n", encoding="ascii")
    return ["decode", "--protocol", "riscv-encap", "--params", str(path), "--to", "jsonl", trace(folder)]


@bomb("snapshot-blanks", "a line of blanks in a snapshot (1,000)", 200, 6, "bad-snapshot")
def snapshot_blanks(folder: Path, size: int) -> list[str]:
    """Write a snapshot with a long line of blanks."""
    (folder / "snapshot.ini").write_text("[a]\nx" + " " * (1000 * size) + "y\n", encoding="ascii")
    return decode(folder)


@bomb("snapshot-devices", "a snapshot that names one device again and again", 500, 2)
def snapshot_devices(folder: Path, size: int) -> list[str]:
    """Write a snapshot with many devices in one file."""
    lines = "".join(f"TRCIDR{number % 14}={number}\n" for number in range(200))
    unit = f"[device]\nname=ETM_0\nclass=trace_source\ntype=ETM4\n[regs]\nTRCCONFIGR=1\nTRCTRACEIDR=16\n{lines}"
    (folder / "unit.ini").write_text(unit, encoding="ascii")
    devices = "".join(f"device{number}=unit.ini\n" for number in range(size))
    (folder / "snapshot.ini").write_text(f"[device_list]\n{devices}", encoding="ascii")
    return decode(folder)


@bomb("snapshot-images", "a snapshot with images of memory", 1000)
def snapshot_images(folder: Path, size: int) -> list[str]:
    """Write a snapshot with a core that has many images of memory."""
    (folder / "program.bin").write_bytes(bytes(64))
    dumps = "".join(f"[dump{number}]\nfile=program.bin\naddress={64 * number:#x}\n" for number in range(size))
    (folder / "core.ini").write_text(f"[device]\nname=cpu_0\nclass=core\ntype=Cortex-A53\n{dumps}", encoding="ascii")
    registers = "TRCIDR0=0x28000ea1\nTRCIDR2=0x488\nTRCCONFIGR=1\nTRCTRACEIDR=16\n"
    unit = f"[device]\nname=ETM_0\nclass=trace_source\ntype=ETM4\n[regs]\n{registers}"
    (folder / "unit.ini").write_text(unit, encoding="ascii")
    (folder / "trace.ini").write_text("[core_trace_sources]\ncpu_0=ETM_0\n", encoding="ascii")
    (folder / "snapshot.ini").write_text("[device_list]\na=core.ini\nb=unit.ini\n[trace]\nmetadata=trace.ini\n", encoding="ascii")
    return decode(folder)


def decode(folder: Path) -> list[str]:
    """Return the arguments that decode a trace with the snapshot."""
    described = ["-p", f"snapshot={folder}", "-p", "framing=none", "-p", "source=ETM_0"]
    return ["decode", "--protocol", "opencsd", *described, "--to", "jsonl", trace(folder)]


@bomb("condition-doubled", "a condition that repeats what it tests, again and again", 20, 2, "over-budget")
def condition(folder: Path, size: int) -> list[str]:
    """Ask for rows by a condition that doubles itself."""
    text = "index BETWEEN 1 AND 2" + " BETWEEN TRUE AND TRUE" * size
    return ["decode", "--protocol", "hisi-ptt", "--input", "4dw", "--to", "jsonl", "--where", text, trace(folder)]


@bomb("condition-pattern", "a pattern that matches in many ways", 10, 2, "unknown-value")
def pattern(folder: Path, size: int) -> list[str]:
    """Ask for rows by a pattern with many jokers."""
    text = "kind LIKE '" + "%_" * size + "%q'"
    return ["decode", "--protocol", "hisi-ptt", "--input", "4dw", "--to", "jsonl", "--where", text, trace(folder)]


@bomb("tlp-labels", "a line of a log with labels (characters)", 4000, 2)
def labels(_: Path, size: int) -> list[str]:
    """Paste a line with many labels."""
    return ["tlp", "TLP Header" * (size // 10)]


@bomb("event-terms", "an event string with terms that no device has (characters)", 800)
def terms(_: Path, size: int) -> list[str]:
    """Explain an event string with many unknown terms."""
    text = "hisi_ptt0_0/" + ",".join(f"filte{number}=1" for number in range(size // 10)) + "/"
    return ["explain", "--json", "--demo", text]
