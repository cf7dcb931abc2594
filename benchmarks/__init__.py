"""How fast pairlight is on this machine, beside what a user might pick instead: `python -m benchmarks`."""
