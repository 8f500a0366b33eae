"""Rules about the languages of the texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from karat.core import Document
from karat.golden.lint._rule import Finding, Subject, flag, rule
from karat.golden.lint._scripts import script

_FIELDS = ("language", "lang")
_LATIN = ("Latin",)
_SCRIPTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("be", "bg", "kk", "ky", "mk", "mn", "ru", "uk"), ("Cyrillic",)),
    **dict.fromkeys(("ar", "fa", "ps", "ur"), ("Arabic",)),
    **dict.fromkeys(("hi", "mr", "ne", "sa"), ("Devanagari",)),
    **dict.fromkeys(("as", "bn"), ("Bengali",)),
    **dict.fromkeys(("he", "yi"), ("Hebrew",)),
    **dict.fromkeys(("ja", "zh"), ("Han and Kana",)),
    "el": ("Greek",),
    "hy": ("Armenian",),
    "ka": ("Georgian",),
    "ko": ("Hangul", "Han and Kana"),
    "sr": ("Cyrillic", "Latin"),
    "ta": ("Tamil",),
    "te": ("Telugu",),
    "th": ("Thai",),
}
"""The scripts of languages that are not written in Latin letters, by their ISO 639-1 codes."""


@rule("unlisted-language", "warning")
def unlisted_language(subject: Subject) -> Iterator[Finding]:
    """Texts are in a language that is not on the list of languages.

    Applied only with a list (`--languages en,de`). The language of a text is the `language` or `lang` of its metadata.
    A text without either is reported if no language of the list is written in its script: this distinguishes Russian
    from English, but not German from English.

    Why: an embedder or a stemmer for other languages turns them into noise, and nobody asks for them.
    Example: a chunk with `"language": "fr"` in an index that is built for English and German.
    Fix: remove them before embedding, or add their language to the list.
    """
    if not subject.languages:
        return
    listed = {_primary(language) for language in subject.languages}
    scripts = {name for language in listed for name in _SCRIPTS.get(language, _LATIN)}
    kind, texts = ("chunk", subject.chunks) if subject.chunks else ("document", subject.golden.documents)
    strays = {text.id: name for text in texts if (name := _find_stray(text, listed, scripts))}
    if strays:
        names = ", ".join(f"{name} {count:,}" for name, count in Counter(strays.values()).most_common())
        noun = kind if len(texts) == 1 else f"{kind}s"
        message = f"{len(strays):,} of {len(texts):,} {noun} in a language that is not on the list: {names}"
        yield flag("unlisted-language", message, list(strays))


def _find_stray(text: Document, listed: set[str], scripts: set[str]) -> str:
    """Return the language of a text, or else its script, if it is not on the list; an empty text if it is."""
    declared = next((text.metadata[field] for field in _FIELDS if isinstance(text.metadata.get(field), str)), "")
    if declared:
        return "" if _primary(declared) in listed else declared
    name = script(text.text or text.title)
    return name if name and name not in scripts else ""


def _primary(language: str) -> str:
    """Return the first part of a language tag in lower case.

    >>> _primary("en-GB"), _primary("pt_BR"), _primary("German")
    ('en', 'pt', 'german')
    """
    return language.strip().replace("_", "-").partition("-")[0].casefold()
