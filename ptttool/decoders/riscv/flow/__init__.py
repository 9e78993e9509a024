"""RISC-V E-Trace with the program: what was executed."""
