"""Makes the pictures of the docs: ``PYTHONPATH=src:tests .venv/bin/python tests/docs/pictures.py``; look at them then.

docs/images/report.png is the top of the report on the run of docs/report.md, in Chromium.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from browsers import FLAGS, _chromium

ROOT = Path(__file__).resolve().parents[2]
SIZE = {"width": 1280, "height": 1370}


def make_report(folder: Path) -> Path:
    """Run the first block of docs/report.md, and return the page of its run."""
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "karat").write_text(f'#!/bin/sh\nexec {sys.executable} -m karat "$@"\n')
    (folder / "karat").chmod(0o755)
    block = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "report.md").read_text(encoding="utf-8"), re.DOTALL)[0]
    page = "./karat report desk --format html --output desk/report.html"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    subprocess.run(["sh", "-ec", f"{block}\n{page}"], cwd=folder, env=environment, check=True, capture_output=True)
    return folder / "desk" / "report.html"


def take_picture(page: Path, picture: Path, selector: str = "") -> None:
    """Take a picture of the top of a page, or of the element that ``selector`` names."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_chromium(), args=FLAGS)
        opened = browser.new_page(viewport=SIZE, color_scheme="light")  # type: ignore[arg-type]
        opened.goto(page.as_uri())
        subject = opened.locator(selector) if selector else opened
        subject.screenshot(path=picture)
        browser.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        page = make_report(Path(folder))
        take_picture(page, ROOT / "docs" / "images" / "report.png")
        if len(sys.argv) > 1:  # another part of the same page, such as "#failures", to look at
            take_picture(page, Path(sys.argv[2]), sys.argv[1])


if __name__ == "__main__":
    main()
