"""Requests matched to their completions, in bulk: by segment, Requester ID and full tag."""
