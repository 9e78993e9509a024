"""Reads of the processor from devices: how long they take, of which registers, and which ones are polled."""
