"""RISC-V trace: packet encapsulation, E-Trace, and the program that was traced."""
