"""Lists the versions of the docs that a folder has, for the menu on every page, and leads its front page to the newest.

    python3 packaging/site.py FOLDER       writes versions.json and index.html into it
    python3 packaging/site.py --version    prints the version of the code

scripts/site builds the pages of this version into FOLDER/VERSION first. Nothing but the folders counts: whoever removes
one takes it out of the menu with the next run.
"""

import json
import sys
from pathlib import Path

from release import Refused, order, read_version


def list_versions(folder):
    """Return the versions that a folder has pages of, the newest first."""
    names = [path.parent.name for path in folder.glob("*/index.html")]
    return sorted((name for name in names if is_version(name)), key=order, reverse=True)


def is_version(name):
    """Return whether a folder is named by a version."""
    try:
        order(name)
    except Refused:
        return False
    return True


def write_site(folder):
    """Write what the menu reads, in the form of mike, which Material for MkDocs knows, and the front page."""
    versions = list_versions(folder)
    if not versions:
        raise SystemExit(f"{folder} has no pages of any version; run ./scripts/site {folder}")
    menu = [{"version": name, "title": name, "aliases": ["latest"] * (name == versions[0])} for name in versions]
    (folder / "versions.json").write_text(json.dumps(menu, indent=1) + "\n", encoding="utf-8")
    target = f"{versions[0]}/index.html"
    lead = f'<meta http-equiv="refresh" content="0; url={target}"><a href="{target}">karat</a>'
    page = f"<!doctype html><title>karat</title>{lead}\n"
    (folder / "index.html").write_text(page, encoding="utf-8")


def main():
    """Return the exit code."""
    if sys.argv[1:] == ["--version"]:
        print(read_version())
    elif len(sys.argv) == 2:
        write_site(Path(sys.argv[1]))
    else:
        sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
