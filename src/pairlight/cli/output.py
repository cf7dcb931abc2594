"""What commands print: JSON, lines of metrics, and the command itself."""

import json
import shlex
import sys
from collections.abc import Mapping
from typing import Any


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


def metrics_line(metrics: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {value:.4f}" for name, value in metrics.items())


def command_line() -> str:
    """The command that is running, quoted for a shell."""
    return shlex.join(["pairlight", *sys.argv[1:]])
