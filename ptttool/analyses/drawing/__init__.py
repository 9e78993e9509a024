"""Shown parts as text: what the terminal, Markdown and notebooks have in common."""
