"""What stores behind HTTP share: the keys of ``[system]`` with their address, and the client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from karat.net import Client, Endpoint
from karat.systems.adapters._settings import StoreOptions, StoreSettings, Surroundings


@dataclass(frozen=True, kw_only=True)
class ServiceSettings(StoreSettings):
    """The keys of ``[system]`` that all stores behind HTTP have."""

    url: str
    key_variable: str = ""
    """The environment variable that holds the key, which is sent as a bearer token."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Other headers, each with the environment variable that holds its value, such as ``ApiKey ...``."""
    timeout: float = 30.0
    retries: int = 3

    def make_client(self) -> Client:
        """Return a client, which connects at the first request."""
        endpoint = Endpoint(
            url=self.url,
            key_variable=self.key_variable,
            headers=self.headers,
            timeout=self.timeout,
            retries=self.retries,
        )
        return Client(endpoint, "system")

    def client_options(self, around: Surroundings, client: Client, *, embeds: bool) -> StoreOptions:
        """Return the options of a store that uses the client."""
        return self.options(around, client.name, embeds=embeds, secrets=client.secrets)
