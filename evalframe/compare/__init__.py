"""Comparison of runs: whether it is one, what changed, and how sure that is. Reads facts, states and results only."""
