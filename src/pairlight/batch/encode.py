"""Encodes the texts of Parquet files block by block, into a folder of encodings that are ranked as one."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pairlight.batch.isolate import in_child, isolate
from pairlight.batch.job import Counts, ProcessBlock, load_matcher, set_aside
from pairlight.core.errors import InputError
from pairlight.core.notes import first_of_each_kind
from pairlight.core.storage import join, write_file
from pairlight.data.blocks import Block, read_block, values_of
from pairlight.data.collection import Collection
from pairlight.text.checks import short_repr, text_fault

if TYPE_CHECKING:
    import pyarrow as pa

    from pairlight.matcher import Matcher

EXTENSION = ".encodings"


@dataclass(frozen=True)
class EncodeJob:
    """Encodes each block into a file; texts that cannot be encoded go to `_bad`."""

    model: str
    out: str
    dtype: str = "fp32"
    text: str = "text"
    id: str | None = None

    def identity(self) -> dict[str, Any]:
        matcher = load_matcher(self.model)
        matcher.encode(["a"], dtype=self.dtype)  # an error now if the model cannot encode
        settings = {name: value for name, value in asdict(self).items() if name not in ("model", "out")}
        return {"job": "encode", "model": matcher.scorer.fingerprint(), **settings}

    def open(self, careful: bool = False) -> ProcessBlock:
        return partial(self._process, load_matcher(self.model), set(), careful)

    def _process(self, matcher: "Matcher", warned: set[str], careful: bool, block: Block) -> Counts:
        texts: list[str] = []
        ids: list[str] = []
        bad: list[tuple[pa.Table, int, dict[int, str]]] = []
        rows = 0
        for table in read_block(block):
            found = values_of(table.column(self.text))
            faults = {
                i: f"the text {short_repr(text)} {fault}"
                for i, text in enumerate(found)
                if (fault := text_fault(text)) is not None
            }
            if careful:

                def attempt(at: Sequence[int], found: list[str] = found) -> int:
                    return len(matcher.encode([found[i] for i in at], dtype=self.dtype))

                all(isolate(in_child(attempt), [i for i in range(len(found)) if i not in faults], faults))
            names = found if self.id is None else values_of(table.column(self.id))
            texts += [text for i, text in enumerate(found) if i not in faults]
            ids += [str(name) for i, name in enumerate(names) if i not in faults]
            if faults:
                bad.append((table, rows, faults))
            rows += len(table)
        try:
            with first_of_each_kind(warned):
                encodings = matcher.encode(Collection(None if self.id is None else ids, texts), dtype=self.dtype)
        except Exception:  # whatever a text can cause: find it
            if careful:
                raise
            return self._process(matcher, warned, True, block)
        with TemporaryDirectory() as folder, write_file(join(self.out, f"{block.name}{EXTENSION}")) as file:
            local = Path(folder, "encodings")
            encodings.save(local)
            file.write(local.read_bytes())
        return {"rows": rows, "bad": set_aside(self.out, block, bad)}


def rank_encoded(
    matcher: "Matcher", query: str, folder: Path, top_k: int, *, verify: bool = False
) -> list[dict[str, Any]]:
    """The best texts of all files of encodings in a folder, as `Matcher.rank` returns them."""
    from pairlight.inference.encodings import Encodings

    files = sorted(folder.glob(f"*{EXTENSION}"))
    if not files:
        raise InputError(f"{folder} has no encodings: give a folder written by `pairlight encode`.", option="encoded")
    found: list[dict[str, Any]] = []
    before = 0
    for file in files:
        encodings = Encodings.load(file, verify=verify)
        ranked = matcher.rank(query, encodings, top_k=top_k, return_documents=True)
        found += [{**each, "corpus_id": each["corpus_id"] + before} for each in ranked]
        found = sorted(found, key=lambda each: -each["score"])[:top_k]
        before += len(encodings)
    return found
