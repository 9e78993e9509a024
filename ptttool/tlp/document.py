"""The JSON document of one TLP header."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ptttool.diagnostics import Diagnostic
from ptttool.documents import document
from ptttool.tlp.header import Header


@document("tlp")
@dataclass(frozen=True)
class TlpDocument:
    """One TLP header, decoded.

    Parameters
    ----------
    words : tuple of str
        The header DWs in hexadecimal.
    prefix : str or None
        The TLP prefix in hexadecimal.
    pattern : str
        Layout of the header: `legacy`, or `v1` of PCIe 6 parts.
    fields : Mapping[str, int or str]
        The fields that a TLP of this kind has, by name; numbers, and names of kinds, classes and statuses.
    meaning : Mapping[str, str]
        What fields mean, by name: one sentence for each field that needs one.
    diagnostics : tuple of Diagnostic
        What a well-formed header does not have.
    """

    words: tuple[str, ...]
    prefix: str | None
    pattern: str
    fields: Mapping[str, int | str]
    meaning: Mapping[str, str]
    diagnostics: tuple[Diagnostic, ...]

    @classmethod
    def of(cls, header: Header) -> TlpDocument:
        """Make the document of a header."""
        return cls(
            words=tuple(f"{word:#010x}" for word in header.words),
            prefix=None if header.prefix is None else f"{header.prefix:#010x}",
            pattern="v1" if header.pattern == 1 else "legacy",
            fields=header.fields,
            meaning=header.meaning,
            diagnostics=header.diagnostics,
        )
