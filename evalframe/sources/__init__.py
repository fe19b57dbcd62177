"""Outside formats -> contracted tables: normalise, and refuse to guess."""
