"""`python -m pairlight` runs the command `pairlight`."""

from pairlight.cli import main

main()
