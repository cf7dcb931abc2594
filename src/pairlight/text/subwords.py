"""Subword tokens with static vectors, read from the files of the package wordllama.

The vectors are token embeddings of large language models that were trained further so that the mean of a sentence's
vectors represents the sentence. They cover every text: a character without a token of its own is split into bytes.
"""

import hashlib
import importlib.util
import json
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.core.progress import Progress
from pairlight.core.records import RecordError, decode_file, parse_json
from pairlight.text.inputs import InputSpec
from pairlight.text.tokenizer import Token, TokenizedTexts

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend

SUBWORD_FOLDER = "subwords"  # of a model folder that brings its own vectors
_VECTORS, _TOKENIZER = "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"
_DOCUMENT_FREQUENCY = Path(__file__).parent / "subword_frequency.npy"
_folder: Path | None = None  # in place of the package, for a model that brings its own vectors
_ID_BYTES = 4  # of an id, an int32
_SPACE = np.int32(29871).tobytes()  # the subword of a single space, for a text that has no other
_SPECIAL = ["<unk>", "<s>", "</s>"]
_BYTES = [f"<0x{byte:02X}>" for byte in range(256)]  # of characters that are not in the vocabulary
_FEW = 2000  # characters of the words for which a tokenizer of their own is built
_FIX = "copy the folder of the model again, or install wordllama again"
_READ = 2**18  # bytes read at a time
_CHUNK = 1024  # texts tokenized at a time
_CACHE_BYTES = 2**23  # of the words whose ids are kept, so that any mix of texts has bounded memory
_WORD_BYTES = 200  # of a short word in the cache, with its ids
_MAX_CHARACTERS = 32  # read per subword that is kept, so that the cost of a long text has a bound


DIM = 256  # of the static vectors


@cache
def subword_vectors() -> "np.memmap[Any, np.dtype[np.float16]]":
    """The static vectors of all subwords, mapped into memory: [32000, 256]."""
    path = _package_file(_VECTORS)
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            entry = json.loads(file.read(min(length, 10_000)))["embedding.weight"]
        (rows, dim), first = entry["shape"], entry["data_offsets"][0]
        if dim != DIM or entry["dtype"] != "F16":
            raise ValueError(f"{entry['dtype']} vectors of {dim} dimensions")
        # Copy on write: PyTorch needs a writable array, and the file must not change.
        return np.memmap(path, np.float16, "c", 8 + length + first, (rows, DIM))
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise RecordError.of(path, error, _FIX) from None


@cache
def subword_digest() -> str:
    """The checksum of the vectors, which identifies them in any version of the package."""
    vectors, digest = subword_vectors(), hashlib.sha256()
    with _package_file(_VECTORS).open("rb") as file:  # what is read by the mapping stays in memory
        file.seek(vectors.offset)
        for at in range(0, vectors.nbytes, _READ):
            digest.update(file.read(min(_READ, vectors.nbytes - at)))
    return digest.hexdigest()


def copy_subwords() -> dict[str, bytes]:
    """The files of the vectors and their tokenizer by name, for a folder that `check_subwords` reads."""
    return {name: _package_file(name).read_bytes() for name in (_VECTORS, _TOKENIZER)}


def check_subwords(digest: str, folder: Path, source: str) -> None:
    """Check that the vectors are those with this checksum; if not, use the copy in `folder`, where there is one.

    A process uses one version of the vectors. `source` is named in errors.
    """
    global _folder
    used = subword_vectors.cache_info().currsize > 0
    try:
        if subword_digest() == digest:
            return
    except InputError:  # the package is not installed
        if not folder.is_dir():
            raise
    if folder.is_dir() and not used:
        _folder = folder
        for cached in (subword_vectors, subword_digest, _backend, _word_ids):
            cached.cache_clear()
        if subword_digest() == digest:
            return
    fix = "load it in a process of its own" if used and folder.is_dir() else "install the version of it that was used"
    raise InputError(f"{source} refers to other subword vectors than those of the package wordllama: {fix}.")


def document_frequency() -> tuple[NDArray[np.int64], int]:
    """In how many texts of a general corpus each subword occurs, and how many texts it has.

    Counted over the sentences of squad-sentences and of State of the Union speeches.
    """
    counts = np.load(_DOCUMENT_FREQUENCY).astype(np.int64)
    return counts[:-1], int(counts[-1])


