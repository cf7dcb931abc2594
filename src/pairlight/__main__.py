"""`python -m pairlight` is the command `pairlight`."""

from pairlight.cli import main

main()
