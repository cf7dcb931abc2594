"""The `Matcher`: train a model, score and rank with it, evaluate, explain, save and load it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, overload

import numpy as np

from pairlight.core.errors import InputError
from pairlight.core.progress import Progress, progress_reporter
from pairlight.data.pairs import Pairs
from pairlight.data.readers import read_pairs
from pairlight.evaluation.calibration import Calibration
from pairlight.evaluation.evaluate import evaluate_scores
from pairlight.evaluation.metrics import TaskType
from pairlight.evaluation.result import EvaluationResult
from pairlight.explain.data import Comparison, Explanation, Neighbor
from pairlight.explain.explain import compare_explanations, explain_pair
from pairlight.explain.nearest import nearest_pairs
from pairlight.inference.encodings import Encodings
from pairlight.inference.model_folder import TrainedModel, load_model, save_model
from pairlight.inference.scorer import ModelScorer, Scores
from pairlight.models import model_class
from pairlight.models.settings import check_settings
from pairlight.text.checks import check_text, check_texts
from pairlight.training.config import TrainingConfig
from pairlight.training.loop import History
from pairlight.training.trainer import calibrate, train


class Matcher:
    """A text matching model: `Matcher("mv-lstm", k=5).fit(pairs)`, then `predict`, `rank`, `evaluate`, `save`."""

    def __init__(self, model: str = "mv-lstm", **settings: Any) -> None:
        self.name = model
        self.settings = check_settings(model, model_class(model), settings)
        self.history = History()
        self.dev: Pairs | None = None  # the pairs that selected the best epoch; not saved
        self._trained: TrainedModel | None = None
        self._scorer: ModelScorer | None = None

    def __repr__(self) -> str:
        settings = "".join(f", {name}={value!r}" for name, value in self.settings.items())
        return f"<Matcher({self.name!r}{settings}), {'trained' if self._trained else 'not trained'}>"

    def fit(
        self,
        train_pairs: Any,
        dev: Any = None,
        *,
        init: str | Path | None = None,
        device: str = "cpu",
        folder: str | Path | None = None,
        resume: bool = False,
        progress: bool = True,
        **options: Any,
    ) -> Self:
        """Train on pairs; the epoch that does best on `dev`, else on a tenth of the lists, is kept.

        `options` are those of `TrainingConfig`. `init` is the folder of a trained model to continue from. With
        `folder`, a checkpoint is written there after every epoch and `resume` continues from it. Ctrl-C, or a loss
        that is not finite, ends training and keeps the best epoch so far.
        """
        with progress_reporter(progress) as reporter:
            run = train(
                self.name,
                _pairs(train_pairs),
                None if dev is None else _pairs(dev),
                settings=self.settings,
                options=options,
                init=None if init is None else load_model(Path(init)),
                device=device,
                folder=None if folder is None else Path(folder),
                resume=resume,
                reporter=reporter,
            )
        self.history, self.dev = run.history, run.dev
        self._set(run.trained)
        return self

    def calibrate(self, dev: Any) -> Self:
        """Fit probabilities and the threshold between positive and negative on labeled pairs."""
        calibration = calibrate(self.scorer, _pairs(dev), self.config)
        self._trained = replace(self.trained, calibration=calibration)
        return self

    def predict(self, pairs: Any, *, as_probability: bool = False) -> Scores:
        """The score of each pair, higher for a better match, or a calibrated probability."""
        scores = self.scorer.score_pairs(_pairs(pairs, need_label=False))
        if not as_probability:
            return scores
        if self.calibration is None:
            raise InputError("This model is not calibrated: call calibrate(dev) with labeled pairs first.")
        return self.calibration.probability(scores).astype(np.float32)

    def rank(
        self, query: str, documents: Sequence[str] | Encodings, top_k: int | None = None, return_documents: bool = False
    ) -> list[dict[str, Any]]:
        """Rerank documents, given as texts or as the result of `encode`, by their score; ties keep their order."""
        check_text("query", query)
        if isinstance(documents, Encodings):
            scores = self.score_encoded(query, documents)
        else:
            check_texts(documents)
            scores = (
                self.scorer.score([query] * len(documents), documents) if len(documents) else np.zeros(0, np.float32)
            )
        best = np.argsort(-scores, kind="stable")[:top_k]
        return [
            {"corpus_id": int(i), "score": float(scores[i])} | ({"text": documents[i]} if return_documents else {})
            for i in best
        ]

    def encode(self, texts: Sequence[str], *, dtype: str = "fp32", progress: Progress | None = None) -> Encodings:
        """Encode right texts once, to rank them for many queries: `rank(query, encodings)`.

        Only models that encode their two texts independently support this. `dtype` is fp32, fp16 or int8;
        `Encodings.save` writes a file that `Encodings.load` maps into memory.
        """
        return self.scorer.encode_right(texts, dtype=dtype, progress=progress)

    def score_encoded(self, query: str, encodings: Encodings) -> Scores:
        """The score of the query with every encoded text."""
        return self.scorer.score_encoded(query, encodings)

    def evaluate(self, data: Any, *, task: TaskType | None = None, keep_empty: bool = False) -> EvaluationResult:
        """Ranking metrics where the pairs form lists, else metrics of labeled pairs at the threshold chosen on dev."""
        pairs = _pairs(data)
        scores = self.scorer.score_pairs(pairs)
        return evaluate_scores(pairs, scores, task=task, threshold=self.threshold, keep_empty=keep_empty)

    @overload
    def explain(  # type: ignore[overload-overlap]  # to the type checker, a text is a sequence of texts as well
        self, left: str, right: str, *, words: bool = True
    ) -> Explanation: ...

    @overload
    def explain(self, left: str, right: Sequence[str], *, words: bool = True) -> Comparison: ...

    def explain(self, left: str, right: str | Sequence[str], *, words: bool = True) -> Explanation | Comparison:
        """Why the pair has its score, or why one of several right texts is ranked above the others.

        `words=False` leaves out the contributions of single words, which is faster.
        """
        if isinstance(right, Iterable) and not isinstance(right, str):
            if not len(right):
                raise InputError("There is no right text to explain: give at least one.")
            return compare_explanations([self.explain(left, each, words=words) for each in right])
        check_text("left text", left)
        check_text("right text", right)
        found = explain_pair(self.scorer, left, right, words=words)
        if self.calibration is None:
            return found
        return replace(found, probability=float(self.calibration.probability([found.score])[0]))

    def nearest(self, left: str, right: str, train_pairs: Any, n: int = 5) -> tuple[Neighbor, ...]:
        """The `n` training pairs most similar to this pair, by the features that enter the model's score."""
        check_text("left text", left)
        check_text("right text", right)
        return nearest_pairs(self.scorer, left, right, _pairs(train_pairs), n)

    def save(self, folder: str | Path, *, results: dict[str, Any] | None = None, command: str | None = None) -> None:
        """Write a model folder; `results` and `command` go into its card."""
        save_model(Path(folder), self.trained, results=results, command=command)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a model folder; nothing in it is executed."""
        trained = load_model(Path(folder))
        matcher = cls(trained.name, **trained.model.settings)
        matcher.history = History.from_dict(dict(trained.history))
        matcher._set(trained)
        return matcher

    @property
    def trained(self) -> TrainedModel:
        """The trained model as a record."""
        if self._trained is None:
            raise InputError("This matcher is not trained: call fit(pairs), or Matcher.load(folder).")
        return self._trained

    @property
    def scorer(self) -> ModelScorer:
        """The trained model as a `Scorer`."""
        if self._scorer is None:
            self._scorer = self.trained.scorer()
        return self._scorer

    @property
    def config(self) -> TrainingConfig:
        """The options that the model was trained with, or would be by default."""
        if self._trained is None:
            return TrainingConfig.of(model_class(self.name).training_defaults, {})
        return TrainingConfig.of({}, self._trained.training)

    @property
    def calibration(self) -> Calibration | None:
        return None if self._trained is None else self._trained.calibration

    @property
    def threshold(self) -> float | None:
        """The score from which a pair counts as positive, where the model is calibrated."""
        return None if self.calibration is None else self.calibration.threshold

    def _set(self, trained: TrainedModel) -> None:
        self._trained, self._scorer = trained, None


def _pairs(source: Any, need_label: bool = True) -> Pairs:
    return read_pairs(source, need_label=need_label)[0]
