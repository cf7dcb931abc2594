"""Collections of texts to rank or encode, and how they are read from a file."""

import sys
from dataclasses import dataclass
from pathlib import Path

from pairlight.core.errors import InputError
from pairlight.text.checks import text_fault


@dataclass(frozen=True)
class Collection:
    """Texts, with an id for each where the source has ids."""

    ids: list[str] | None
    texts: list[str]

    def __post_init__(self) -> None:
        if self.ids is not None and len(self.ids) != len(self.texts):
            raise InputError(
                f"A collection has {len(self.ids)} ids, but {len(self.texts)} texts: give one id for each text."
            )

    def __len__(self) -> int:
        return len(self.texts)


def read_collection(source: str | Path) -> Collection:
    """Read a UTF-8 file with one text per line; "-" reads standard input. Empty lines are skipped."""
    name = "standard input" if source == "-" else str(source)
    try:
        content = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        decoded = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not valid UTF-8 at byte {error.start}: save it as UTF-8.") from None
    except OSError as error:
        raise InputError(f"{name} cannot be read ({error.strerror}): give a file with one text per line.") from None
    texts = []
    for number, line in enumerate(decoded.split("\n"), 1):  # splitlines would also split at characters inside a text
        text = line.strip()
        if not text:
            continue
        if (fault := text_fault(text)) is not None:
            raise InputError(f"{name}, line {number}: the text {fault}")
        texts.append(text)
    if not texts:
        raise InputError(f"{name} contains no text: give at least one line with a text.")
    return Collection(None, texts)
