"""The one object a user meets: a model with its words, trained, measured, put to work, saved and loaded."""

import hashlib
import json
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, overload

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from pairlight.inference.card import model_card
from pairlight.data.negatives import mine
from pairlight.data.pairs import Pairs
from pairlight.data.readers import read_pairs
from pairlight.data.splits import split
from pairlight.inference.encodings import Encodings, Progress, encode_texts, check_dtype, score_encodings
from pairlight.core.errors import InputError
from pairlight.evaluation.calibration import Calibration, fit_calibration
from pairlight.evaluation.evaluate import evaluate_scores, task_type, default_metric
from pairlight.evaluation.judge import check_dev_metric, dev_metric
from pairlight.evaluation.labelled import ThresholdMetric
from pairlight.evaluation.result import Kind, Result
from pairlight.explain.explain import compared, explain_pair
from pairlight.explain.data import Comparison, Explanation, Neighbour
from pairlight.explain.nearest import nearest_pairs
from pairlight.core.files import atomic_write, write_text
from pairlight.models import MODELS, build, checked, model_class
from pairlight.models.base import DualEncoder, PairModel
from pairlight.inference.scoring import Texts, score_pairs
from pairlight.core.progress import ProgressReporter, progress_reporter
from pairlight.text.checks import check_text, check_texts
from pairlight.text.tokenizer import TokenizedTexts, Tokenizer
from pairlight.training.examples import with_mined_negatives
from pairlight.training.loop import WORDS, History, fit
from pairlight.training.losses import label_loss
from pairlight.training.config import TrainingConfig
from pairlight.training.initialize import origin, start

FORMAT = 1
CONFIG, TOKENIZER, WEIGHTS, CARD = "config.json", "tokenizer.json", "model.safetensors", "README.md"

_NONE = np.zeros(0, np.int64)  # of the texts


