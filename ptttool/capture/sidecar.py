"""The file beside a recording that keeps what perf.data cannot say: names, bus ranges, options, tune values, versions.

JSON, versioned (``"ptttool_sidecar": 1``). Nothing needs it: a recording decodes without, and a sidecar that is damaged, of
another recording or of a newer ptttool is left aside with a reason, never an error.

    {"ptttool_sidecar": 1,
     "recording": {"name": str, "head_sha256": str | null},
     "machine": {...},             the PTT device, its root ports and the functions behind (ptttool.machine.documents.as_json)
     "options": {...},             what was asked for; "event", "config", "cpu", "aux_size" among it
     "command": [str],             the perf command line
     "traced": {"command": [str], "exit": int | null, "signal": str | null, "stopped": bool} | null,
     "tune": {"qos_tx_p": int},    values when the recording began; those that could be read
     "versions": {"ptttool": str, "perf": str, "kernel": str},
     "started": str, "ended": str, wall time, ISO 8601 with its offset from UTC
     "replay_of": str | null}      the bundled recording this is a copy of
"""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from ptttool.errors import PtttoolError
from ptttool.files.atomic import output_file
from ptttool.machine import documents as machines
from ptttool.machine.model import Machine, PttDevice
from ptttool.pci import PciAddress

KEY, VERSION = "ptttool_sidecar", 1
SUFFIX = ".ptttool.json"
# The head of a perf.data holds sizes, positions and event numbers: enough to tell two recordings apart, and it survives a cut.
_HEAD = 4096
_LARGEST = 64 << 20


@dataclass(frozen=True)
class Sidecar:
    """What was known when the recording was made; the fields are those of the JSON."""

    machine: Machine
    options: Mapping[str, Any] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    traced: Mapping[str, Any] | None = None
    tune: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    started: str | None = None
    ended: str | None = None
    replay_of: str | None = None

    @property
    def device(self) -> PttDevice | None:
        """The PTT device that recorded."""
        return self.machine.devices[0] if self.machine.devices else None

    @property
    def cpu(self) -> int | None:
        """The CPU that recorded."""
        cpu = self.options.get("cpu")
        return cpu if isinstance(cpu, int) else None


def sidecar_path(recording: str | Path) -> Path:
    """Where a recording's sidecar is."""
    return Path(f"{recording}{SUFFIX}")


def part_of(machine: Machine, device: PttDevice) -> Machine:
    """The machine with one PTT device, its root ports and the functions behind them: what its traces can name."""
    ports = {entry.address for entry in device.root_ports}

    def named(address: PciAddress) -> bool:
        return address in ports or address == device.pci or machine.root_port_of(address) in ports

    kept = {address: function for address, function in machine.functions.items() if named(address)}
    return replace(machine, devices=(device,), functions=kept)


def save(recording: str | Path, sidecar: Sidecar) -> Path:
    """Write a recording's sidecar, whole or not at all; the recording is already there. Raises OutputError, OSError."""
    path = sidecar_path(recording)
    body = {
        KEY: VERSION,
        "recording": {"name": Path(recording).name, "head_sha256": _head(Path(recording))},
        "machine": machines.as_json(sidecar.machine),
        "options": dict(sidecar.options),
        "command": list(sidecar.command),
        "traced": None if sidecar.traced is None else dict(sidecar.traced),
        "tune": dict(sidecar.tune),
        "versions": dict(sidecar.versions),
        "started": sidecar.started,
        "ended": sidecar.ended,
        "replay_of": sidecar.replay_of,
    }
    with output_file(path, force=True) as file:
        file.write((json.dumps(body, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace"))
    return path


def load(recording: str | Path) -> Sidecar | None:
    """A recording's sidecar; None where there is none that can be used."""
    return find(recording)[0]


def find(recording: str | Path) -> tuple[Sidecar | None, str | None]:
    """A recording's sidecar, and, where there is one that cannot be used, why not (a sentence without its full stop).

    No sidecar at all is (None, None). Never raises for what the file holds.
    """
    path = sidecar_path(recording)
    if str(recording) == "-":
        return None, None
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return None, f"{path} is no regular file"
        if status.st_size > _LARGEST:
            return None, f"{path} is too large to be a sidecar"
        body = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None, None
    except OSError as error:
        return None, f"{path} cannot be read: {error.strerror}"
    except (ValueError, RecursionError):
        return None, f"{path} is no JSON"
    if not isinstance(body, dict) or KEY not in body:
        return None, f"{path} is no sidecar of ptttool"
    version = body[KEY]
    if version != VERSION:
        newer = isinstance(version, int) and version > VERSION
        return None, f"{path} is of {'a newer' if newer else 'an unknown'} version ({version!r})"
    try:
        sidecar, head = _from_json(body)
        other = head is not None and _head(Path(recording)) != head
    except OSError as error:
        return None, f"{recording} cannot be read: {error.strerror}"
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, PtttoolError):
        return None, f"{path} is damaged"
    return (None, f"{path} belongs to another recording") if other else (sidecar, None)


def _head(recording: Path) -> str | None:
    """SHA-256 of a recording's first 4 KiB; None for what is no file (perf.data may be a directory)."""
    if not recording.is_file():
        return None
    with recording.open("rb") as file:
        return hashlib.sha256(file.read(_HEAD)).hexdigest()


def _from_json(body: Mapping[str, Any]) -> tuple[Sidecar, str | None]:
    head = body["recording"]["head_sha256"]
    traced = body["traced"]
    machine = machines.from_json(body["machine"])
    if not _conforms(machine, Machine):
        raise TypeError("a value of another type")
    sidecar = Sidecar(
        machine=machine,
        options=_mapping(body["options"]),
        command=tuple(str(word) for word in body["command"]),
        traced=None if traced is None else _mapping(traced),
        tune={str(name): int(value) for name, value in _mapping(body["tune"]).items()},
        versions={str(name): str(value) for name, value in _mapping(body["versions"]).items()},
        started=_text(body["started"]),
        ended=_text(body["ended"]),
        replay_of=_text(body.get("replay_of")),
    )
    return sidecar, _text(head)


def _conforms(value: Any, hint: Any) -> bool:
    """Whether a value, all the way down, is of the type that it is declared as: a number where a name should be breaks a reader later."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_conforms(value, one) for one in arguments)
    if origin is tuple:
        return isinstance(value, tuple) and all(_conforms(one, arguments[0]) for one in value)
    if origin is Mapping:
        return all(_conforms(key, arguments[0]) and _conforms(one, arguments[1]) for key, one in value.items())
    if isinstance(hint, type) and is_dataclass(hint):
        return isinstance(value, hint) and all(_conforms(getattr(value, name), kind) for name, kind in get_type_hints(hint).items())
    return isinstance(value, hint)


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("an object is expected")
    return value


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError("a string is expected")
    return value
