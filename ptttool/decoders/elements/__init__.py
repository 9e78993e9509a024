"""Elements: what all packet protocols decode into."""
