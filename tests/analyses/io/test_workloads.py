"""What the analysis finds in recordings of workloads is what the workloads counted themselves (`fixtures/README.md`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ptttool
from tests.support import captures


def analyzed(name: str, folder: Path, **options: Any) -> Any:
    with ptttool.open(captures.path_of(name, folder)) as recording:
        return recording.analyze("io", **options)


def test_random_reads(tmp_path: Path) -> None:
    """fio: 4000 reads of 4 KiB, 32 at a time; 1838 interrupts of the queue's, those of other times not among them."""
    found = analyzed("workloads/w-randread-8dw", tmp_path).nvme
    assert (found.commands, found.submitted, found.completed) == (4000, 4000, 4000)
    assert (found.data_bytes.read, found.data_bytes.write, found.uncertain_bytes) == (16_384_000, 0, 0)
    (drive,) = found.drives
    assert drive.in_flight.peak == 32 and drive.in_flight.is_exact


def test_random_reads_without_writes(tmp_path: Path) -> None:
    """fio: 20000 reads of 4 KiB; their data are posted, which was not traced."""
    found = analyzed("workloads/w-randread-4dw", tmp_path).nvme
    assert (found.commands, found.completed, found.data_bytes.read, found.data_bytes.write) == (20_000, None, None, 0)
    assert found.drives[0].in_flight is None


def test_a_download(tmp_path: Path) -> None:
    """ethtool: 3298 packets and 4975267 bytes received, 111 packets and 6334 bytes sent."""
    found = analyzed("workloads/w-download-8dw", tmp_path)
    assert (found.nic.rx_packets, found.nic.rx_wire_bytes, found.nic.rx_bytes) == (3298, 4_975_267, 4_975_267 - 4 * 3298)
    assert found.nic.tx_sends_least == 111 and found.nic.tx_bytes == 6334
    assert found.nvme.commands == 0 and not found.unexplained


def test_commands_by_their_completions(tmp_path: Path) -> None:
    """nvme-cli: three commands; only outbound TLPs were traced."""
    found = analyzed("workloads/w-config-dir3-4dw", tmp_path)
    assert found.nvme.commands == 3 and found.nvme.drives[0].counted_by == "completions of 64 bytes"
    assert found.nvme.data_bytes.read is None and found.nic.rx_packets is None


@pytest.mark.parametrize("name", ["6.12/m-8dw-port10-type7-dir2", "6.12/m-4dw-port10-type7-dir2", "6.1/m-8dw-port10-type7-dir2"])
def test_a_mixed_load(name: str, tmp_path: Path) -> None:
    found = analyzed(name, tmp_path).nvme
    assert found.submitted == found.completed == found.commands
    assert found.data_bytes.read % 512 == found.data_bytes.write % 512 == 0


@pytest.mark.parametrize("jobs", [1, 2])
def test_any_number_of_jobs(jobs: int, tmp_path: Path) -> None:
    found = analyzed("workloads/w-randread-8dw", tmp_path, jobs=jobs)
    assert found.nvme.drives[0].in_flight.ticks == pytest.approx(146393.69625)
