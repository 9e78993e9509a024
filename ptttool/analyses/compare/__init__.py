"""Compare two recordings: equal parts of each are measured, and what differs beyond the noise between the parts is pointed out."""
