"""What a PCIe TLP means: ``codes`` names them, ``header`` takes one header apart, ``bulk`` (numpy) takes arrays of them apart."""

from ptttool.tlp.header import Header, decode_header

__all__ = ["Header", "decode_header"]
