"""Machines and what tunes them: sysfs trees, udev databases, tune profiles."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from campaign.fuzz import archive
from campaign.fuzz.targets.contract import Target, add, saved
from tests.support import machines

PTT = "sys/devices/platform/4010000000.pcie/pci0000:00/0000:00:09.0/hisi_ptt0_2"


@cache
def base() -> tuple[dict[str, bytes], dict[str, str]]:
    """Read the recorded machine that inputs change."""
    return machines.contents(machines.NEW)


def tree_seeds() -> Iterator[bytes]:
    """Take the device's own files of the recorded machine."""
    files, links = base()
    own = {name.removeprefix("/"): content for name, content in files.items() if name.startswith(f"/{PTT}/")}
    yield archive.pack({name: own[name] for name in sorted(own)[:20]})
    yield archive.pack({f"{PTT}/cpumask": b"0-1,3\n", f"{PTT}/format/filter": b"config:0-19\n", f"{PTT}/type": b"11\n"})
    some = sorted(name for name in links if "hisi_ptt" in name)[:6]
    yield archive.pack({name.removeprefix("/"): links[name] for name in some})
    yield archive.pack({"sys/class/net/enp1s0": "../../devices/platform", f"{PTT}/requester_filters/0000:01:00.0": b"0x100\n"})


def run_tree(data: bytes, _place: Path) -> None:
    """Read a machine with the files of an input in place of its own."""
    from ptttool.machine.discovery import read_machine

    files, links = base()
    changed, linked = archive.unpack(data)
    # A name is a file, a folder or a link, and only one of them.
    ours = {f"/{name}": content for name, content in changed.items()}
    theirs = {f"/{name}": target for name, target in linked.items() if f"/{name}" not in ours}
    names = {*ours, *theirs}

    def clashes(name: str) -> bool:
        return name in names or any(str(parent) in names for parent in Path(name).parents)

    kept = {name: content for name, content in files.items() if not clashes(name)}
    kept_links = {name: target for name, target in links.items() if not clashes(name)}
    folders = {str(parent) for name in (*kept, *kept_links) for parent in Path(name).parents}
    whole = {name: content for name, content in {**kept, **ours}.items() if name not in folders}
    read_machine(machines.in_memory(whole, {**kept_links, **{n: t for n, t in theirs.items() if n not in folders}}))


def command_tree(data: bytes, place: Path) -> list[str]:
    """List a machine in a folder."""
    archive.write(data, place)
    (place / "sys" / "bus").mkdir(parents=True, exist_ok=True) if not (place / "sys").is_file() else None
    return ["list", "--sysfs", str(place)]


def archive_seeds() -> Iterator[bytes]:
    """Make tar archives of some files of the recorded machine, in each form."""
    import bz2
    import gzip
    import io
    import lzma
    import tarfile

    import zstandard

    files, _ = base()
    own = sorted(name for name in files if name.startswith(f"/{PTT}/"))[:6]
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in own:
            member = tarfile.TarInfo(f"machine{name}")
            member.size, member.pax_headers = len(files[name]), {"comment": "x"}
            tar.addfile(member, io.BytesIO(files[name]))
        for kind, name in ((tarfile.SYMTYPE, "machine/sys/bus/link"), (tarfile.LNKTYPE, "machine/sys/bus/same")):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, f"machine{own[0]}"
            tar.addfile(member)
    yield made.getvalue()[:16384]
    for pack in (gzip.compress, bz2.compress, lzma.compress, zstandard.ZstdCompressor().compress):
        yield pack(made.getvalue())


def run_archive(data: bytes, place: Path) -> None:
    """Read a machine in an archive."""
    from ptttool.machine.discovery import read_machine
    from ptttool.machine.sources.archive import ArchiveSource

    read_machine(ArchiveSource(saved(data, place)))


def database_seeds() -> Iterator[bytes]:
    """Take the beginning of a udev database."""
    import gzip

    text = gzip.decompress((machines.MACHINES / f"{machines.NEW}.umockdev.gz").read_bytes())
    yield text[:3000]
    yield b"P: /devices/pci0000:00/0000:00:01.0\nN: x\nE: DEVPATH=/devices/x\nE: SUBSYSTEM=pci\nE: ID_VENDOR_FROM_DATABASE=Huawei\n\n"


def run_database(data: bytes, _place: Path) -> None:
    """Read a udev database."""
    from ptttool.machine.sources.recorded import parse_database

    parse_database(io.BytesIO(data), "the udev database")


def profile_seeds() -> Iterator[bytes]:
    """Make tune profiles."""
    names = ("qos_tx_cpl", "qos_tx_np", "qos_tx_p", "rx_alloc_buf_level", "tx_alloc_buf_level")
    yield b"version = 1\n\n[devices.hisi_ptt0_2]\n" + "".join(f"{name} = 1\n" for name in names).encode()
    yield b"version = 1\n[devices]\nhisi_ptt0_0 = { qos_tx_p = 2 }\nhisi_ptt2_0 = {}\n"


@cache
def demo_devices() -> tuple[object, ...]:
    """Read the devices of the demo machine."""
    from ptttool.machine.discovery import list_devices
    from ptttool.machine.sources.recorded import DemoSource

    return list_devices(DemoSource())


def run_profile(data: bytes, place: Path) -> None:
    """Compare a profile with the demo machine."""
    from ptttool.tune.profiles.match import diff_profile
    from ptttool.tune.profiles.profile import load_profile

    diff_profile(load_profile(str(saved(data, place))), demo_devices())  # type: ignore[arg-type]


add(Target("machine", tree_seeds, run_tree, command_tree, (b"\n=== sys/", b" -> ", b"../", b"config:", b"0-", b",", b"0x"), 8192))
add(
    Target(
        "machine-archive", archive_seeds, run_archive, lambda data, place: ["list", "--sysfs", str(saved(data, place))],
        (b"ustar", b"sys/bus/", b"..", b"././@LongLink", b"1234567777", b"\x80\x00\x00\x00\x00\x00\x00\x01", b"12 path=a\n"),
    )
)  # fmt: skip
add(Target("udev-database", database_seeds, run_database, words=(b"\n\nP: ", b"\nE: ", b"\nS: ", b"=")))
add(
    Target(
        "tune-profile", profile_seeds, run_profile, lambda data, place: ["tune", "diff", str(saved(data, place)), "--demo"],
        (b"[devices.", b"version", b"qos_tx_p = ", b"99999999999999999999", b"inf", b"0x2", b'"""', b"[[", b"{", b"a."),
    )
)  # fmt: skip
