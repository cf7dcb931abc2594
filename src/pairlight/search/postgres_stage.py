"""A first stage in PostgreSQL: full-text search and, with the extension pgvector, sentence vectors."""

import json
import re
from collections.abc import Sequence
from typing import Any

from pairlight.core.errors import InputError, unknown_name
from pairlight.search.analyzers import STEMMED, WITHOUT_SPACES, characters_and_bigrams, check_language
from pairlight.search.documents import Document, Where, filter_terms, where_terms
from pairlight.search.first_stage import Candidate, fuse
from pairlight.search.manifest import FIRST_STAGES
from pairlight.search.sentence_vectors import DIM, sentence_vectors

_NAME = re.compile(r"[a-z_][a-z0-9_]{0,50}")


class PostgresStage:
    """Candidates from a table, over an open connection of psycopg 3, which is set to commit every statement.

    `first_stage` is bm25 for full-text search (PostgreSQL ranks with ts_rank, not with BM25 itself), vectors, or
    hybrid. The table and its indexes are created where they do not exist.
    """

    def __init__(
        self, connection: Any, table: str = "documents", *, first_stage: str = "hybrid", language: str = "en"
    ) -> None:
        if not _NAME.fullmatch(table):
            raise InputError(f"The table {table!r} is not a plain name: use lower-case letters, digits and _.")
        if first_stage not in FIRST_STAGES:
            raise unknown_name("first stage", first_stage, FIRST_STAGES, option="first_stage")
        check_language(language)
        self.connection, self.table, self.first_stage = connection, table, first_stage
        self.language = language
        self.configuration = STEMMED.get(language, "simple")
        self.has_vectors = first_stage != "bm25"
        connection.autocommit = True  # otherwise a change would not be durable when a method returns
        with connection.transaction():
            if self.has_vectors:
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS {table} (id text PRIMARY KEY, text text NOT NULL, fields jsonb NOT NULL, "
                f"filters text[] NOT NULL, words tsvector NOT NULL{f', vector vector({DIM})' * self.has_vectors})"
            )
            for column in ("words", "filters"):
                connection.execute(f"CREATE INDEX IF NOT EXISTS {table}_{column} ON {table} USING gin ({column})")
            if self.has_vectors:
                connection.execute(
                    f"CREATE INDEX IF NOT EXISTS {table}_vector ON {table} USING hnsw (vector vector_cosine_ops)"
                )

    def add(self, documents: Sequence[Document], *, new: bool = False) -> None:
        vectors = sentence_vectors([each.text for each in documents]) if self.has_vectors else None
        columns = ["id", "text", "fields", "filters", "words", *(["vector"] if self.has_vectors else [])]
        values = ["%s", "%s", "%s::jsonb", "%s", "to_tsvector(%s::regconfig, %s)"]
        values += ["%s::vector"] if self.has_vectors else []
        changed = ", ".join(f"{name} = excluded.{name}" for name in columns[1:])
        statement = (
            f"INSERT INTO {self.table} ({', '.join(columns)}) VALUES ({', '.join(values)}) "
            f"ON CONFLICT (id) DO UPDATE SET {changed}"
        )
        rows = []
        for number, each in enumerate(documents):
            fields = json.dumps(dict(each.fields), ensure_ascii=False)
            row: list[Any] = [each.id, each.text, fields, filter_terms(each.fields), self.configuration]
            row.append(self._prepared(each.text))
            rows.append(row if vectors is None else [*row, str(vectors[number].tolist())])
        with self.connection.transaction(), self.connection.cursor() as cursor:
            cursor.executemany(statement, rows)

    def delete(self, ids: Sequence[str]) -> None:
        self.connection.execute(f"DELETE FROM {self.table} WHERE id = ANY(%s)", [list(ids)])

    def candidates(self, query: str, k: int, where: Where | None = None) -> list[Candidate]:
        found = []
        if self.first_stage != "vectors":
            found.append(self._by_words(query, k, where))
        if self.has_vectors:
            found.append(self._by_vector(query, k, where))
        return found[0] if len(found) == 1 else fuse(found)[:k]

    def close(self) -> None:
        self.connection.close()

    def _by_words(self, query: str, k: int, where: Where | None) -> list[Candidate]:
        condition, values = _condition(where)
        return self._select(
            f"WITH wanted AS (SELECT string_agg(quote_literal(word), ' | ')::tsquery AS query "
            f"FROM unnest(tsvector_to_array(to_tsvector(%s::regconfig, %s))) AS word) "
            f"SELECT id, text, fields, ts_rank(words, query, 1) AS score FROM {self.table}, wanted "
            f"WHERE words @@ query{condition} ORDER BY score DESC, id LIMIT %s",
            [self.configuration, self._prepared(query), *values, k],
        )

    def _by_vector(self, query: str, k: int, where: Where | None) -> list[Candidate]:
        condition, values = _condition(where)
        vector = str(sentence_vectors([query])[0].tolist())
        with self.connection.transaction():
            # The graph returns at most this many; with a filter, it is searched until enough have passed.
            self.connection.execute(f"SET LOCAL hnsw.ef_search = {min(1000, max(40, k))}")
            if where:
                self.connection.execute("SET LOCAL hnsw.iterative_scan = strict_order")
            return self._select(
                f"SELECT id, text, fields, 1 - (vector <=> %s::vector) AS score FROM {self.table} "
                f"WHERE vector IS NOT NULL{condition} ORDER BY vector <=> %s::vector LIMIT %s",
                [vector, *values, vector, k],
            )

    def _select(self, statement: str, values: Sequence[Any]) -> list[Candidate]:
        rows = self.connection.execute(statement, values).fetchall()
        return [Candidate(Document(name, text, fields), float(score)) for name, text, fields, score in rows]

    def _prepared(self, text: str) -> str:
        return characters_and_bigrams(text) if self.language in WITHOUT_SPACES else text


def _condition(where: Where | None) -> tuple[str, list[list[str]]]:
    terms = where_terms(where)
    return " AND filters && %s" * len(terms), terms
