"""Indexes the documents of Parquet files in shards, which are searched as one."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairlight.batch.job import Counts, ProcessBlock, load_matcher, set_aside
from pairlight.core.errors import InputError
from pairlight.core.storage import is_url
from pairlight.data.blocks import Block, read_block, values_of
from pairlight.data.columns import Column, TableColumns
from pairlight.layers.backends import prefer_backend
from pairlight.search.documents import Document, document_of
from pairlight.search.manifest import Manifest, write_manifest

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 1_000_000  # documents of a shard: 200 MB of vectors, and a query of about 10 ms


@dataclass(frozen=True)
class IndexJob:
    """Makes an index of each block; documents that cannot be indexed go to `_bad`."""

    out: str
    first_stage: str
    language: str
    text: str
    id: str
    title: str | None
    model: str | None = None  # whose encodings are stored; None if it has none

    def identity(self) -> dict[str, Any]:
        if is_url(self.out):
            raise InputError(f"{self.out} is a URL, and an index is searched on a disk: give a folder.", option="out")
        settings = {name: value for name, value in asdict(self).items() if name not in ("model", "out")}
        return {"job": "index", "model": self._fingerprint(), **settings}

    def _fingerprint(self) -> str | None:
        if self.model is None:
            return None
        return load_matcher(self.model).scorer.fingerprint()

    def open(self, careful: bool = False) -> ProcessBlock:
        return self._process

    def _process(self, block: Block) -> Counts:
        from pairlight.search.index import Index

        bad: list[tuple[pa.Table, int, dict[int, str]]] = []
        rows = 0

        def documents() -> Iterator[Document]:
            nonlocal rows
            for table in read_block(block):
                faults: dict[int, str] = {}
                columns = [values_of(column) for column in table.columns]
                for i, row in enumerate(zip(*columns, strict=True)):
                    found = document_of(dict(zip(table.column_names, row, strict=True)), self.text, self.id, self.title)
                    if isinstance(found, Document):
                        yield found
                    else:
                        faults[i] = found
                if faults:
                    bad.append((table, rows, faults))
                rows += len(table)

        folder = Path(self.out, block.name)
        shutil.rmtree(folder, ignore_errors=True)  # what an attempt that died has left
        with prefer_backend("numpy"):
            made = Index.create(
                folder, documents(), model=self.model, first_stage=self.first_stage, language=self.language
            )
        made.close()
        return {"rows": rows, "bad": set_aside(self.out, block, bad)}


def join_shards(out: str, blocks: Sequence[Block], job: IndexJob, model: str | None) -> None:
    """Write the manifest that makes one index of the shards, with the model that reranks."""
    manifest = Manifest(
        job.first_stage, job.language, model, complete=True, shards=tuple(block.name for block in blocks)
    )
    write_manifest(Path(out), manifest)


def index_columns(text: str, id: str, title: str) -> TableColumns:
    """The columns of documents; ids are needed, since shards do not know the rows of others."""
    return TableColumns([Column("text", text), Column("id", id), Column("title", title, required=title != "title")])
