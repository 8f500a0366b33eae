"""Makes the pictures of the docs: ``PYTHONPATH=src:tests .venv/bin/python tests/docs/pictures.py``; look at them then.

docs/images/report.png is the top of the report on the run of docs/report.md, in Chromium, and docs/images/judge.png the
page that asks about the first pair of the queue of docs/tutorials/annotator.md; serve.png, live.png and rankings.png
are pages of docs/serve.md.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from browsers import FLAGS, find_chromium

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "src")}


def make_folder(folder: Path) -> None:
    """Make what the blocks of a page need: the examples, and a launcher."""
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "karat").write_text(f'#!/bin/sh\nexec {sys.executable} -m karat "$@"\n')
    (folder / "karat").chmod(0o755)


def run_blocks(page: str, count: int, folder: Path) -> None:
    """Run the first shell blocks of a page."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)[:count]
    subprocess.run(["sh", "-ec", "\n".join(blocks)], cwd=folder, env=ENVIRONMENT, check=True, capture_output=True)


def take_picture(address: str, picture: Path, height: int, selector: str = "") -> None:
    """Take a picture of the top of a page, or of the element that ``selector`` names."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        opened = browser.new_page(viewport={"width": 1280, "height": height}, color_scheme="light")
        opened.goto(address)
        subject = opened.locator(selector) if selector else opened
        subject.screenshot(path=picture)
        browser.close()


def take_report(folder: Path) -> None:
    """Take the report; with two arguments, also another part of it, such as "#failures", to look at."""
    run_blocks("report.md", 1, folder)
    report = [str(folder / "karat"), "report", "desk", "--format", "html", "--output", "desk/report.html"]
    subprocess.run(report, cwd=folder, env=ENVIRONMENT, check=True, capture_output=True)
    address = (folder / "desk" / "report.html").as_uri()
    take_picture(address, IMAGES / "report.png", 1370)
    if len(sys.argv) > 1:
        take_picture(address, Path(sys.argv[2]), 1370, sys.argv[1])


def take_judge(folder: Path) -> None:
    """Take the page on which people judge."""
    run_blocks("tutorials/annotator.md", 2, folder)
    command = [sys.executable, "-m", "karat", "serve", "team", "--port", "0", "--json"]
    with subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = json.loads(server.stdout.readline())["address"]
        try:
            take_picture(f"{address.rstrip('/')}/judge?queue=spring&who=ana", IMAGES / "judge.png", 900)
        finally:
            server.terminate()


def take_serve(folder: Path) -> None:
    """Take pages of a project with two runs and a week of live traffic."""
    hotel = folder / "hotel"
    shutil.copytree(ROOT / "examples" / "hotel", hotel, ignore=shutil.ignore_patterns("runs", ".karat"))
    run = [sys.executable, "-m", "karat"]
    settings = hotel / "karat.toml"
    for label, size in (("short chunks", "64, overlap = 8"), ("as it is", "256, overlap = 32")):
        settings.write_text(settings.read_text().replace("size = 256, overlap = 32", f"size = {size}"))
        subprocess.run([*run, "eval", "hotel", "--label", label], cwd=folder, env=ENVIRONMENT, check=True)
        shutil.copy(ROOT / "examples" / "hotel" / "karat.toml", settings)
    week = [sys.executable, "examples/week/guests.py", "hotel/karat.db"]
    subprocess.run(week, cwd=folder, env=ENVIRONMENT, check=True)
    subprocess.run([*run, "online", "ingest", "hotel/karat.db"], cwd=folder, env=ENVIRONMENT, check=True)
    command = [*run, "serve", "hotel", "--port", "0", "--json"]
    with subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = json.loads(server.stdout.readline())["address"].rstrip("/")
        try:
            while (runs := ask(f"{address}/runs.json"))["index"]["waiting"] or len(runs["runs"]) < 2:
                time.sleep(1)
            pair = "a={}&b={}".format(*(own["id"] for own in reversed(runs["runs"])))
            for page in ("/live?span=all", f"/compare?{pair}"):
                while ask(f"{address}{page}".replace("?", ".json?"), waits=True) is None:
                    time.sleep(1)
            take_picture(address, IMAGES / "serve.png", 1150)
            take_picture(f"{address}/live?span=all", IMAGES / "live.png", 1000)
            take_picture(f"{address}/compare/q004?{pair}", IMAGES / "rankings.png", 900)
        finally:
            server.terminate()


def ask(address: str, *, waits: bool = False) -> Any:
    """Return what a page says as JSON; None if it is being computed and that may be."""
    with urllib.request.urlopen(address, timeout=60) as answer:
        return None if waits and answer.status == 202 else json.load(answer)


def main() -> None:
    for take in (take_report, take_judge, take_serve):
        with tempfile.TemporaryDirectory() as folder:
            make_folder(Path(folder))
            take(Path(folder))


if __name__ == "__main__":
    main()
