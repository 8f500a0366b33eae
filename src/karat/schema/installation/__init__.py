"""The JSON of looking at what is installed."""

from karat.schema.installation._installation import (
    InstallationReport,
    InstalledExtra,
    InstalledPackage,
    InstalledPlace,
)

__all__ = ["InstallationReport", "InstalledExtra", "InstalledPackage", "InstalledPlace"]
