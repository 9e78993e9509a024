"""Tune and trace PCIe links with the HiSilicon PTT device, and decode its traces."""

__version__ = "0.1.0"
