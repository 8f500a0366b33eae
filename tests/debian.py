"""Programs that pip cannot install, from Debian."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest


def program(what: str, *packages: str, names: tuple[str, ...]) -> str:
    """Find a program; where it is missing and may be installed, install it, one process at a time.

    Where it cannot be had nothing of ``what`` can be tested, which CI does not accept.
    """
    # One lock for all of them, whichever test needs one first: a second apt-get would not wait but fail.
    with Path(tempfile.gettempdir(), "karat-apt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        path = _found(names)
        for step in ("install", "update", "install") if not os.geteuid() and shutil.which("apt-get") else ():
            if path is None:  # the lists of packages may be there already, or not
                more = ["-y", "--no-install-recommends", *packages] if step == "install" else []
                command = ["apt-get", "-o", "DPkg::Lock::Timeout=300", step, *more]
                subprocess.run(command, capture_output=True, timeout=900, check=False)
                path = _found(names)
    if path is None:
        assert os.environ.get("CI") != "true", f"install {names[0]} (apt-get install {' '.join(packages)})"
        pytest.skip(f"UNTESTED: {what}: there is no {names[0]}, and it could not be installed")
    return path


def _found(names: tuple[str, ...]) -> str | None:
    return next(filter(None, map(shutil.which, names)), None)
