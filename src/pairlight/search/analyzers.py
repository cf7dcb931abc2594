"""How texts of a language become terms of the lexical stage: stemming and stop words, or characters and bigrams."""

import re
from typing import TYPE_CHECKING

from pairlight.core.errors import unknown_name

if TYPE_CHECKING:
    from tantivy import TextAnalyzer

STEMMED = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
WITHOUT_STOP_WORDS = {"ar", "el", "ro", "ta", "tr"}  # tantivy has no list for these
WITHOUT_SPACES = ("zh", "ja", "ko")
ANY = "any"  # no stemming and no stop words
LANGUAGES = (*STEMMED, *WITHOUT_SPACES, ANY)

_LONGEST = 60  # bytes of a term that is indexed
CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+")


class Analyzer:
    """Splits texts of one language into terms."""

    def __init__(self, language: str) -> None:
        from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

        check_language(language)
        self.language = language
        split = Tokenizer.whitespace() if language in WITHOUT_SPACES else Tokenizer.simple()
        builder = TextAnalyzerBuilder(split).filter(Filter.remove_long(_LONGEST)).filter(Filter.lowercase())
        if language in STEMMED and language not in WITHOUT_STOP_WORDS:
            builder = builder.filter(Filter.stopword(STEMMED[language]))
        if language in STEMMED:
            builder = builder.filter(Filter.stemmer(STEMMED[language]))
        self.tantivy: TextAnalyzer = builder.build()

    def prepare(self, text: str) -> str:
        """The text as it is indexed: Chinese, Japanese and Korean as characters and bigrams, between spaces."""
        return characters_and_bigrams(text) if self.language in WITHOUT_SPACES else text

    def terms(self, text: str) -> list[str]:
        return self.tantivy.analyze(self.prepare(text))


def check_language(language: str) -> None:
    if language not in LANGUAGES:
        raise unknown_name("language", language, LANGUAGES, option="language")


def characters_and_bigrams(text: str) -> str:
    """Words between spaces, without punctuation; runs of CJK characters as each character and each pair of neighbors.

    Pairs are rarer than characters, so that BM25 ranks by them; single characters find what no pair does.
    """
    parts: list[str] = []
    end = 0
    for run in CJK.finditer(text):
        parts += re.findall(r"\w+", text[end : run.start()])
        end = run.end()
        characters = run.group()
        parts += characters
        parts += [characters[i : i + 2] for i in range(len(characters) - 1)]
    parts += re.findall(r"\w+", text[end:])
    return " ".join(parts)
