"""The resources: texts of a project that an agent may read before it changes or proposes something."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A text of the project."""

    name: str
    description: str
    kind: str = "text/plain"

    @property
    def uri(self) -> str:
        """The address by which clients ask for it."""
        return f"karat://{self.name}"


RESOURCES: Mapping[str, Resource] = {
    resource.uri: resource
    for resource in (
        Resource(name="policy", description="The rules of the gate: what a run has to reach to ship."),
        Resource(
            name="datasheet",
            description="What the golden set is about and where it comes from: its DATASHEET.md or README.md.",
            kind="text/markdown",
        ),
        Resource(
            name="guidelines",
            description="What people who judge keep to, and the meaning of the grades.",
            kind="text/markdown",
        ),
    )
}
"""The resources by address."""
