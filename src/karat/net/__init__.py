"""What reaches outside of this process: one HTTP client, one event loop, and packages that may not be installed."""

from karat.net._client import Client, Endpoint, seconds_to_wait, words_of
from karat.net._loop import finished, words
from karat.net._package import package, version_of

__all__ = ["Client", "Endpoint", "finished", "package", "seconds_to_wait", "version_of", "words", "words_of"]
