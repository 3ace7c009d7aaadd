"""Words for searching: brought to one form, so that case and accents do not matter in any script."""

import unicodedata


def fold(text: str) -> str:
    """Return a text without marks and case: decomposed (NFKD), marks dropped, case folded."""
    bare = "".join(
        character for character in unicodedata.normalize("NFKD", text) if unicodedata.category(character) != "Mn"
    )
    return unicodedata.normalize("NFKC", bare.casefold())
