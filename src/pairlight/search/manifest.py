"""The manifest of an index folder: a record of what the index is made of."""

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pairlight.core.errors import InputError, unknown_name
from pairlight.core.files import sync_folder
from pairlight.core.records import read_record, write_record
from pairlight.search.analyzers import check_language

FORMAT = 1
MANIFEST = "manifest.json"
WEIGHT = 0.5  # of the model in the blend, until it is learnt on dev queries
MAX_SHARDS = 10_000  # each is searched by a process of its own
_SHARD = re.compile(r"part-\d{6,}")  # a folder in the index, never a path to another one
FIRST_STAGES = ("bm25", "vectors", "hybrid")


@dataclass(frozen=True)
class Manifest:
    """What an index is made of, and what was learnt on dev queries."""

    first_stage: str
    language: str
    model: str | None  # a folder, or the name of a ready-made model
    source: str | None = None  # identifies the documents while they are indexed, to resume
    complete: bool = False
    weight: float = WEIGHT  # of the model in the blend
    threshold: float | None = None  # the score from which a hit is an answer
    shards: tuple[str, ...] = ()  # the folders of an index of shards
    encodings: bool = False  # whether documents are stored with the model's encodings

    def check(self) -> None:
        if self.first_stage not in FIRST_STAGES:
            raise unknown_name("first stage", self.first_stage, FIRST_STAGES, option="first_stage")
        check_language(self.language)
        if len(self.shards) > MAX_SHARDS or not all(_SHARD.fullmatch(name) for name in self.shards):
            raise InputError(f"{MANIFEST} names {len(self.shards):,} shards that are not its own: index again.")

    def as_dict(self) -> dict[str, Any]:
        """The values as they are written; an index without shards, or encodings, does not mention them."""
        return {name: value for name, value in asdict(self).items() if name not in ("shards", "encodings") or value}


def is_index(folder: Path) -> bool:
    """Whether a folder is an index."""
    return (folder / MANIFEST).is_file() and b'"first_stage"' in (folder / MANIFEST).read_bytes()[:1000]


def manifest_stamp(folder: Path) -> tuple[int, int]:
    """What is another one whenever the manifest has been replaced."""
    try:
        status = (folder / MANIFEST).stat()
    except OSError as error:
        raise InputError(
            f"{folder / MANIFEST} cannot be read ({error.strerror}): give the folder of an index."
        ) from None
    return status.st_mtime_ns, status.st_ino


def write_manifest(folder: Path, manifest: Manifest) -> None:
    write_record(folder / MANIFEST, manifest.as_dict(), FORMAT)
    sync_folder(folder)


def read_manifest(folder: Path) -> Manifest:
    path, fix = folder / MANIFEST, "index the documents again"
    manifest = read_record(path, Manifest, FORMAT, fix, give="give the folder of an index")
    manifest.check()
    return manifest
