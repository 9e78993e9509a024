"""What a PCIe TLP means.

``codes`` has the names, ``header`` decodes one header, ``bulk`` (NumPy) decodes arrays of headers.
"""

from ptttool.tlp.header import Header, decode_header

__all__ = ["Header", "decode_header"]
