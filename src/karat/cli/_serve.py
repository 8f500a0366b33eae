"""``karat serve``: the pages of a project for a team, and the tokens of those who may look at them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._table import emit, escaped, tell
from karat.cli._verbs import DefaultGroup, HintingGroup

if TYPE_CHECKING:
    from karat.schema.pages import ServerStart

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_DIR = click.option("--project", metavar="DIR", default=".", show_default=True, help="The project.")


class _Serve(DefaultGroup):
    """A group whose first word is ``token``, or else the project."""

    default = "pages"


@click.group("serve", cls=_Serve)
def command() -> None:
    """Look at a project in a browser: runs, comparisons, single queries and the golden set.

    karat serve [DIR] serves the project's pages, and karat serve token manages who may look from other machines.

    Example: karat serve examples/hotel
    """


@command.command("pages", short_help="Serve the pages of a project; you can leave out the word pages.")
@click.argument("folder", default=".", metavar="[DIR]")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8321, show_default=True, help="0 takes a free one.")
@click.option("--open", "open_", is_flag=True, help="Open a browser.")
@click.option(
    "--allow-host", metavar="NAME", multiple=True, help="A name that browsers use for the server; can be repeated."
)
@click.option("--with-tokens", is_flag=True, help="Ask for a token on this machine, too.")
@click.option("--tls-cert", metavar="FILE", help="The certificate (PEM) to speak TLS with.")
@click.option("--tls-key", metavar="FILE", help="Its key.")
@click.option("--behind-tls-proxy", is_flag=True, help="State that a proxy in front of the server speaks TLS.")
@click.option("--store", metavar="STORE", default="", help="The log of live traffic.  [default: that of karat.toml]")
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON.")
def pages(
    folder: str,
    host: str,
    port: int,
    open_: bool,
    allow_host: tuple[str, ...],
    with_tokens: bool,
    tls_cert: str | None,
    tls_key: str | None,
    behind_tls_proxy: bool,
    store: str,
    as_json: bool,
) -> None:
    """Serve the pages of project DIR until interrupted.

    Only this machine can reach them. Another --host needs tokens, and TLS or a proxy that speaks it. This verb needs
    the extra server.

    Example: karat serve examples/hotel --open
    """
    from karat.schema import to_json
    from karat.server import serve

    def start(server: ServerStart) -> None:
        emit(to_json(server) if as_json else f"serving {escaped(server.project)} at {server.address}")
        if server.note and not as_json:
            tell(f"karat: {server.note}")
        if open_:
            import webbrowser

            webbrowser.open(server.address)

    serve(
        folder,
        host=host,
        port=port,
        names=allow_host,
        needs_token=with_tokens,
        certificate=tls_cert,
        key=tls_key,
        behind_proxy=behind_tls_proxy,
        store=store,
        on_start=start,
    )


@command.group("token", cls=HintingGroup, short_help="Add, list or revoke the tokens of people and programs.")
def token() -> None:
    """The tokens with which people and programs sign in: viewers look, annotators judge, admins decide.

    Example: karat serve token list
    """


@token.command("add", short_help="Make a token, which is shown only once.")
@click.argument("name")
@click.option(
    "--role", type=click.Choice(["viewer", "annotator", "admin"]), default="viewer", show_default=True, help="Its role."
)
@click.option("--days", type=click.IntRange(1, 366), default=90, show_default=True, help="How many days it is valid.")
@_DIR
@_JSON
def add(name: str, role: str, days: int, project: str, as_json: bool) -> None:
    """Make a token for NAME, a person or a program. Only its hash is kept.

    Example: karat serve token add Ada --role annotator
    """
    from karat.schema import to_json
    from karat.server import add_token

    document = add_token(project, name, role, days)
    if as_json:
        emit(to_json(document))
    else:
        until = document.tokens[0].expires[:10]
        tell(f"{escaped(name)} may sign in with this token until {until}; it is not shown again:")
        emit(document.token)


@token.command("list", short_help="List the tokens, without their secrets.")
@_DIR
@_JSON
def list_(project: str, as_json: bool) -> None:
    """List the tokens of a project, the newest first.

    Example: karat serve token list --project examples/hotel
    """
    from karat.schema import to_json
    from karat.server import list_tokens

    document = list_tokens(project)
    if as_json:
        emit(to_json(document))
        return
    rows = [
        f"{line.id}  {line.state:7}  {line.role:9}  {line.expires[:10]}  {escaped(line.name)}"
        for line in document.tokens
    ]
    emit("\n".join(["id        state    role       expires     name", *rows]) if rows else "no tokens yet")


@token.command("revoke", short_help="Revoke a token.")
@click.argument("id_", metavar="ID")
@_DIR
@_JSON
def revoke(id_: str, project: str, as_json: bool) -> None:
    """Revoke a token at once; anybody who signed in with it is signed out.

    Example: karat serve token revoke 5f2a90c1
    """
    from karat.schema import to_json
    from karat.server import revoke_token

    document = revoke_token(project, id_)
    emit(to_json(document) if as_json else f"revoked {escaped(id_)}")
