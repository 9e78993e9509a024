"""RISC-V packet encapsulation."""
