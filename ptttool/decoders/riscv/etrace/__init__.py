"""RISC-V E-Trace packets."""
