"""Golden sets as the world writes them: one file per format."""

# Importing a format adds it to the table.
from karat.golden.formats import _karat

__all__: list[str] = []

del _karat
