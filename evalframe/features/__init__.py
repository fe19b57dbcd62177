"""Sequence -> column: what one predicted trace says. Import the module you mean: `features.progress`."""
