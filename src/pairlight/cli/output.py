"""What commands print: JSON, lines of metrics, and the command itself."""

import json
import re
import shlex
import sys
from collections.abc import Mapping
from typing import Any

# The control characters that JSON does not escape, as in core/terminal.py.
_CONTROL = re.compile(r"[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def print_json(value: Any, indent: int | None = 2) -> None:
    """Print a value as JSON, in which every control character is escaped."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    print(_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def metrics_line(metrics: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {value:.4f}" for name, value in metrics.items())


def command_line() -> str:
    """The command that is running, quoted for a shell."""
    return shlex.join(["pairlight", *sys.argv[1:]])