class SubwordTokenizer:
    """Maps texts to subword ids, in lower case; its vocabulary is fixed, and no text has an unknown token."""

    def __init__(self, inputs: InputSpec) -> None:
        self.inputs = inputs

    def extended(self, texts: Iterable[str], *, min_count: int = 1) -> Self:
        return self

    @property
    def ids(self) -> dict[str, int]:
        return _backend().get_vocab()

    @property
    def vocab_size(self) -> int:
        return len(subword_vectors())

    @property
    def vocabulary(self) -> list[str]:
        """The subword of each id."""
        ids = self.ids
        return sorted(ids, key=ids.__getitem__)

    def knows(self, word: str) -> bool:
        return True

    def split(self, text: str) -> list[str]:
        return [token.text for token in self.tokens(text)]

    def tokens(self, text: str) -> list[Token]:
        """The subwords of a text with their positions in it."""
        spans = _backend().encode(text, add_special_tokens=False).offsets
        return [Token(text[start:end].strip().lower() or " ", start, end) for start, end in spans]

    def word_numbers(self, text: str) -> list[int]:
        """The number of the word that each subword of a text belongs to."""
        numbers: list[int] = []
        end, last = 0, ""
        for token in self.tokens(text):
            written = text[token.start : token.end]
            # Bytes of one character share its position; a space, a punctuation mark and an ideograph end a word.
            inside = token.start < end or last.isspace() or (_is_letter(last) and _is_letter(written[:1]))
            numbers.append(0 if not numbers else numbers[-1] + (not inside))
            end, last = token.end, written[-1:]
        return numbers

    def tokenize(self, texts: Sequence[str], limit: int, *, progress: Progress | None = None) -> TokenizedTexts:
        """The ids of every text, at most `limit` of them."""
        parts: list[bytes] = []
        longest, truncated = _MAX_CHARACTERS * limit, 0
        for at in range(0, len(texts), _CHUNK):
            chunk = texts[at : at + _CHUNK]
            for text, ids in zip(chunk, _word_ids().of_texts([text[:longest] for text in chunk]), strict=True):
                truncated += len(ids) > _ID_BYTES * limit or len(text) > longest
                parts.append(ids[: _ID_BYTES * limit] or _SPACE)
            if progress is not None:
                progress(min(at + _CHUNK, len(texts)) / len(texts))
        start = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(each) // _ID_BYTES for each in parts], out=start[1:])
        return TokenizedTexts(np.frombuffer(bytearray().join(parts), np.int32), start, truncated)

    def to_bytes(self) -> bytes:
        """A reference to the vocabulary by the checksum of its vectors: both are in the package."""
        return json.dumps({"subwords": subword_digest()}).encode()

    @classmethod
    def from_bytes(cls, content: bytes, inputs: InputSpec, source: str) -> Self:
        """Read what `to_bytes` wrote; `source` is named in errors."""
        path, fix = Path(source), "copy the model folder again, or train again"
        found = decode_file(path, dict[str, str], parse_json(content, path, fix), fix)
        check_subwords(found.get("subwords", ""), path.parent / SUBWORD_FOLDER, source)
        return cls(inputs)


SUBWORDS = SubwordTokenizer(InputSpec(input_kind="subwords"))


def subword_limit(words: int) -> int:
    """How many subwords are read of a text of which so many words are read; a word has 1.3 on average."""
    return 3 * words // 2


def _is_letter(character: str) -> bool:
    return character.isalnum() and not "\u2e80" <= character <= "\ufaff"


@cache
def _backend() -> "Backend":
    return _build(*_vocabulary())


def _backend_of(words: Iterable[str]) -> "Backend":
    """A tokenizer that has only the subwords inside these words, for which it gives the same ids.

    For few words, this takes a third of the time of building the whole tokenizer, which takes longer than all else that
    a command does to rank some texts.
    """
    vocab, merges = _vocabulary()
    longest, normalize = max(map(len, vocab)), _normalizer().normalize_str
    parts = {
        word[start:end]
        for word in map(normalize, words)
        for start in range(len(word))
        for end in range(start + 1, min(start + longest, len(word)) + 1)
    }
    parts.intersection_update(vocab)
    splits = {f"{part[:at]} {part[at:]}" for part in parts for at in range(1, len(part))}
    parts.update(_SPECIAL, _BYTES)
    return _build({part: vocab[part] for part in parts}, [merge for merge in merges if merge in splits])


