"""Requests by their address: regions, pages, interrupts, doorbells, peer-to-peer, alignment."""
