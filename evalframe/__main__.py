"""`python -m evalframe`."""

from evalframe.cli import main

main()
