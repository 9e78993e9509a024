"""How much trace a file holds that perf may not have finished."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from ptttool.capture.event.terms import FORMATS, Format, fields_of
from ptttool.capture.perf.recorder import is_complete
from ptttool.errors import PtttoolError
from ptttool.machine.pmu import PMU_PREFIX
from ptttool.perfdata.model import Attribute, Contents, Mode
from ptttool.perfdata.readers.opening import open_perfdata

# Size of the header of perf.data (struct perf_file_header): no trace fits in a smaller file.
_HEADER = 104
_RECORD_BYTES = {FORMATS[one]: one.record_bytes for one in Format}
_STEP = 1 << 20
# Zeros after the last record are read up to this size.
_MOST_ZEROS = 64 << 20


class HeldTrace(Struct, frozen=True):
    """What a file holds of a trace.

    Parameters
    ----------
    size : int
        Bytes of the file.
    aux_bytes : int
        Bytes of AUX data that can be read.
    tlps : int or None
        Number of TLP records in them; None where the format is not known.
    complete : bool
        Whether perf finished the file.
    certain : bool
        Whether the file was read to its end, so that there are no other AUX data in it.
    """

    size: int
    aux_bytes: int
    tlps: int | None
    complete: bool
    certain: bool

    @property
    def holds_none(self) -> bool:
        """Whether the file provably holds no byte of trace."""
        return self.certain and not self.aux_bytes


def held_trace(path: Path, config: object = None) -> HeldTrace:
    """Read a file as far as possible. What it holds never raises an exception.

    Parameters
    ----------
    path : Path
        The file.
    config : object
        The ``config`` of the event as its sidecar has it; by default that of the PTT event in the file.
    """
    try:
        size = path.stat().st_size
    except OSError:
        return HeldTrace(0, 0, None, complete=False, certain=False)
    if size < _HEADER:
        return HeldTrace(size, 0, None, complete=False, certain=True)
    aux_bytes = 0
    tlps = dict.fromkeys(_RECORD_BYTES.values(), 0)
    certain = False
    contents = Contents(Mode.FILE)
    try:
        with open_perfdata(path) as reader:
            contents = reader.contents
            for chunk in reader.chunks():
                aux_bytes += chunk.size
                for record in tlps:
                    tlps[record] += chunk.size // record
            certain = _read_to_its_end(contents, path, size)
    except (PtttoolError, OSError):
        pass
    if not isinstance(config, int):
        config = next((one.config for one in contents.attributes if _is_of_ptt(one, contents)), None)
    size_of_record = None if config is None else _RECORD_BYTES.get(fields_of(config)["format"])
    return HeldTrace(size, aux_bytes, None if size_of_record is None else tlps[size_of_record], is_complete(path), certain)


def _read_to_its_end(contents: Contents, path: Path, size: int) -> bool:
    """Return whether there is nothing after the last record, or nothing but zeros."""
    if not contents.problems:
        return True
    offset = contents.problems[0].details.get("offset")
    if not isinstance(offset, int) or size - offset > _MOST_ZEROS:
        return False
    with path.open("rb") as file:
        file.seek(offset)
        return all(not part.strip(b"\0") for part in iter(lambda: file.read(_STEP), b""))


def _is_of_ptt(attribute: Attribute, contents: Contents) -> bool:
    """Return whether an event is PTT's: by its name, or by the PMU's number in AUXTRACE_INFO where the file has no names."""
    return attribute.name.startswith(PMU_PREFIX) if attribute.name is not None else attribute.type in contents.auxtrace_priv[:1]
