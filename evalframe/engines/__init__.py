"""Execution: the only code that drives an execution library. Import the engine you mean, e.g. `engines.duckdb`."""
