"""A first stage in OpenSearch or Elasticsearch, over HTTP."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from pairlight.core.errors import InputError
from pairlight.search.analyzers import STEMMED, WITHOUT_SPACES, check_language
from pairlight.search.documents import Document, Where, filter_terms, where_terms
from pairlight.search.first_stage import Candidate

_WITHOUT_ANALYZER = {"ta"}  # languages that these servers have no analyzer for
_BATCH = 1000  # documents of one request


class OpenSearchStage:
    """BM25 by a server of OpenSearch or Elasticsearch; the index is created where it does not exist.

    `headers` are sent with every request, such as `{"Authorization": "ApiKey ..."}`.
    """

    def __init__(
        self,
        url: str,
        index: str = "documents",
        *,
        language: str = "en",
        headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
    ) -> None:
        check_language(language)
        if not url.startswith(("http://", "https://")):
            raise InputError(f"{url!r} is not the address of a server: write for example http://localhost:9200.")
        self.url, self.index = url.rstrip("/"), quote(index, safe="")
        self.headers, self.timeout = dict(headers or {}), timeout
        status, answer = self._request("PUT", "", {"mappings": _mappings(language)})
        if status not in (200, 201) and _reason(answer)[0] != "resource_already_exists_exception":
            raise self._failed(answer)

    def add(self, documents: Sequence[Document], *, new: bool = False) -> None:
        lines: list[Any] = []
        for each in documents:
            source = {"text": each.text, "filters": filter_terms(each.fields), "fields": dict(each.fields)}
            lines += [{"index": {"_id": each.id}}, source]
        self._bulk(lines, 2)

    def delete(self, ids: Sequence[str]) -> None:
        self._bulk([{"delete": {"_id": each}} for each in ids], 1)

    def candidates(self, query: str, k: int, where: Where | None = None) -> list[Candidate]:
        wanted = {
            "must": {"match": {"text": query}},
            "filter": [{"terms": {"filters": allowed}} for allowed in where_terms(where)],
        }
        status, answer = self._request("POST", "/_search", {"size": k, "query": {"bool": wanted}})
        if status != 200:
            raise self._failed(answer)
        return [
            Candidate(
                Document(hit["_id"], hit["_source"]["text"], hit["_source"].get("fields", {})), float(hit["_score"])
            )
            for hit in answer["hits"]["hits"]
        ]

    def close(self) -> None:
        pass

    def _bulk(self, lines: Sequence[Any], lines_of_one: int) -> None:
        for at in range(0, len(lines), _BATCH * lines_of_one):
            # The answer comes when the changes are on disk and can be found.
            status, answer = self._request("POST", "/_bulk?refresh=wait_for", lines[at : at + _BATCH * lines_of_one])
            if status != 200:
                raise self._failed(answer)
            for item in answer["items"]:
                (result,) = item.values()
                if "error" in result:
                    raise InputError(f"{self.url} refused document {result['_id']!r}: {result['error'].get('reason')}.")

    def _request(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """The status and the answer; a list is sent as JSON lines."""
        lines = body if isinstance(body, list) else [body]
        content = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in lines).encode("utf-8")
        kind = "application/x-ndjson" if isinstance(body, list) else "application/json"
        headers = {"Content-Type": kind, **self.headers}
        request = Request(f"{self.url}/{self.index}{path}", content, headers, method=method)
        try:
            with urlopen(request, timeout=self.timeout) as response:
                return response.status, json.loads(response.read())
        except HTTPError as error:
            with error:
                try:
                    return error.code, json.loads(error.read())
                except ValueError:
                    return error.code, {"error": f"status {error.code}"}
        except (URLError, OSError) as error:
            reason = getattr(error, "reason", error)
            raise InputError(f"{self.url} cannot be reached ({reason}): check the address and the server.") from None
        except ValueError:
            raise InputError(f"{self.url} does not answer with JSON: give the address of the server.") from None

    def _failed(self, answer: Any) -> InputError:
        return InputError(f"{self.url} answered with an error: {_reason(answer)[1]}.")


def _mappings(language: str) -> dict[str, Any]:
    analyzer = "cjk" if language in WITHOUT_SPACES else STEMMED.get(language, "standard")
    text = {"type": "text", "analyzer": "standard" if language in _WITHOUT_ANALYZER else analyzer}
    fields = {"type": "object", "enabled": False}  # stored and not indexed: they are filtered by their terms
    return {"properties": {"text": text, "filters": {"type": "keyword"}, "fields": fields}}


def _reason(answer: Any) -> tuple[str, str]:
    """The type and the reason of an error."""
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    return (error.get("type", ""), error.get("reason", str(error))) if isinstance(error, dict) else ("", str(error))
