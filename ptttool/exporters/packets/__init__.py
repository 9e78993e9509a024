"""TLPs as packets of a capture file: the blocks of pcapng, and the pseudo-header in front of each TLP."""
