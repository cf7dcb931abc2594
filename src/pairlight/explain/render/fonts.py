"""Finds installed fonts for any script, and draws emoji as images."""

import functools
import unicodedata
from collections.abc import Iterable
from typing import Any

DEFAULT = "DejaVu Sans"  # included in matplotlib
CJK = {"HIRAGANA": "JP", "KATAKANA": "JP", "HANGUL": "KR", "CJK": "SC"}  # by the first word of a character's name
PLACEHOLDER_FONTS = ("Last Resort", "LastResort")  # these have an empty box for every character
EMOJI_SIZE = 109  # the only size that bitmap emoji fonts have


def fonts_for(text: str) -> tuple[list[str], frozenset[str]]:
    """The font families to draw a text with, the default first, and the characters that no installed font has."""
    from matplotlib.font_manager import findfont, get_font

    families = [DEFAULT]
    missing = {letter for letter in text if visible(letter) == letter and not letter.isspace()}
    missing -= _characters(get_font(findfont(DEFAULT)))
    if missing:
        preferred = {f"Noto Sans CJK {CJK[script]}" for letter in missing if (script := _script(letter)) in CJK}
        for name, file in sorted(_installed().items(), key=lambda font: _rank(font[0], preferred)):
            found = missing & _characters(get_font(file))
            if found:
                families.append(name)
                missing -= found
            if not missing:
                break
    return families, frozenset(missing)


def visible(label: str) -> str:
    """The label, or its code points if it has only invisible characters, such as emoji joiners."""
    invisible = all(unicodedata.category(letter) in ("Cc", "Cf", "Mn", "Me") for letter in label)
    return " ".join(f"U+{ord(letter):04X}" for letter in label) if invisible else label


def emoji(letter: str) -> Any | None:
    """An image [height, width, 4] of an emoji, if a color font has it; matplotlib cannot use color fonts."""
    font = _color_font()
    if font is None:
        return None
    import numpy as np
    from PIL import Image, ImageDraw

    image = Image.new("RGBA", (2 * EMOJI_SIZE, 2 * EMOJI_SIZE))
    ImageDraw.Draw(image).text((0, 0), letter, font=font, embedded_color=True)
    box = image.getbbox()
    return None if box is None else np.asarray(image.crop(box))


def missing_fonts_note(missing: Iterable[str]) -> str:
    """Names the packages to install for characters that could not be drawn."""
    packages = {_package(letter) for letter in missing}
    codes = ", ".join(f"U+{ord(letter):04X}" for letter in sorted(missing)[:6])
    return f"No installed font has {codes}: install {' and '.join(sorted(packages))} (Debian), or write an SVG file."


def _package(letter: str) -> str:
    if _script(letter) in CJK or (unicodedata.east_asian_width(letter) in "WF" and ord(letter) < 0x1F000):
        return "fonts-noto-cjk"
    return "fonts-noto-color-emoji" if unicodedata.category(letter) in ("So", "Sk", "Cn") else "fonts-noto-core"


def _script(letter: str) -> str:
    return unicodedata.name(letter, "").split(" ")[0].split("-")[0]


def _rank(name: str, preferred: set[str]) -> tuple[bool, bool, str]:
    return name not in preferred, "Sans" not in name or "Mono" in name, name


def _characters(font: Any) -> set[str]:
    return set(map(chr, font.get_charmap()))


@functools.cache
def _installed() -> dict[str, str]:
    """The upright fonts of this machine, including those installed after matplotlib built its cache."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    for file in set(findSystemFonts()) - {entry.fname for entry in fontManager.ttflist}:
        try:
            fontManager.addfont(file)
        except (NotImplementedError, RuntimeError, OSError):  # bitmaps only, or damaged
            continue
    return {
        entry.name: entry.fname
        for entry in fontManager.ttflist
        if entry.style == "normal" and not any(name in entry.name for name in PLACEHOLDER_FONTS)
    }


@functools.cache
def _color_font() -> Any | None:
    from matplotlib.font_manager import findSystemFonts
    from PIL import ImageFont

    for file in sorted(findSystemFonts()):
        if "coloremoji" in file.lower():
            try:
                return ImageFont.truetype(file, EMOJI_SIZE)
            except OSError:
                continue
    return None
