"""`python -m evalframe`."""

from evalframe.cli import program

program()