class Matcher:
    """A text matching model: `Matcher("mv-lstm", k=5).fit(pairs)`, then `predict`, `rank`, `evaluate`, `save`."""

    def __init__(self, model: str = "mv-lstm", **settings: Any) -> None:
        self.name = model
        self.settings = checked(model, settings)
        self.model: PairModel | None = None
        self.tokenizer: Tokenizer | None = None
        self.options = TrainingConfig.of(model_class(model).training_defaults, {})
        self.calibration: Calibration | None = None
        self.history = History()
        self.dev: Pairs | None = None  # what the best epoch was chosen on; not saved
        self.facts: dict[str, Any] = {}
        self._fingerprint: tuple[tuple[tuple[int, int], ...], str] | None = None

    # Training

    def fit(
        self,
        train: Any,
        dev: Any = None,
        *,
        init: str | Path | None = None,
        device: str = "cpu",
        folder: str | Path | None = None,
        resume: bool = False,
        progress: bool = True,
        **options: Any,
    ) -> Self:
        """Train on pairs, keep the epoch that does best on `dev`, else on a tenth of the lists set aside (`self.dev`).

        `init` is the folder of a trained model to start from; `options` are those of `pairlight.training.config`.
        With `folder`, a checkpoint after every epoch goes there and `resume` continues from it. Ctrl-C, or a loss
        that is no number any more, ends training and leaves the best epoch so far.
        """
        before = self.model
        with progress_reporter(progress) as show:
            try:
                kept = None if folder is None else Path(folder)
                self._fit(train, dev, init, device, kept, resume, show, options)
            except BaseException:
                if self.model is not before:  # nothing unfinished is to be put to use
                    self.model = None
                raise
        return self

    def _fit(
        self,
        train: Any,
        dev: Any,
        init: str | Path | None,
        device: str,
        folder: Path | None,
        resume: bool,
        show: ProgressReporter,
        options: dict[str, Any],
    ) -> None:
        papers = model_class(self.name).training_defaults
        wanted = TrainingConfig.of(papers, options)
        pairs = _pairs(train)
        if dev is None:
            pairs, held = split(pairs, (0.9, 0.1), seed=wanted.seed)
            show.say(f"No dev set given: {held.lists:,} of {held.lists + pairs.lists:,} lists set aside as one.")
        else:
            held = _pairs(dev)
        held = with_mined_negatives(held, wanted)
        if wanted.negatives != "list":
            pairs = mine(pairs, wanted.negatives, wanted.negatives_per_positive, wanted.top, wanted.seed)
            show.say(f"Mined negatives ({wanted.negatives}): {len(pairs):,} pairs.")
        learnt = pairs
        loss = options.get("loss", "auto" if task_type(pairs) == "pairs" else wanted.loss)
        if loss == "auto":
            loss = "hinge" if task_type(pairs) == "ranking" else label_loss(pairs.labels)
            highest = float(pairs.labels.max())
            if loss == "bce" and highest > 1:
                show.say(f"Labels go up to {highest:g}: they are divided by it.")
                learnt = replace(pairs, label=pairs.labels / np.float32(highest))
        metric = default_metric(held) if wanted.metric == "auto" else wanted.metric
        chosen = TrainingConfig.of(papers, options | {"loss": loss, "metric": metric})
        there = _device(device)
        older = None if init is None else self._older(init)

        torch.manual_seed(chosen.seed)
        tokenizer, model = start(self.name, self.settings, pairs, chosen, show, older)
        self.tokenizer, self.model, self.options, self.dev = tokenizer, model, chosen, held
        self._fingerprint, self.calibration, self.history = None, None, History()
        encoded = self._encoded(pairs.texts, pairs.left, pairs.right)
        model.to(there)
        self.facts = {"train": _facts(pairs), "dev": _facts(held)}
        if older is None or not model.fits_statistics_once:
            model.fit_statistics(encoded, pairs)
        if any(parameter.requires_grad for parameter in model.parameters()) and self.options.epochs:
            held_ids = self._encoded(held.texts, held.left, held.right)
            check_dev_metric(held, metric, set_aside=dev is None)
            self.history = fit(
                model,
                encoded,
                learnt,
                self.options,
                judge=lambda: dev_metric(held, score_pairs(model, held_ids, held.left, held.right), metric),
                watch=show.moment,
                folder=folder,
                resume=resume,
                facts=self.facts | {WORDS: origin(tokenizer, chosen)},
            )
        model.cpu()
        if 0 < np.mean(held.labels > 0) < 1:
            self.calibrate(held)

    def calibrate(self, dev: Any) -> Self:
        """Fit probabilities and the threshold between match and no match on dev pairs."""
        pairs = _pairs(dev)
        by: ThresholdMetric = "F1" if self.options.metric == "F1" else "accuracy"
        self.calibration = fit_calibration(self._scored(pairs), pairs.labels, by)
        return self

    # Use

    def predict(self, pairs: Any, *, as_probability: bool = False) -> NDArray[np.float32]:
        """The score of each pair, higher for a better match; as a calibrated probability if asked for."""
        scores = self._scored(_pairs(pairs, need_label=False))
        if not as_probability:
            return scores
        if self.calibration is None:
            raise InputError("This model is not calibrated: call calibrate(dev) with labelled pairs first.")
        return self.calibration.probability(scores).astype(np.float32)

    def rank(
        self, query: str, documents: Sequence[str] | Encodings, top_k: int | None = None, return_documents: bool = False
    ) -> list[dict[str, Any]]:
        """The documents by score against the query, best first; of equals, the earlier one first.

        Documents are texts, or what `encode` made of them.
        """
        check_text("query", query)
        if not isinstance(documents, Encodings):
            check_texts(documents)
        if not len(documents):
            return []
        if isinstance(documents, Encodings):
            scores = self.score_encoded(query, documents)
        else:
            scores = self.predict([(query, document) for document in documents])
        best = np.argsort(-scores, kind="stable")[:top_k]
        return [
            {"corpus_id": int(i), "score": float(scores[i])} | ({"text": documents[i]} if return_documents else {})
            for i in best
        ]

    def encode(self, texts: Sequence[str], *, dtype: str = "fp32", progress: Progress | None = None) -> Encodings:
        """Read right texts once, to rank them again and again: `rank(query, encodings)`.

        Only models that read their two texts apart can. They are kept as fp32, fp16 or int8; `save(path)` writes them
        to a file that `Encodings.load` maps into memory.
        """
        check_dtype(dtype)
        check_texts(texts)
        model, encoded = self._apart(), self._encoded(texts, _NONE, np.arange(len(texts)))
        mark = self.fingerprint()
        return encode_texts(model, encoded, texts, dtype, name=self.name, fingerprint=mark, progress=progress)

    def score_encoded(self, query: str, encodings: Encodings) -> NDArray[np.float32]:
        """The score of the query with every encoded text."""
        check_text("query", query)
        model = self._apart()
        if encodings.fingerprint != self.fingerprint():
            raise InputError(
                f"These encodings were made by another model, of the kind {encodings.model}: "
                "rank with that model, or encode the texts anew with this one."
            )
        return score_encodings(model, self._encoded([query], np.arange(1), _NONE), encodings)

    def evaluate(self, data: Any, *, kind: Kind | None = None, keep_empty: bool = False) -> Result:
        """Ranking metrics where the pairs form lists, else those of labelled pairs at the threshold chosen on dev."""
        pairs = _pairs(data)
        threshold = None if self.calibration is None else self.calibration.threshold
        return evaluate_scores(pairs, self._scored(pairs), kind=kind, threshold=threshold, keep_empty=keep_empty)

    @overload
    def explain(  # type: ignore[overload-overlap]  # a text is a sequence of texts too, to the type checker
        self, left: str, right: str, *, words: bool = True
    ) -> Explanation: ...

    @overload
    def explain(self, left: str, right: Sequence[str], *, words: bool = True) -> Comparison: ...

    def explain(self, left: str, right: str | Sequence[str], *, words: bool = True) -> Explanation | Comparison:
        """Why the pair has its score, or why one of several right texts outranks the others.

        Without `words`, only what the model's own mechanism says, which is quicker.
        """
        if isinstance(right, Iterable) and not isinstance(right, str):
            if not len(right):
                raise InputError("There is no right text to explain: give one or more.")
            return compared([self.explain(left, each, words=words) for each in right])
        check_text("left text", left)
        check_text("right text", right)
        model, tokenizer = self.ready
        found = explain_pair(self.name, model, tokenizer, left, right, limit=self.options.max_length, words=words)
        if self.calibration is None:
            return found
        return replace(found, probability=float(self.calibration.probability([found.score])[0]))

    def nearest(self, left: str, right: str, train: Any, n: int = 5) -> tuple[Neighbour, ...]:
        """The `n` training pairs most like this pair, by what the model makes of them before the score."""
        check_text("left text", left)
        check_text("right text", right)
        model, _ = self.ready
        pairs = _pairs(train)
        encoded = self._encoded([left, right, *pairs.texts], np.r_[0, 2 + pairs.left], np.r_[1, 2 + pairs.right])
        return nearest_pairs(model, encoded, pairs, n)

    # Saving and loading

    def save(self, folder: str | Path, *, results: dict[str, Any] | None = None, command: str | None = None) -> None:
        """Write the model as a folder of its own: config, tokenizer, weights and a card that says what it is."""
        model, tokenizer = self.ready
        folder = Path(folder)
        files = {
            TOKENIZER: tokenizer.backend.to_str().encode("utf-8"),
            WEIGHTS: save_tensors({name: t.contiguous() for name, t in model.state_dict().items()}),
        }
        config = {
            "format": FORMAT,
            "model": self.name,
            "settings": model.settings,
            "options": self.options.as_dict(),
            "calibration": None if self.calibration is None else self.calibration.as_dict(),
            "history": {
                "epochs": self.history.epochs,
                "best_epoch": self.history.best_epoch,
                "best": self.history.best,
            },
            "facts": self.facts,
            "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
        }
        for name, content in files.items():
            with atomic_write(folder / name) as file:
                file.write(content)
        write_text(folder / CARD, model_card(self.name, model, config, results, command))
        write_text(folder / CONFIG, json.dumps(config, indent=2, ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a saved model; nothing in it is ever executed."""
        folder = Path(folder)
        config = _config(folder)
        contents = {name: _read(folder / name) for name in (TOKENIZER, WEIGHTS)}
        for name, content in contents.items():
            if hashlib.sha256(content).hexdigest() != config["sha256"].get(name):
                raise InputError(f"{folder / name} is damaged or not of this model: copy the folder again.")
        matcher = cls(config["model"], **config["settings"])
        matcher.tokenizer = Tokenizer.load(folder / TOKENIZER, model_class(config["model"]).view)
        model = build(config["model"], matcher.tokenizer.vocab, **config["settings"])
        try:
            model.load_state_dict(load_tensors(contents[WEIGHTS]))
        except (SafetensorError, RuntimeError) as error:
            raise InputError(f"{folder / WEIGHTS} does not fit the model ({error}): copy the folder again.") from None
        matcher.model = model.eval()
        matcher.options = TrainingConfig.of({}, config["options"])
        matcher.history = History(**config["history"])
        matcher.facts = config["facts"]
        matcher.calibration = config["calibration"] and Calibration.from_dict(config["calibration"])
        return matcher

    # Inside

    @property
    def ready(self) -> tuple[PairModel, Tokenizer]:
        """The model and its tokenizer, once there are some."""
        if self.model is None or self.tokenizer is None:
            raise InputError("This matcher is not trained yet: call fit(pairs), or Matcher.load(folder).")
        return self.model, self.tokenizer

    def fingerprint(self) -> str:
        """What tells this model, with its words, settings and limit, from every other."""
        model, tokenizer = self.ready
        weights = model.state_dict()
        # A weight that is written to has another version: the digest is taken anew only then.
        state = tuple((tensor.data_ptr(), tensor._version) for tensor in weights.values())
        if self._fingerprint is None or self._fingerprint[0] != state:
            digest = hashlib.sha256(json.dumps([self.name, model.settings, self.options.max_length]).encode())
            digest.update(tokenizer.backend.to_str().encode("utf-8"))
            for name, tensor in weights.items():
                digest.update(name.encode() + tensor.cpu().contiguous().numpy().tobytes())
            self._fingerprint = state, digest.hexdigest()
        return self._fingerprint[1]

    def _apart(self) -> DualEncoder[Any]:
        model, _ = self.ready
        if not isinstance(model, DualEncoder):
            able = ", ".join(name for name, kind in MODELS.items() if issubclass(kind, DualEncoder))
            raise InputError(f"{self.name} reads its two texts together and can't encode one alone; these can: {able}.")
        return model

    def _older(self, folder: str | Path) -> tuple[Tokenizer, PairModel]:
        older = Matcher.load(folder)
        if older.name != self.name:
            raise InputError(f"{folder} is a {older.name}, not a {self.name}: start from the same kind of model.")
        model, tokenizer = older.ready
        return tokenizer, model

    def _encoded(self, texts: Sequence[str], left: Texts, right: Texts) -> TokenizedTexts:
        """These texts as numbers; `left` and `right` say which of them are read as left and as right ones."""
        model, tokenizer = self.ready
        most = self.options.max_length
        encoded = tokenizer.encode(texts, most, parses=model.parses)
        limits = {"max_length": (most, encoded.cut)}  # of words, and how many texts have more
        reads = model.reads or ()
        for name in dict.fromkeys(reads):
            its = np.concatenate([side for side, setting in zip((left, right), reads, strict=True) if setting == name])
            limits[name] = model.settings[name], int(np.sum(encoded.lengths[np.unique(its)] > model.settings[name]))
        longer = [f"{n} of {len(texts)} texts are longer than {limit} words" for limit, n in limits.values() if n]
        if longer:
            low = [name for name, (limit, n) in limits.items() if n or (limit == most and encoded.cut)]
            warnings.warn(
                f"{', '.join(longer)} and were cut; train with a higher {' and '.join(low)} to read on.", stacklevel=3
            )
        return encoded

    def _scored(self, pairs: Pairs) -> NDArray[np.float32]:
        model, _ = self.ready
        return score_pairs(model, self._encoded(pairs.texts, pairs.left, pairs.right), pairs.left, pairs.right)


def _pairs(source: Any, need_label: bool = True) -> Pairs:
    return read_pairs(source, need_label=need_label)[0]


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device={name!r} can't be used here ({str(error).splitlines()[0]}): try cpu.") from None
    return device


def _facts(pairs: Pairs) -> dict[str, Any]:
    """What identifies a table: its size and its digest."""
    return {"pairs": len(pairs), "lists": pairs.lists, "texts": len(pairs.texts), "sha256": pairs.digest()}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} can't be read ({error.strerror}): is this the folder of a saved model?") from None


def _config(folder: Path) -> dict[str, Any]:
    try:
        config = json.loads(_read(folder / CONFIG))
    except InputError:
        raise
    except ValueError:
        raise InputError(f"{folder / CONFIG} is damaged: it is no JSON. Copy the folder again.") from None
    if not isinstance(config, dict) or not isinstance(config.get("format"), int):
        raise InputError(f"{folder / CONFIG} is not a pairlight model's: it has no format number.")
    if config["format"] > FORMAT:
        raise InputError(
            f"{folder} has format {config['format']}, and this pairlight reads up to {FORMAT}: install a newer one."
        )
    missing = {"model", "settings", "options", "calibration", "history", "facts", "sha256"} - set(config)
    if missing:
        raise InputError(f"{folder / CONFIG} is damaged: it lacks {', '.join(sorted(missing))}. Copy the folder again.")
    return config
