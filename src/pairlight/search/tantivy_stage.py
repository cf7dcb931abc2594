"""The lexical first stage: BM25 by tantivy, which also stores the documents of an index."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairlight.core.errors import InputError
from pairlight.search.analyzers import Analyzer
from pairlight.search.documents import Document, Where, filter_terms, where_terms
from pairlight.search.first_stage import Candidate

if TYPE_CHECKING:
    import tantivy

HEAP = 100_000_000  # bytes of new documents that are held before a segment is written
MAX_TERMS = 256  # distinct terms of a query that are searched for, so that the cost of a long query has a bound
_ANALYZER = "language"


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
        builder.add_bytes_field("document", stored=True)
        self.schema = builder.build()
        folder.mkdir(parents=True, exist_ok=True)
        try:
            self.index = tantivy.Index(self.schema, str(folder))
            self.index.register_tokenizer(_ANALYZER, self.analyzer.tantivy)
            self.index.config_reader("manual")
            self.index.reload()
        except (ValueError, OSError) as error:
            raise InputError(f"{folder} is damaged ({_first_line(error)}): index the documents again.") from None

    def __len__(self) -> int:
        return int(self.index.searcher().num_docs)

    def reload(self) -> None:
        """See what other processes have committed since."""
        status = (self.folder / "meta.json").stat()
        stamp = status.st_mtime_ns, status.st_ino
        if stamp != self._stamp:
            self.index.reload()
            self._stamp = stamp

    def add(self, documents: Sequence[Document], *, new: bool = False) -> None:
        import tantivy

        writer = self.writer()
        try:
            for each in documents:
                if not new:
                    writer.delete_documents_by_term("id", each.id)
                writer.add_document(
                    tantivy.Document(
                        id=each.id,
                        text=self.analyzer.prepare(each.text),
                        filter=filter_terms(each.fields),
                        document=json.dumps([each.text, dict(each.fields)], ensure_ascii=False).encode("utf-8"),
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
        searcher = self.index.searcher()
        return [
            Candidate(_document(searcher.doc(address)), float(score))
            for score, address in searcher.search(wanted, k, count=False).hits
        ]

    def lookup(self, ids: Sequence[str]) -> dict[str, Document]:
        """The documents with these ids; those that are not there are left out."""
        from tantivy import Query

        if not ids:
            return {}
        searcher = self.index.searcher()
        found = searcher.search(Query.term_set_query(self.schema, "id", list(ids)), len(ids), count=False).hits
        documents = (_document(searcher.doc(address)) for _, address in found)
        return {each.id: each for each in documents}

    def ids_where(self, where: Where, limit: int) -> list[str] | None:
        """The ids of all documents that pass the filter, None if there are more than `limit`."""
        from tantivy import Query

        searcher = self.index.searcher()
        found = searcher.search(Query.boolean_query(self._filters(where)), limit + 1, count=False).hits
        return None if len(found) > limit else [str(searcher.doc(address).get_first("id")) for _, address in found]

    def all_documents(self) -> Iterable[Document]:
        """Every document, in no particular order."""
        from tantivy import Query

        searcher = self.index.searcher()
        for _, address in searcher.search(Query.all_query(), max(1, searcher.num_docs), count=False).hits:
            yield _document(searcher.doc(address))

    def writer(self) -> "tantivy.IndexWriter":
        """The writer, which keeps other processes from writing until `close`."""
        if self._writer is None:
            try:
                self._writer = self.index.writer(HEAP, 1)
            except ValueError as error:
                if "LockBusy" not in str(error):
                    raise
                raise InputError(
                    f"{self.folder.parent} is being written to by another process: wait until it has finished."
                ) from None
        return self._writer

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
        self.writer().commit()
        self.index.reload()


def check_installed() -> None:
    """Raise InputError if the packages of the extra are missing."""
    try:
        import tantivy  # noqa: F401
    except ImportError:
        raise InputError("Search needs the package tantivy: pip install 'pairlight[search]'.") from None


def _document(stored: Any) -> Document:
    text, fields = json.loads(stored.get_first("document"))
    return Document(stored.get_first("id"), text, fields)


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0][:200]
