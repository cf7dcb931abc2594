"""Letters of any script in a picture: the fonts of this machine that have them, and emoji as little images."""

import functools
import unicodedata
from collections.abc import Iterable
from typing import Any

DEFAULT = "DejaVu Sans"  # comes with matplotlib
CJK = {"HIRAGANA": "JP", "KATAKANA": "JP", "HANGUL": "KR", "CJK": "SC"}  # by the first word of a letter's name
UNFIT = ("Last Resort", "LastResort")  # have a frame for every letter
EMOJI_POINTS = 109  # the one height that fonts of coloured bitmaps are made in


def fonts_for(text: str) -> tuple[list[str], frozenset[str]]:
    """The families to draw these letters with, the default first, and the letters that no font here has."""
    from matplotlib.font_manager import findfont, get_font

    families = [DEFAULT]
    missing = {letter for letter in text if visible(letter) == letter and not letter.isspace()}
    missing -= _letters(get_font(findfont(DEFAULT)))
    if missing:
        wanted = {f"Noto Sans CJK {CJK[kind]}" for letter in missing if (kind := _script(letter)) in CJK}
        for name, file in sorted(_installed().items(), key=lambda font: _rank(font[0], wanted)):
            has = missing & _letters(get_font(file))
            if has:
                families.append(name)
                missing -= has
            if not missing:
                break
    return families, frozenset(missing)


def visible(label: str) -> str:
    """Marks that join emoji and the like are words to a model, and nothing to the eye: they are named."""
    unseen = all(unicodedata.category(letter) in ("Cc", "Cf", "Mn", "Me") for letter in label)
    return " ".join(f"U+{ord(letter):04X}" for letter in label) if unseen else label


def emoji(letter: str) -> Any | None:
    """The letter as an image [height, width, 4], where a font of coloured bitmaps has it: matplotlib reads none."""
    font = _coloured()
    if font is None:
        return None
    import numpy as np
    from PIL import Image, ImageDraw

    image = Image.new("RGBA", (2 * EMOJI_POINTS, 2 * EMOJI_POINTS))
    ImageDraw.Draw(image).text((0, 0), letter, font=font, embedded_color=True)
    seen = image.getbbox()
    return None if seen is None else np.asarray(image.crop(seen))


def advice(missing: Iterable[str]) -> str:
    """What to install for letters that could not be drawn."""
    packages = {_package(letter) for letter in missing}
    codes = ", ".join(f"U+{ord(letter):04X}" for letter in sorted(missing)[:6])
    return f"no font here has {codes}: install {' and '.join(sorted(packages))} (Debian's names), or write an SVG"


def _package(letter: str) -> str:
    if _script(letter) in CJK or (unicodedata.east_asian_width(letter) in "WF" and ord(letter) < 0x1F000):
        return "fonts-noto-cjk"
    return "fonts-noto-color-emoji" if unicodedata.category(letter) in ("So", "Sk", "Cn") else "fonts-noto-core"


def _script(letter: str) -> str:
    return unicodedata.name(letter, "").split(" ")[0].split("-")[0]


def _rank(name: str, wanted: set[str]) -> tuple[bool, bool, str]:
    return name not in wanted, "Sans" not in name or "Mono" in name, name


def _letters(font: Any) -> set[str]:
    return set(map(chr, font.get_charmap()))


@functools.cache
def _installed() -> dict[str, str]:
    """The upright fonts of this machine, those among them that came after matplotlib last looked."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    for file in set(findSystemFonts()) - {entry.fname for entry in fontManager.ttflist}:
        try:
            fontManager.addfont(file)
        except (NotImplementedError, RuntimeError, OSError):  # bitmaps only, or damaged
            continue
    return {
        entry.name: entry.fname
        for entry in fontManager.ttflist
        if entry.style == "normal" and not any(name in entry.name for name in UNFIT)
    }


@functools.cache
def _coloured() -> Any | None:
    from matplotlib.font_manager import findSystemFonts
    from PIL import ImageFont

    for file in sorted(findSystemFonts()):
        if "coloremoji" in file.lower():
            try:
                return ImageFont.truetype(file, EMOJI_POINTS)
            except OSError:
                continue
    return None