def _vocabulary() -> tuple[dict[str, int], list[str]]:
    """The id of every subword, and which pairs of them are joined, the first ones first."""
    # Nothing else is read: other rules in the file of a model folder could take all memory.
    path = _package_file(_TOKENIZER)
    found = parse_json(path.read_bytes(), path, _FIX)
    try:
        vocab, merges = found["model"]["vocab"], found["model"]["merges"]
        fits = sorted(vocab.values()) == list(range(len(subword_vectors()))) and vocab.keys() >= {*_SPECIAL, *_BYTES}
        pairs = set(map(type, merges)) <= {str}
    except (AttributeError, KeyError, TypeError) as error:
        raise RecordError.of(path, repr(error), _FIX) from None
    if not fits:
        raise RecordError.of(path, "the ids of the vocabulary are not those of the vectors", _FIX)
    if not pairs:
        raise RecordError.of(path, "merges are not pairs of subwords", _FIX)
    return vocab, merges


def _build(vocab: dict[str, int], merges: list[str]) -> "Backend":
    from tokenizers import AddedToken, models
    from tokenizers import Tokenizer as Backend

    try:
        pairs: Any = [tuple(each.split(" ")) for each in merges]
        # Its own cache would keep 10,000 whole texts.
        model = models.BPE(vocab, pairs, cache_capacity=0, unk_token=_SPECIAL[0], fuse_unk=True, byte_fallback=True)
    except Exception as error:  # the package raises bare Exception for what does not fit
        raise RecordError.of(_package_file(_TOKENIZER), repr(error), _FIX) from None
    backend: Any = Backend(model)  # the stubs of `tokenizers` declare the property as read-only
    backend.add_special_tokens([AddedToken(name, normalized=False, special=True) for name in _SPECIAL])
    backend.normalizer = _normalizer()
    return backend


def _normalizer() -> Any:
    from tokenizers import Regex, normalizers

    # Steps of the tokenizer, so that positions refer to the original text.
    spaces = normalizers.Replace(Regex(r"\s+"), " ")
    own = [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    return normalizers.Sequence([normalizers.Lowercase(), spaces, normalizers.Strip(), *own])


class _WordIds:
    """The ids of texts, word by word, of which those that were seen before are looked up.

    No subword has a space inside, so that a text has the ids of its words, one after the other. Not so where a text
    has one of the few characters that the tokenizer takes for its own: such texts are tokenized as a whole.
    """

    def __init__(self) -> None:
        self._known: dict[str, bytes | None] = {}  # None for a word that cannot be tokenized alone
        self._bytes = 0

    def of_texts(self, texts: Sequence[str]) -> list[bytes]:
        """The ids of every text as bytes of int32."""
        split = [text.split() for text in texts]
        known = self._known
        try:
            parts = [[known[word] for word in words] for words in split]
        except KeyError:
            known = self._learn({word for words in split for word in words})
            parts = [[known[word] for word in words] for words in split]
        return [
            self._of_whole(text) if None in each or _has_separator(text) else b"".join(each)  # type: ignore[arg-type]
            for text, each in zip(texts, parts, strict=True)
        ]

    def _of_whole(self, text: str) -> bytes:
        return _ids(_backend().encode(text, add_special_tokens=False).ids)

    def _learn(self, words: set[str]) -> dict[str, bytes | None]:
        """The ids of these words and others; a thread that reads them is not disturbed when another begins anew."""
        known = self._known
        new = list(words.difference(known))
        few = not known and not _backend.cache_info().currsize and sum(map(len, new)) <= _FEW
        backend = _backend_of(new) if few else _backend()
        self._bytes += sum(_WORD_BYTES + 8 * len(word) for word in new)
        if self._bytes > _CACHE_BYTES:
            known = self._known = {}
            new, self._bytes = list(words), 0
        for word, each in zip(new, backend.encode_batch_fast(new, add_special_tokens=False), strict=True):
            known[word] = None if _OWN.search(word) else _ids(each.ids)
        return known


_OWN = re.compile("\u2581|<s>|</s>|<unk>")  # what the tokenizer writes for a space, and its special tokens
_SEPARATOR = re.compile("[\x1c-\x1f]")  # spaces in Python, and not in the tokenizer


def _has_separator(text: str) -> bool:
    return not text.isprintable() and _SEPARATOR.search(text) is not None  # nearly all texts are printable: fast


def _ids(ids: Sequence[int]) -> bytes:
    return np.array(ids, np.int32).tobytes()


@cache
def _word_ids() -> _WordIds:
    return _WordIds()


def _package_file(name: str) -> Path:
    if _folder is not None:
        return _folder / name
    # Found without importing the package, which would take longer than everything else here.
    spec = importlib.util.find_spec("wordllama")
    path = None if spec is None or spec.origin is None else Path(spec.origin).parent / name
    if path is None or not path.is_file():
        raise InputError("Subwords need the package wordllama: pip install wordllama.")
    return path
