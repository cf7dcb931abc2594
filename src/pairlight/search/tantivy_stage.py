"""The lexical first stage: BM25 by tantivy, which also stores the documents of an index."""

import errno
import json
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pairlight.core.errors import InputError
from pairlight.search.analyzers import Analyzer
from pairlight.search.documents import Document, Where, filter_terms, where_terms
from pairlight.search.first_stage import MAX_BYTES, Candidate

if TYPE_CHECKING:
    import tantivy

HEAP = 100_000_000  # bytes of new documents that are held before a segment is written
MAX_TERMS = 256  # distinct terms of a query that are searched for, so that the cost of a long query has a bound
_ANALYZER = "language"
_SEGMENT_FILES = ("store", "term", "idx", "pos", "fieldnorm", "fast")
_FOOTER = 1337
_PART = 1 << 20  # bytes of a file that are read at a time to verify its checksum
_DISK_ERRORS = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO)


class TantivyStage:
    """BM25 over a folder of tantivy. It is read by any number of processes and written by one at a time.

    tantivy writes new files first and then replaces the list of files in one step, so that after a crash every commit
    that was reported is there, and no other.
    """

    def __init__(self, folder: Path, language: str) -> None:
        check_installed()
        import tantivy

        self.folder, self.analyzer = folder, Analyzer(language)
        self._writer: tantivy.IndexWriter | None = None
        self._stamp: tuple[int, int] | None = None
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
        builder.add_text_field("text", tokenizer_name=_ANALYZER, index_option="freq")
        builder.add_text_field("filter", tokenizer_name="raw", index_option="basic")
        builder.add_bytes_field("document", stored=True)  # text and fields as JSON, then the encoding if there is one
        self.schema = builder.build()
        folder.mkdir(parents=True, exist_ok=True)
        self._links: TemporaryDirectory[str] | None = None if os.access(folder, os.W_OK) else _links_to(folder)
        with self._reading():
            self.index = tantivy.Index(self.schema, str(folder) if self._links is None else self._links.name)
            self.index.register_tokenizer(_ANALYZER, self.analyzer.tantivy)
            self.index.config_reader("manual")
            self.index.reload()

    def __len__(self) -> int:
        return int(self.index.searcher().num_docs)

    def reload(self) -> None:
        """See what other processes have committed since."""
        with self._reading():
            status = (self.folder / "meta.json").stat()
            stamp = status.st_mtime_ns, status.st_ino
            if stamp != self._stamp:
                self.index.reload()
                self._stamp = stamp

    def check(self) -> None:
        """Raise InputError if a file does not have the contents that were written."""
        for path in self._files():
            if not _is_intact(path) and path in self._files():  # it may have been merged with others meanwhile
                raise self._damaged(path.name)

    def _files(self) -> list[Path]:
        """The files of all committed segments; others are leftovers of a crash, which tantivy removes."""
        with self._reading():
            segments = json.loads((self.folder / "meta.json").read_bytes())["segments"]
            names = {each["segment_id"].replace("-", ""): each["deletes"] for each in segments}
            kept = [f"{name}.{kind}" for name in names for kind in _SEGMENT_FILES]
            deleted = [f"{name}.{deletes['opstamp']}.del" for name, deletes in names.items() if deletes]
        return [self.folder / name for name in (*kept, *deleted)]

    def add(self, documents: Iterable[Document], *, new: bool = False) -> None:
        import tantivy

        writer = self.writer()
        try:
            for each in documents:
                if not new:
                    writer.delete_documents_by_term("id", each.id)
                stored = [json.dumps([each.text, dict(each.fields)], ensure_ascii=False).encode("utf-8")]
                writer.add_document(
                    tantivy.Document(
                        id=each.id,
                        text=self.analyzer.prepare(each.text),
                        filter=filter_terms(each.fields),
                        document=stored if each.encoding is None else [*stored, each.encoding],
                    )
                )
            self._commit()
        except BaseException:
            writer.rollback()  # a part of these documents must not be committed with the next ones
            raise

    def delete(self, ids: Sequence[str]) -> None:
        for each in ids:
            self.writer().delete_documents_by_term("id", each)
        self._commit()

    def candidates(self, query: str, k: int, where: Where | None = None) -> list[Candidate]:
        from tantivy import Occur, Query

        terms = list(dict.fromkeys(self.analyzer.terms(query)))[:MAX_TERMS]
        if not terms:
            return []
        words = [(Occur.Should, Query.term_query(self.schema, "text", term, "freq")) for term in terms]
        wanted = Query.boolean_query([(Occur.Must, Query.boolean_query(words)), *self._filters(where)])
        with self._reading():
            searcher = self.index.searcher()
            hits = searcher.search(wanted, k, count=False).hits
            documents = _documents(searcher, [address for _, address in hits], MAX_BYTES)
            return [Candidate(each, float(score)) for each, (score, _) in zip(documents, hits, strict=True)]

    def lookup(self, ids: Sequence[str], max_bytes: int | None = None) -> dict[str, Document]:
        """The documents with these ids; those that are not there are left out, and more than `max_bytes` refused."""
        from tantivy import Query

        if not ids:
            return {}
        with self._reading():
            searcher = self.index.searcher()
            found = searcher.search(Query.term_set_query(self.schema, "id", list(ids)), len(ids), count=False).hits
            return {each.id: each for each in _documents(searcher, [address for _, address in found], max_bytes)}

    def ids_where(self, where: Where, limit: int) -> list[str] | None:
        """The ids of all documents that pass the filter, None if there are more than `limit`."""
        from tantivy import Query

        with self._reading():
            searcher = self.index.searcher()
            found = searcher.search(Query.boolean_query(self._filters(where)), limit + 1, count=False).hits
            return None if len(found) > limit else [str(searcher.doc(address).get_first("id")) for _, address in found]

    def all_documents(self, limit: int | None = None) -> Iterable[Document]:
        """Every document, or so many of them, in no particular order."""
        from tantivy import Query

        with self._reading():
            searcher = self.index.searcher()
            addresses = searcher.search(Query.all_query(), limit or max(1, searcher.num_docs), count=False).hits
        for _, address in addresses:
            with self._reading():
                (document,) = _documents(searcher, [address])
            yield document

    def writer(self) -> "tantivy.IndexWriter":
        """The writer, which keeps other processes from writing until `close`."""
        if self._writer is None:
            with self._reading():
                self._writer = self._open_writer()
        return self._writer

    def _open_writer(self) -> "tantivy.IndexWriter":
        if self._links is not None:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(self.folder))
        try:
            return self.index.writer(HEAP, 1)
        except ValueError as error:
            if "LockBusy" not in str(error):
                raise
            raise InputError(
                f"{self.folder.parent} is being written to by another process: wait until it has finished."
            ) from None

    def close(self) -> None:
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.wait_merging_threads()

    def _filters(self, where: Where | None) -> "list[tuple[tantivy.Occur, tantivy.Query]]":
        from tantivy import Occur, Query

        # A constant of zero, so that a filter does not change a score.
        terms = (Query.term_set_query(self.schema, "filter", allowed) for allowed in where_terms(where))
        return [(Occur.Must, Query.const_score_query(each, 0.0)) for each in terms]

    def _commit(self) -> None:
        try:
            self.writer().commit()
        except ValueError as error:  # the disk is full, or a limit of the process is reached
            raise self._disk_error(error) or error from None
        self.index.reload()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn what tantivy says of damaged files, by errors or by panics, into an InputError."""
        try:
            yield
        except InputError:
            raise
        except (ValueError, OSError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise self._disk_error(error) or self._damaged(_first_line(error)) from None
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # a BaseException of the binding that cannot be imported
                raise
            raise self._damaged(_first_line(error)) from None

    def _disk_error(self, error: Exception) -> OSError | None:
        """What the system said of the disk, if an error of tantivy has it."""
        found = next((number for number in _DISK_ERRORS if os.strerror(number) in str(error)), None)
        return None if found is None else OSError(found, os.strerror(found), str(self.folder))

    def _damaged(self, reason: str) -> InputError:
        return InputError(f"{self.folder} is damaged ({reason}): index the documents again.")


def check_installed() -> None:
    """Raise InputError if the packages of the extra are missing."""
    try:
        import tantivy  # noqa: F401
    except ImportError:
        raise InputError("Search needs the package tantivy: pip install 'pairlight[search]'.") from None


def _links_to(folder: Path) -> "TemporaryDirectory[str]":
    """Another folder with the same files, for one that cannot be written to: readers of tantivy write a lock file."""
    links = TemporaryDirectory(prefix="pairlight-index-")
    for path in (each for each in folder.iterdir() if each.suffix != ".lock"):
        Path(links.name, path.name).symlink_to(path.resolve())
    return links


def _documents(
    searcher: "tantivy.Searcher", addresses: "Sequence[tantivy.DocAddress]", max_bytes: int | None = None
) -> Iterator[Document]:
    size = 0
    for address in addresses:
        stored = searcher.doc(address)
        content, *encoding = stored.get_all("document")
        size += len(content)
        if max_bytes is not None and size > max_bytes:
            raise InputError(
                f"The {len(addresses):,} candidates of this search have more than {max_bytes:,} bytes: use a smaller "
                "first, or divide long documents into several.",
                option="first",
            )
        text, fields = json.loads(content)
        yield Document(str(stored.get_first("id")), text, fields, *encoding)


def _is_intact(path: Path) -> bool:
    """Whether the checksum at the end of a file of tantivy is that of its contents.

    The last eight bytes are the length of a JSON object before them, which has the checksum, and a constant. The file
    is read in parts: with stored encodings, it may be larger than memory.
    """
    try:
        with path.open("rb") as file:
            file.seek(-8, os.SEEK_END)
            size, constant = struct.unpack("<II", file.read(8))
            left = file.seek(-8 - size, os.SEEK_END)
            footer = json.loads(file.read(size))
            file.seek(0)
            crc = 0
            while part := file.read(min(left, _PART)):
                crc, left = zlib.crc32(part, crc), left - len(part)
        return constant == _FOOTER and footer["crc"] == crc
    except (OSError, struct.error, ValueError, KeyError, TypeError, RecursionError):
        return False


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0][:200]
