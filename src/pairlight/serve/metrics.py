"""Metrics in the format of Prometheus; with several workers, those of all of them together."""

import os

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

SHARED = "PROMETHEUS_MULTIPROC_DIR"  # the folder through which workers share metrics; it is set before they start
CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Counts of requests, texts and reloads."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        own = self.registry
        self.requests = Counter(
            "pairlight_requests", "Requests by route and status.", ["route", "status"], registry=own
        )
        self.seconds = Histogram(
            "pairlight_request_seconds", "Time until the answer, by route.", ["route"], buckets=_SECONDS, registry=own
        )
        self.texts = Counter("pairlight_texts", "Texts that were scored, by model.", ["model"], registry=own)
        self.truncated = Counter("pairlight_truncated_texts", "Texts longer than what the model reads.", registry=own)
        self.reloads = Counter("pairlight_reloads", "Reloads of models, by outcome.", ["outcome"], registry=own)
        self.waiting = Gauge(
            "pairlight_waiting_requests",
            "Requests that are worked on or wait.",
            multiprocess_mode="livesum",
            registry=own,
        )

    def page(self) -> bytes:
        if SHARED not in os.environ:
            return generate_latest(self.registry)
        shared = CollectorRegistry()
        MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
        return generate_latest(shared)
