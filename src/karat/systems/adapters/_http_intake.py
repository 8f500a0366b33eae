"""What a service behind HTTP takes in beside questions: the documents, sessions, and the memories of a session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

from karat.core import Context, Document, UsageError
from karat.net import Client, Endpoint
from karat.systems.adapters._sent_document import encode_document

_CONTEXT = ("session", "turn", "time", "documents", "metadata")
_URLS = ("ingest_url", "ready_url", "start_url", "remember_url")


@dataclass(frozen=True, kw_only=True)
class HttpIntake:
    """The addresses of a service, what it calls the parts of a context, and the requests that store something."""

    url: str
    tenant_field: str = ""
    """What the service calls the tenant; empty if it has no tenants."""
    session_field: str = ""
    turn_field: str = ""
    time_field: str = ""
    documents_field: str = ""
    metadata_field: str = ""
    """What the service calls the parts of :class:`karat.Context`; a part without a name is not sent."""
    ingest_url: str = ""
    """Where the documents are sent; empty if the service has its own. Like the others below it may be a path."""
    ready_url: str = ""
    """Where a GET succeeds as soon as questions can be asked."""
    start_url: str = ""
    """Where the beginning of a session is sent, at which the service forgets what it has stored in it."""
    remember_url: str = ""
    """Where the memories of a session are sent."""
    ingest_batch: int = 100
    """How many documents are sent at once."""
    key_variable: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Other headers, each with the environment variable that holds its value."""
    timeout: float = 30.0
    retries: int = 3
    backoff: float = 0.5
    name: str = field(init=False)
    client: Client = field(init=False, repr=False, compare=False)
    clients: Mapping[str, Client] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._check()
        client = self._make_client(self.url)
        clients = {name: self._make_client(self._join(url)) for name in _URLS if (url := getattr(self, name))}
        object.__setattr__(self, "name", client.name)
        object.__setattr__(self, "client", client)
        object.__setattr__(self, "clients", clients)

    def _check(self) -> None:
        if self.ingest_batch < 1:
            raise UsageError(f"ingest_batch={self.ingest_batch}; choose at least 1")
        if self.remember_url and not self.start_url:
            raise UsageError(
                "remember_url is set without start_url, where a session forgets what an earlier run stored"
            )
        if self.start_url and not self.session_field:
            raise UsageError("start_url is set without session_field: what the service calls a session")

    def _make_client(self, url: str) -> Client:
        endpoint = Endpoint(
            url=url,
            key_variable=self.key_variable,
            headers=self.headers,
            timeout=self.timeout,
            retries=self.retries,
            backoff=self.backoff,
        )
        return Client(endpoint, "system")

    def _join(self, url: str) -> str:
        """Return an address of the service, which may be written as a path."""
        try:
            return urljoin(self.url, url)
        except ValueError:  # a bracket that is not closed; the endpoint says that it is not usable
            return url

    @property
    def takes_context(self) -> bool:
        """Whether any part of the context is sent with a question."""
        return bool(self.context_names())

    def context_names(self) -> dict[str, str]:
        """Return what the service calls each part of the context that it gets."""
        return {part: name for part in _CONTEXT if (name := getattr(self, f"{part}_field"))}

    def name_tenant(self, tenant: str) -> dict[str, str]:
        """Return the tenant under the name that the service has for it."""
        if tenant and not self.tenant_field:
            raise UsageError("a tenant was chosen; set tenant_field to what the service calls it")
        return {self.tenant_field: tenant} if tenant else {}

    def name_context(self, context: Context | None) -> dict[str, Any]:
        """Return the parts of a context that the service gets, under its names for them."""
        values = {} if context is None else context.to_dict()
        return {name: values[part] for part, name in self.context_names().items() if part in values}

    @property
    def ingest(self) -> Callable[..., None] | None:
        """Sends the documents, if there is a place for them."""
        return self._ingest if self.ingest_url else None

    def _ingest(self, documents: Sequence[Document], timestamp: str, company_id: str = "") -> None:
        for start in range(0, len(documents), self.ingest_batch):
            rows = [encode_document(document) for document in documents[start : start + self.ingest_batch]]
            self.clients["ingest_url"].send({"documents": rows, "timestamp": timestamp, **self.name_tenant(company_id)})

    @property
    def ready(self) -> Callable[[], bool] | None:
        """Asks whether the service is ready, if it says so."""
        return self.clients["ready_url"].is_up if self.ready_url else None

    @property
    def start_session(self) -> Callable[[Context], None] | None:
        """Sends the beginning of a session, if the service wants to know."""
        return self._start_session if self.start_url else None

    def _start_session(self, context: Context) -> None:
        self.clients["start_url"].send({**self.name_tenant(context.tenant), **self.name_context(context)})

    @property
    def remember(self) -> Callable[..., None] | None:
        """Sends the memories of a session, if there is a place for them."""
        return self._remember if self.remember_url else None

    def _remember(self, documents: Sequence[Document], context: Context, timestamp: str) -> None:
        rows = [encode_document(document) for document in documents]
        about = {**self.name_tenant(context.tenant), **self.name_context(context)}
        self.clients["remember_url"].send({**about, "documents": rows, "timestamp": timestamp})

    def close(self) -> None:
        """Close the connections."""
        for client in (self.client, *self.clients.values()):
            client.close()
