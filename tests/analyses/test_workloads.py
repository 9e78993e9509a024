"""The page that compares workloads' own numbers with those of the analyses; ``python -m tests.analyses.test_workloads`` writes it anew."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ptttool
from tests import ROOT
from tests.support import captures

PAGE = ROOT / "docs" / "workloads.md"
_BLOCK = re.compile(r"(?s)(<!-- workloads -->\n).*?(<!-- /workloads -->)")


def truth(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((captures.FOLDER / "workloads" / f"w-{name}.truth.json").read_text(encoding="utf-8"))
    return loaded


def analyzed(name: str, analysis: str, folder: Path, where: str | None = None) -> Any:
    with ptttool.open(captures.path_of(f"workloads/w-{name}", folder)) as recording:
        return recording.analyze(analysis, where=where)


def rows(folder: Path) -> Iterator[tuple[str, str, int, str, int | None, bool]]:
    """Recording, who counted what, how many, the analysis and its key, what it says, and whether both are equal."""
    for name in ("randread-8dw", "randread-4dw"):
        counted, found = truth(name), analyzed(name, "io", folder).nvme
        block = counted["counted_over_the_perf_record_command"]
        yield name, "fio: IOs", counted["fio read"]["total_ios"], "io: `nvme.commands`", found.commands, True
        yield name, "block layer: reads", block["block reads"], "io: `nvme.submitted`", found.submitted, True
        drive = counted["nvme_smart_log_difference"]["smart host_read_commands"]
        yield name, "drive: read commands", drive, "io: `nvme.completed`", found.completed, name == "randread-8dw"
        size = counted["fio read"]["io_bytes"]
        yield name, "fio: bytes read", size, "io: `nvme.data_bytes.read`", found.data_bytes.read, name == "randread-8dw"
        written = counted["nvme_smart_log_difference"]["smart data_units_written"]
        yield name, "drive: units written", written, "io: `nvme.data_bytes.write`", found.data_bytes.write, True
        if name == "randread-8dw":
            interrupts = sum(value for key, value in block.items() if "nvme" in key)
            yield name, "kernel: interrupts of the drive", interrupts, "io: `nvme.interrupts`", found.interrupts, False
        else:
            matched = analyzed(name, "latency", folder)
            yield name, "fio: IOs", counted["fio read"]["total_ios"], "latency: reads of 33 to 64 bytes, matched", _of_64(matched), True
    (queue,) = analyzed("randread-8dw", "io", folder).nvme.queues
    total = truth("randread-8dw")["fio read"]["total_ios"]
    yield "randread-8dw", "fio: IOs; interrupts: all of queue 1", total, f"io: `commands` of queue {queue.queue}", queue.commands, True
    yield from _queues(folder)
    counted = truth("download-8dw")["counted_over_the_perf_record_command"]
    nic = analyzed("download-8dw", "io", folder).nic
    yield "download-8dw", "ethtool: packets received", counted["nic rx_packets"], "io: `nic.rx_packets`", nic.rx_packets, True
    yield "download-8dw", "ethtool: bytes received", counted["nic rx_bytes"], "io: `nic.rx_wire_bytes`", nic.rx_wire_bytes, True
    without = counted["nic rx_bytes"] - 4 * counted["nic rx_packets"]
    yield "download-8dw", "the same without frame check sequences", without, "io: `nic.rx_bytes`", nic.rx_bytes, True
    yield "download-8dw", "ethtool: packets sent", counted["nic tx_packets"], "io: `nic.tx_sends_least`", nic.tx_sends_least, True
    yield "download-8dw", "ethtool: bytes sent", counted["nic tx_bytes"], "io: `nic.tx_bytes`", nic.tx_bytes, True
    interrupts = sum(value for key, value in counted.items() if key.startswith("irq"))
    yield "download-8dw", "kernel: interrupts of the controller", interrupts, "io: `nic.interrupts`", nic.interrupts, False
    reads = analyzed("config-dir3-4dw", "summary", folder, "kind = 'CfgRd0' AND destination = 256").records
    yield "config-dir3-4dw", "`lspci -vvv`: configuration reads of 01:00.0", 31, "summary: TLPs `CfgRd0` to 01:00.0", reads, True
    commands = analyzed("config-dir3-4dw", "io", folder).nvme.commands
    yield "config-dir3-4dw", "`nvme`: commands", 3, "io: `nvme.commands`", commands, True


def _queues(folder: Path) -> Iterator[tuple[str, str, int, str, int | None, bool]]:
    """Commands and bytes that tracepoints of the kernel counted, by queue."""
    kernel = json.loads((captures.FOLDER / "kernel" / "truth.json").read_text(encoding="utf-8"))
    for name, counted in kernel.items():
        with ptttool.open(captures.path_of(f"kernel/{name}", folder)) as recording:
            found = recording.analyze("io").nvme
        assert {str(each.queue) for each in found.queues} == set(counted["commands by queue"])
        for each in found.queues:
            commands = counted["commands by queue"][str(each.queue)]
            yield name, f"kernel: commands of queue {each.queue}", commands, "io: `nvme.queues[].commands`", each.commands, True
        if found.data_bytes.read is not None:
            for way, moved in (("read", found.data_bytes.read), ("written", found.data_bytes.write)):
                size = counted[f"block layer: bytes {way}"]
                yield name, f"block layer: bytes {way}", size, f"io: `nvme.data_bytes.{way.replace('written', 'write')}`", moved, True
        if name == "rr-qd8-4dw":
            size = counted["fio"]["read"]["io_bytes"] // counted["fio"]["read"]["total_ios"]
            yield name, "fio: bytes of an IO", size, "io: `sizes.p50`", int(found.drives[0].followed.sizes.p50), True


def _of_64(latency: Any) -> int:
    return sum(each.matched for each in latency.sizes if each.key == "33-64")


def table(folder: Path) -> str:
    lines = ["| recording | counted by | | analysis | |", "| --- | --- | ---: | --- | ---: |"]
    for name, who, count, analysis, found, _ in rows(folder):
        recording = name if (captures.FOLDER / "kernel" / f"{name}.data.xz").exists() else f"w-{name}"
        lines.append(f"| `{recording}` | {who} | {count:,} | {analysis} | {'null' if found is None else f'{found:,}'} |")
    return "\n".join(lines) + "\n"


def test_the_analyses_give_the_workloads_numbers(tmp_path: Path) -> None:
    for name, who, count, analysis, found, is_equal in rows(tmp_path):
        assert (found == count) is is_equal, (name, who, analysis)


def test_the_page_has_these_numbers(tmp_path: Path) -> None:
    block = _BLOCK.search(PAGE.read_text(encoding="utf-8"))
    assert block is not None and block[0] == f"{block[1]}{table(tmp_path)}{block[2]}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        PAGE.write_text(
            _BLOCK.sub(lambda block: f"{block[1]}{table(Path(folder))}{block[2]}", PAGE.read_text(encoding="utf-8")), encoding="utf-8"
        )
