"""Snapshots: folders of .ini files, whole and damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptttool.decoders.opencsd.library import library
from ptttool.decoders.opencsd.snapshot import Snapshot, read_snapshot
from ptttool.decoders.opencsd.sources import Memory, Source
from ptttool.decoders.opencsd.tree import Tree
from ptttool.errors import AccessError, InputError, PtttoolError
from tests.decoders.opencsd import etm4
from tests.decoders.streams import Stream, elements

FILES = {
    "snapshot.ini": "; made by hand\n[snapshot]\nversion=1.0\n\n[device_list]\ndevice0=cpu.ini\ndevice1 = unit.ini\ndevice2=stm.ini\n"
    "device3=funnel.ini\ndevice4=other.ini\n[trace]\nmetadata=trace.ini\n",
    "cpu.ini": "[device]\nname=cpu_0\nclass=core\ntype=Cortex-A53\n[regs]\nPC(size:64)=0x1000\n"
    "[dump1]\nfile=program.bin\naddress=0x1000 # where it begins\nlength=8\n[dump2]\nfile=program.bin\naddress=0x1008\noffset=8\nspace=N\n",
    "unit.ini": "[device]\nname=ETM_0\nclass=trace_source\ntype=ETM4.2\n[regs]\nTRCCONFIGR(0x004)=0x801\nTRCTRACEIDR(0x010)=0x00000010\n"
    "TRCIDR0(0x078)=0x28000EA1\nTRCIDR2(0x07A)=0x488\n",
    "stm.ini": "[device]\nname=STM_0\nclass=trace_source\ntype=STM\n[regs]\nSTMTCSR=0x00200000\n",
    "funnel.ini": "[device]\nname=FUNNEL\nclass=link\ntype=CSTFunnel\n",
    "other.ini": "[device]\nname=ELA\nclass=trace_source\ntype=ELA-500\n",
    "trace.ini": "[trace_buffers]\nbuffers=buffer0,buffer1\n[buffer0]\nname=ETB_0\nfile=trace.bin\nformat=coresight\n"
    "[buffer1]\nfile=stm.bin\nformat=source_data\n[source_buffers]\nETM_0=ETB_0\n[core_trace_sources]\ncpu_0=ETM_0\ncpu_0=ETM_1\n",
}
PROGRAM = etm4.program(etm4.NOP, etm4.branch(8), etm4.NOP, etm4.RET)


def write(folder: Path, **other: str) -> Path:
    """A snapshot; ``other``: files with another text, by name without suffix."""
    for name, text in FILES.items():
        (folder / name).write_text(other.get(name.removesuffix(".ini"), text), encoding="utf-8")
    (folder / "program.bin").write_bytes(PROGRAM)
    return folder


def test_everything_in_it(tmp_path: Path) -> None:
    folder = write(tmp_path)
    memory = (
        Memory(folder / "program.bin", 0x1000, 0, 8),
        Memory(folder / "program.bin", 0x1008, 8, None, "N"),
    )
    registers = {"TRCCONFIGR": 0x801, "TRCTRACEIDR": 0x10, "TRCIDR0": 0x28000EA1, "TRCIDR2": 0x488}
    wanted = Snapshot(
        (Source("ETM_0", "etm4", registers, "Cortex-A53", memory), Source("STM_0", "stm", {"STMTCSR": 0x200000})),
        framed=True,
    )
    assert read_snapshot(folder) == read_snapshot(str(folder / "snapshot.ini")) == wanted
    assert [source.trace_id for source in wanted.sources] == [0x10, 0x20]


def test_decoding_with_it(tmp_path: Path) -> None:
    data = etm4.SYNC + etm4.INFO + etm4.ON + etm4.address(0x1000) + 2 * etm4.EXECUTED
    parameters = {"snapshot": str(write(tmp_path)), "framing": "none", "source": "ETM_0"}
    found = elements("opencsd", Stream(data, parameters))
    ranges = [(each.fields["st_addr"], each.fields["en_addr"]) for each in found if each.kind == "instr_range"]
    assert ranges == [(0x1000, 0x1008), (0x100C, 0x1010)]
    assert {each.channel for each in found} == {0x10}
    assert found == elements("opencsd", Stream(data, {**parameters, "source": "0x10"}))


def test_memory_that_overlaps_counts_once(tmp_path: Path) -> None:
    """The first image at an address; what a core has in memory that is another's, too, is said twice."""
    folder = write(tmp_path)
    (folder / "other.bin").write_bytes(etm4.program(etm4.RET, etm4.RET))
    data = etm4.SYNC + etm4.INFO + etm4.ON + etm4.address(0x1000) + etm4.EXECUTED
    parameters = {"snapshot": str(folder), "framing": "none", "source": "ETM_0", "memory": f"{folder / 'other.bin'}@0x1004"}
    found = elements("opencsd", Stream(data, parameters))
    assert [each.fields["en_addr"] for each in found if each.kind == "instr_range"] == [0x1008]


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"snapshot": "[snapshot]\nversion=1.0\n"}, "snapshot.ini: .*device_list"),
        ({"snapshot": "version\n"}, "snapshot.ini: line 1"),
        ({"snapshot": "[device_list]\ndevice0=missing.ini\n"}, "missing.ini: "),
        ({"cpu": "[regs]\nPC=0\n"}, "cpu.ini: .*device.*name"),
        ({"cpu": FILES["cpu.ini"].replace("file=program.bin\n", "")}, "cpu.ini: .dump1."),
        ({"cpu": FILES["cpu.ini"].replace("length=8", "length=eight")}, "cpu.ini: length=eight"),
        ({"unit": FILES["unit.ini"].replace("=0x801", "=")}, "unit.ini: TRCCONFIGR.0x004.="),
    ],
)
def test_damaged(tmp_path: Path, files: dict[str, str], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read_snapshot(write(tmp_path, **files))


def test_no_text(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "trace.ini").write_bytes(b"[a]\n\xff\n")
    with pytest.raises(InputError, match=r"trace\.ini: offset 0x4"):
        read_snapshot(tmp_path)
    (tmp_path / "trace.ini").write_bytes(b"#" * (1 << 20) + b"#")
    with pytest.raises(InputError) as error:
        read_snapshot(tmp_path)
    assert error.value.code == "over-budget"


def test_an_image_that_is_not_there(tmp_path: Path) -> None:
    folder = write(tmp_path)
    (folder / "program.bin").unlink()
    with pytest.raises(InputError, match=r"program\.bin: memory image"):
        elements("opencsd", Stream(b"", {"snapshot": str(folder), "framing": "none", "source": "ETM_0"}))


def test_a_unit_without_its_registers(tmp_path: Path) -> None:
    folder = write(tmp_path, unit=FILES["unit.ini"].replace("TRCIDR0(", "TRCIDRX("))
    with pytest.raises(PtttoolError, match="ETM_0: a trace unit of kind etm4 needs TRCIDR0"):
        elements("opencsd", Stream(b"", {"snapshot": str(folder), "framing": "none", "source": "ETM_0"}))


def test_what_the_library_does_not_take() -> None:
    with pytest.raises(PtttoolError, match="NONE"):
        Tree(library(), "NONE", [0], [], "unit")


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    folder = write(tmp_path)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(AccessError, match="Permission denied"):
        read_snapshot(folder)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [("snapshot", "cpu.ini", "c\0.ini"), ("snapshot", "trace.ini", "t\0.ini"), ("cpu", "program.bin", "p\0.bin")],
)
def test_a_path_with_a_zero_byte(tmp_path: Path, name: str, old: str, new: str) -> None:
    folder = write(tmp_path, **{name: FILES[f"{name}.ini"].replace(old, new)})
    with pytest.raises(InputError) as caught:
        elements("opencsd", Stream(etm4.SYNC, {"snapshot": str(folder), "framing": "none", "source": "ETM_0"}), ())
    assert caught.value.code == "bad-path"


def test_parameters_of_a_file_with_a_zero_byte(tmp_path: Path) -> None:
    for key, value in (("snapshot", "a\0b"), ("memory", "a\0b@0x1000")):
        parameters = {**etm4.PARAMETERS, "framing": "none", key: value}
        if key == "snapshot":
            parameters["source"] = "ETM_0"
        with pytest.raises(InputError) as caught:
            elements("opencsd", Stream(etm4.SYNC, parameters), ())
        assert caught.value.code == "bad-path"
