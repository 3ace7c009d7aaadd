"""Numbers with their nouns, as pages and the command line write them."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number, with commas between thousands, and its noun: `1 item`, `2,000 items`.

    `plural` is the noun for all numbers but 1; without it, that is `noun` with an s.
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
