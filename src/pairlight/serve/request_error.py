"""Why a request is refused: the kinds with their status codes, and the one body that all clients read."""

from dataclasses import dataclass
from typing import Any

STATUS = {
    "Empty": 400,
    "Malformed": 400,
    "Unauthorized": 401,
    "NotFound": 404,
    "Method": 405,
    "Timeout": 408,
    "TooLarge": 413,
    "Validation": 422,
    "Misdirected": 421,
    "Overloaded": 429,
    "Headers": 431,
    "Internal": 500,
    "Unhealthy": 503,
    "Storage": 507,
}
RETRY_AFTER = 1  # seconds


@dataclass(eq=False)
class RequestError(Exception):
    """A request that gets an error status; the message names the value, the rule and the fix."""

    kind: str
    message: str
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def status(self) -> int:
        return STATUS[self.kind]

    def body(self) -> dict[str, Any]:
        """Clients of TEI read `error` and `error_type`, those of Cohere `message`, those of Jina `detail`."""
        return {"error": self.message, "error_type": self.kind, "message": self.message, "detail": self.message}

    def all_headers(self) -> list[tuple[str, str]]:
        retry = [("retry-after", str(RETRY_AFTER))] if self.kind in ("Overloaded", "Unhealthy") else []
        return [*retry, *self.headers]


def overloaded() -> RequestError:
    """The refusal while the queue is full; a new one each time, because a raised error keeps what raised it."""
    return RequestError("Overloaded", "As many requests are waiting as the server allows: try again.")
