"""Campaigns against ptttool: kills and faults at every system call (``make crash``), hostile input (``make fuzz``)."""
