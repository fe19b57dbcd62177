"""One function per command: read, validate, plan, run, seal, return a typed result."""
