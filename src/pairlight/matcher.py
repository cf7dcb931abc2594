"""The `Matcher`: train a model, score and rank with it, evaluate, explain, save and load it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np

from pairlight.core.errors import InputError
from pairlight.core.extras import naming_extras
from pairlight.core.progress import Progress, progress_reporter
from pairlight.data.collection import Collection
from pairlight.data.pair_blocks import PairBlocks
from pairlight.data.pairs import Pairs
from pairlight.data.readers import read_pairs
from pairlight.evaluation.calibration import Calibration
from pairlight.inference.encodings import Encodings
from pairlight.inference.history import History
from pairlight.inference.long_texts import score_texts
from pairlight.inference.model_folder import TrainedModel, load_model, save_model
from pairlight.inference.scorer import ModelScorer, Scores
from pairlight.layers.backends import Backend
from pairlight.models import DEFAULT_MODEL, model_class
from pairlight.models.settings import check_settings
from pairlight.text.checks import check_text, check_texts
from pairlight.training.config import TrainingConfig
from pairlight.training.untrained import untrained_model

# What only some methods need is imported by them, so that the first score comes sooner.
if TYPE_CHECKING:
    from pairlight.evaluation.metrics import TaskType
    from pairlight.evaluation.result import EvaluationResult
    from pairlight.explain.data import Comparison, Explanation, Neighbor


class Matcher:
    """A text matching model: `Matcher("mv-lstm", k=5).fit(pairs)`, then `predict`, `rank`, `evaluate`, `save`."""

    def __init__(self, /, model: str = DEFAULT_MODEL, **settings: Any) -> None:
        self.name = model
        self.settings = check_settings(model, model_class(model), settings)
        self.history = History()
        self.dev: Pairs | None = None  # the pairs that selected the best epoch; not saved
        self.notes: tuple[str, ...] = ()  # advice where training has not gone well; not saved
        self._served: _Served | None = None

    def __repr__(self) -> str:
        settings = "".join(f", {name}={value!r}" for name, value in self.settings.items())
        reads = model_class(self.name).input_spec(self.settings).input_kind
        return f"<Matcher({self.name!r}{settings}), reads {reads}, {self._state()}>"

    def _state(self) -> str:
        """How far the model is trained, for `repr`."""
        if self._served is None or not self._served.trained.data:
            return "not trained"
        if self.history.best_epoch is None:
            return "trained"
        best = "" if self.history.best is None else f", dev {self.config.metric} {self.history.best:.3f}"
        return f"trained (best epoch {self.history.best_epoch}{best})"

    def fit(
        self,
        train_pairs: Any,
        dev: Any = None,
        *,
        init: str | Path | None = "auto",
        device: str = "cpu",
        folder: str | Path | None = None,
        resume: bool = False,
        baseline: bool = True,
        progress: bool = True,
        **options: Any,
    ) -> Self:
        """Train on pairs; the epoch that does best on `dev`, else on a tenth of the lists, is kept.

        `options` are those of `TrainingConfig`. `init` is a trained model to continue from, a folder or a name; "auto"
        is a ready-made model if it helps on dev, and None starts from nothing. With `folder`, a checkpoint is written
        there after every epoch and `resume` continues from it. Ctrl-C, or a loss that is not finite, ends training and
        keeps the best epoch so far. `history` has the dev metric of every epoch, of the model before training and,
        with `baseline`, of BM25; `notes` has advice, printed with `progress`.
        """
        with naming_extras():
            from pairlight.training.trainer import train
        with progress_reporter(progress) as reporter, naming_extras():
            run = train(
                self.name,
                train_pairs if isinstance(train_pairs, PairBlocks) else _pairs(train_pairs),
                None if dev is None else _pairs(dev),
                settings=self.settings,
                options=options,
                init=None if init is None else "auto" if init == "auto" else load_model(init, "torch"),
                device=device,
                folder=folder,
                resume=resume,
                baseline=baseline,
                reporter=reporter,
            )
            for note in run.notes:
                reporter.say(f"Note: {note}")
        self.history, self.dev, self.notes = run.history, run.dev, run.notes
        self._served = _Served.of(run.trained)
        return self

    def calibrate(self, dev: Any) -> Self:
        """Fit probabilities, the threshold between positive and negative, and the scale of graded labels."""
        served = self._serve()
        with naming_extras():
            from pairlight.training.trainer import calibrate

            calibration = calibrate(served.scorer, _pairs(dev), self.config)
        self._served = replace(served, trained=replace(served.trained, calibration=calibration))
        return self

    def predict(
        self,
        pairs: Any,
        batch_size: int | None = None,
        show_progress_bar: bool | None = None,
        *,
        as_probability: bool = False,
        as_label: bool = False,
    ) -> Scores:
        """The score of each pair, higher for a better match, or a calibrated probability, or the predicted label.

        A predicted label is on the scale of the labels that the model was calibrated on: a number between the lowest
        and the highest for graded labels, otherwise 1 from the threshold on, and 0 below it. `batch_size` and
        `show_progress_bar` are accepted as in sentence-transformers, and change nothing: batches are chosen by size.
        """
        if as_probability and as_label:
            raise InputError("A prediction is a probability or a label: set as_probability or as_label, not both.")
        served = self._serve()
        scores, calibration = served.scorer.score_pairs(_pairs(pairs, need_label=False)), served.trained.calibration
        scores = _finite(scores)
        if not as_probability and not as_label:
            return scores
        if calibration is None:
            raise InputError("This model is not calibrated: call calibrate(dev) with labeled pairs first.")
        calibrated = calibration.label(scores) if as_label else calibration.probability(scores)
        return calibrated.astype(np.float32)

    def rank(
        self,
        query: str,
        documents: Sequence[str] | Collection | Encodings,
        top_k: int | None = None,
        return_documents: bool = False,
        batch_size: int | None = None,
        show_progress_bar: bool | None = None,
    ) -> list[dict[str, Any]]:
        """Rerank documents by their score; ties keep their order.

        Documents are texts, a `Collection` or the result of `encode`. The score of a text that is longer than what the
        model reads is that of its best passage, where `predict` and `encode` truncate it. Each result has the position
        of the document as `corpus_id`, its `score`, its `id` where documents have ids, and its `text` with
        `return_documents`. `batch_size` and `show_progress_bar` are accepted as in sentence-transformers, and change
        nothing.
        """
        check_text("query", query)
        texts = documents.texts if isinstance(documents, Collection) else documents
        if isinstance(texts, Encodings):
            scores = self.scorer.score_encoded(query, texts, top_k)
        else:
            check_texts(texts)
            scores = score_texts(self.scorer, query, texts) if len(texts) else np.zeros(0, np.float32)
        best = np.argsort(-_finite(scores), kind="stable")[:top_k]
        found = []
        for i in best.tolist():
            text_id = documents.text_id(i) if isinstance(documents, Collection | Encodings) else None
            found.append(
                {"corpus_id": i, "score": float(scores[i])}
                | ({} if text_id is None else {"id": text_id})
                | ({"text": texts[i]} if return_documents else {})
            )
        return found

    def encode(
        self, texts: Sequence[str] | Collection, *, dtype: str = "fp32", progress: Progress | None = None
    ) -> Encodings:
        """Encode right texts once, to rank them for many queries: `rank(query, encodings)`.

        Only models that encode their two texts independently support this. `dtype` is fp32, fp16 or int8;
        `Encodings.save` writes a file that `Encodings.load` maps into memory. The ids of a `Collection` are stored too.
        """
        if not isinstance(texts, Collection):
            return self.scorer.encode_right(texts, dtype=dtype, progress=progress)
        encodings = self.scorer.encode_right(texts.texts, dtype=dtype, progress=progress)
        return encodings if texts.ids is None else encodings.with_text_ids(texts.ids)

    def score_encoded(self, query: str, encodings: Encodings) -> Scores:
        """The score of the query with every encoded text."""
        return self.scorer.score_encoded(query, encodings)

    def evaluate(self, data: Any, *, task: "TaskType | None" = None, keep_empty: bool = False) -> "EvaluationResult":
        """Ranking metrics where the pairs form lists, else metrics of labeled pairs at the threshold chosen on dev."""
        from pairlight.evaluation.evaluate import evaluate_scores

        pairs, served = _pairs(data), self._serve()
        scores, calibration = served.scorer.score_pairs(pairs), served.trained.calibration
        threshold = None if calibration is None else calibration.threshold
        with naming_extras():
            return evaluate_scores(pairs, scores, task=task, threshold=threshold, keep_empty=keep_empty)

    @overload
    def explain(  # type: ignore[overload-overlap]  # to the type checker, a text is a sequence of texts as well
        self, left: str, right: str, *, words: bool = True
    ) -> "Explanation": ...

    @overload
    def explain(self, left: str, right: Sequence[str], *, words: bool = True) -> "Comparison": ...

    def explain(self, left: str, right: str | Sequence[str], *, words: bool = True) -> "Explanation | Comparison":
        """Why the pair has its score, or why one of several right texts is ranked above the others.

        `words=False` leaves out the contributions of single words, which is faster.
        """
        from pairlight.explain.explain import compare_explanations, explain_pair

        if isinstance(right, Iterable) and not isinstance(right, str):
            if not len(right):
                raise InputError("There is no right text to explain: give at least one.")
            return compare_explanations([self.explain(left, each, words=words) for each in right])
        check_text("left text", left)
        check_text("right text", right)
        served = self._serve()
        found, calibration = explain_pair(served.scorer, left, right, words=words), served.trained.calibration
        if calibration is None or not calibration.has_probability:
            return found
        return replace(found, probability=float(calibration.probability([found.score])[0]))

    def nearest(self, left: str, right: str, train_pairs: Any, n: int = 5) -> "tuple[Neighbor, ...]":
        """The `n` training pairs most similar to this pair, by the features that enter the model's score."""
        from pairlight.explain.nearest import nearest_pairs

        check_text("left text", left)
        check_text("right text", right)
        return nearest_pairs(self.scorer, left, right, _pairs(train_pairs), n)

    def save(
        self,
        folder: str | Path,
        *,
        results: dict[str, Any] | None = None,
        command: str | None = None,
        include_vectors: bool = False,
    ) -> None:
        """Write a model folder; `results` and `command` go into its card.

        The static vectors of subwords are those of the package wordllama, unless `include_vectors` copies them too.
        """
        save_model(Path(folder), self.trained, results=results, command=command, include_vectors=include_vectors)

    @classmethod
    def load(cls, folder: str | Path, *, backend: Backend | None = None) -> Self:
        """Read a model folder; nothing in it is executed. It runs on NumPy or PyTorch: see `inference_backend`."""
        trained = load_model(Path(folder), backend)
        matcher = cls(trained.name, **trained.model.settings)
        matcher.history = trained.history
        matcher._served = _Served.of(trained)
        return matcher

    @property
    def trained(self) -> TrainedModel:
        """The model as a record; a model with evidence scores by its evidence before it is trained."""
        return self._serve().trained

    @property
    def scorer(self) -> ModelScorer:
        """The trained model as a `Scorer`."""
        return self._serve().scorer

    @property
    def config(self) -> TrainingConfig:
        """The options that the model was trained with, or would be by default."""
        if self._served is None:
            return TrainingConfig.of(model_class(self.name).training_options(self.settings), {})
        return TrainingConfig.of({}, self._served.trained.training)

    @property
    def calibration(self) -> Calibration | None:
        return None if self._served is None else self._served.trained.calibration

    @property
    def threshold(self) -> float | None:
        """The score from which a pair counts as positive, where the model is calibrated."""
        return None if self.calibration is None else self.calibration.threshold

    def _serve(self) -> "_Served":
        """The model as it is now; `fit` in another thread replaces it as a whole when it is done."""
        served = self._served
        if served is None:
            served = self._served = _Served.of(untrained_model(self.name, self.settings))
        return served


@dataclass(frozen=True)
class _Served:
    """A trained model and its scorer, which belong together."""

    trained: TrainedModel
    scorer: ModelScorer

    @classmethod
    def of(cls, trained: TrainedModel) -> Self:
        return cls(trained, trained.scorer())


def _pairs(source: Any, need_label: bool = True) -> Pairs:
    return read_pairs(source, need_label=need_label)[0]


def _finite(scores: Scores) -> Scores:
    """The scores; those of a model whose training has diverged, or whose weights are damaged, may be NaN."""
    faulty = np.flatnonzero(~np.isfinite(scores))
    if len(faulty):
        raise FloatingPointError(
            f"{len(faulty):,} of {len(scores):,} scores are NaN or infinite, the first that of pair {faulty[0] + 1}: "
            "the weights of the model are damaged, so train it again."
        )
    return scores
