"""Changes records that pairlight has written, with a checksum that fits."""

import json
from pathlib import Path
from typing import Any

from pairlight.core.records import write_record


def change_record(path: Path, **changes: Any) -> None:
    """Replace fields of a record, or the number of its format."""
    values = json.loads(path.read_text(encoding="utf-8")) | changes
    del values["sha256"]
    write_record(path, values, values.pop("format"))
