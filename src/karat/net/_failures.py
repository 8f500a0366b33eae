"""How a service fails."""

from __future__ import annotations

from karat.core import SystemFailed


class Unreachable(SystemFailed):
    """No connection to a service could be made: it is not running there, or its host name does not exist."""


class Busy(SystemFailed):
    """A service failed in a way that may pass: no response in time, 429, 500, 503 ..."""

    pause: float = 0.0
    """The seconds after which the service wants to be asked again; 0 if it does not say."""


class NotAService(SystemFailed):
    """Something answers at the address of a service, but does not do what the service does.

    It refuses every request (401, 403, 404, 405 ...), or returns something that is not JSON, such as a page of HTML.
    """
