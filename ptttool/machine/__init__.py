"""Machines: PTT devices, their filters and tune attributes, the PCI functions behind their root ports, and where this is read."""
