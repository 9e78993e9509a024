"""Recordings of simulated controllers: where a TLP goes says what it is of, which the analysis does not know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptttool
from ptttool.analyses.io.results import Controller
from ptttool.analyses.shown import Table
from ptttool.generate.profiles import controllers
from ptttool.generate.recording import GeneratedRecording, Wanted
from ptttool.machine.model import Hex24, Machine, PciFunction, PciFunctions
from ptttool.pci import PciAddress

DRIVERS = {"mlx5": "mlx5_core", "bnxt": "bnxt_en", "hns3": "hns3", "virtio": "virtio-pci"}
COLUMNS = ["kind", "requester", "address", "requested_bytes"]


@pytest.fixture(params=DRIVERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def path(name: str, tmp_path: Path) -> Path:
    # Less than a block: the copies of a block begin with its rings anew.
    path = tmp_path / f"{name}.data"
    with path.open("wb") as file:
        GeneratedRecording(Wanted(name, "8dw", 32 * 12_000, direction="inbound")).write(file)
    return path


def machine(driver: str | None) -> Machine:
    functions = (PciFunction(PciAddress.from_id(id_), None, None, Hex24(0x020000), "", driver=driver) for id_ in controllers.FUNCTIONS)
    return Machine(origin="test", functions=PciFunctions.of_json(tuple(functions)))


def truth(path: Path, name: str) -> list[dict[str, int]]:
    """What each function did, by the places of its memory."""
    kind = controllers.KINDS[name]
    with ptttool.open(path) as recording:
        frame: Any = recording.to_polars().select(COLUMNS)
    found = []
    for place, id_ in enumerate(controllers.FUNCTIONS):
        own = frame.filter(frame["requester"] == id_)
        address, size = own["address"].to_numpy(), own["requested_bytes"].to_numpy().astype(np.int64)
        writes, memory = (own["kind"] == "MWr").to_numpy(), controllers.RINGS + place * controllers.FUNCTION_BYTES

        def there(base: int, length: int, which: Any, address: Any = address) -> Any:
            return which & (base <= address) & (address < base + length)

        ring = controllers.RECEIVE if kind.in_place else controllers.REPORTS
        packets = int(there(memory + ring, controllers.RING_BYTES, writes).sum()) // kind.writes
        found.append(
            {
                "rx_packets": packets,
                "rx_bytes": int(size[there(controllers.RECEIVED, 1 << 30, writes)].sum()) - kind.header * packets,
                "tx_sends": int(there(memory + controllers.TRANSMIT, controllers.RING_BYTES, ~writes).sum()),
                "tx_bytes": int(size[there(controllers.SENT, 1 << 30, ~writes)].sum()),
                "interrupts": int((writes & (address == controllers.INTERRUPTS)).sum()),
            }
        )
    return found


def told(found: Controller, name: str) -> tuple[int, int]:
    """The limits of a number, of which nothing is left out."""
    least, most = (getattr(found, f"{name}_{end}") for end in ("least", "most"))
    assert least is not None and most is not None and getattr(found, name, None) in (None, least)
    return least, most


def test_packets_lie_within_the_limits(name: str, path: Path) -> None:
    with ptttool.open(path) as recording:
        result = recording.analyze("io", machine=machine(DRIVERS[name]))
    (table,) = (part for part in result.shown(lambda requester: requester) if isinstance(part, Table) and part.title == "Network")
    titles = [column.title for column in table.columns]
    assert {"Packets received, at least", "Packets received, at most"} <= set(titles) or "Packets received" in titles
    assert {len(row) for row in table.rows} == {len(titles)}
    by_requester = sorted(result.nic.controllers, key=lambda each: each.requester)
    for found, expected in zip(by_requester, truth(path, name), strict=True):
        assert expected["rx_packets"] > 300 and expected["tx_sends"] > 200
        assert (found.model, found.interrupts) == (name, expected["interrupts"])
        least, most = told(found, "rx_packets")
        # A packet at either end of the recording may not be whole.
        assert least - 1 <= expected["rx_packets"] <= most + 1
        # ConnectX fills packets of 60 bytes up to 64: they look like its entries.
        assert least > (0.5 if name == "mlx5" else 0.95) * expected["rx_packets"]
        least, most = told(found, "rx_bytes")
        assert least - 1514 <= expected["rx_bytes"] <= most + 1514
        if name != "hns3":
            least, most = told(found, "tx_sends")
            assert least <= expected["tx_sends"] <= most
        assert (found.tx_bytes_least or 0) <= expected["tx_bytes"] <= (found.tx_bytes_most or 0)


@pytest.mark.parametrize("driver", ["hinic", "vfio-pci", None])
def test_other_drivers(name: str, path: Path, driver: str | None) -> None:
    """Without a driver that says so, only ConnectX is told by what it does."""
    with ptttool.open(path) as recording:
        result = recording.analyze("io", machine=machine(driver))
    is_told = name == "mlx5" and driver != "hinic"
    assert {found.model for found in result.nic.controllers} == {"mlx5" if is_told else None}
    if not is_told:
        assert {note.code for note in result.notes} == {"rings-not-understood"} and result.nic.rx_packets_most is None


@pytest.mark.parametrize("jobs", [2])
def test_any_number_of_jobs(name: str, path: Path, jobs: int) -> None:
    with ptttool.open(path) as recording:
        one, several = (recording.analyze("io", machine=machine(DRIVERS[name]), jobs=count) for count in (1, jobs))
    assert one == several
