"""Statistics of paired comparison: arrays in, numbers out. Knows nothing of tables, runs or protocols.

Inside this package an undefined number in an array is NaN; a function that answers for one number answers None.
"""
