"""Trains a model on pairs, from tables to a `TrainedModel`: the one way to train, used everywhere."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from pairlight.core.errors import InputError
from pairlight.core.memory import disable_malloc_trim
from pairlight.core.progress import ProgressReporter
from pairlight.data.pair_blocks import PairBlocks
from pairlight.data.pairs import Pairs
from pairlight.data.positives import as_positives
from pairlight.data.splits import split
from pairlight.evaluation.calibration import Calibration, can_calibrate, fit_calibration
from pairlight.evaluation.dev_metric import check_dev_metric, dev_metric
from pairlight.evaluation.evaluate import default_metric, task_type
from pairlight.evaluation.metrics import ThresholdMetric
from pairlight.inference.history import History
from pairlight.inference.model_folder import DataSummary, TrainedModel, load_model
from pairlight.inference.ready_made import ready_made, trained_on
from pairlight.inference.scorer import ModelScorer
from pairlight.models import model_class
from pairlight.models.base import PairModel
from pairlight.text.tokenizer import TokenizedTexts
from pairlight.text.vectors import choose_vectors, oov_vectors
from pairlight.training.advice import advice
from pairlight.training.baseline import BM25, bm25_dev_metric
from pairlight.training.checkpoint import Checkpoints, RunRecord
from pairlight.training.config import TrainingConfig
from pairlight.training.data import StreamedData
from pairlight.training.examples import mine, training_examples, with_mined_negatives
from pairlight.training.initialize import initialize_model, vocabulary_digest
from pairlight.training.linear_fit import fit_linear
from pairlight.training.loop import fit
from pairlight.training.losses import default_label_loss
from pairlight.training.text_length import choose_max_length
from pairlight.training.workers import OneWorker, Workers

Init = TrainedModel | Literal["auto"] | None
WORTH = 0.005  # by how much a ready-made model must be better on dev


@dataclass(frozen=True)
class TrainingRun:
    """What came of training."""

    trained: TrainedModel
    history: History
    dev: Pairs  # the pairs that selected the best epoch
    notes: tuple[str, ...] = ()  # one sentence for each sign that the model did not learn


@dataclass(frozen=True)
class Preparation:
    """Everything that the training loop needs."""

    config: TrainingConfig
    scorer: ModelScorer
    texts: TokenizedTexts
    pairs: Pairs  # with the labels that are trained on
    dev: Pairs
    data: dict[str, DataSummary]  # of both
    highest_label: float = 1.0  # that labels are divided by

    @property
    def model(self) -> PairModel:
        return self.scorer.model

    def prepare_block(self, pairs: Pairs) -> tuple[TokenizedTexts, Pairs]:
        """More pairs, as the training loop needs them."""
        pairs = as_positives(pairs)
        if self.config.negatives != "list":
            pairs = mine(pairs, self.config)
        labels = np.minimum(pairs.labels / np.float32(self.highest_label), 1) if self.highest_label != 1 else None
        texts = self.scorer.token_ids(pairs.texts)
        return texts, pairs if labels is None else replace(pairs, label=labels)


def train(
    model: str,
    train_pairs: Pairs | PairBlocks,
    dev: Pairs | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    init: Init = "auto",
    device: str = "cpu",
    folder: str | Path | None = None,
    resume: bool = False,
    evaluate: Callable[[ModelScorer], float] | None = None,
    baseline: bool = True,
    reporter: ProgressReporter | None = None,
    workers: Workers | None = None,
) -> TrainingRun:
    """Train the model of this name and select the epoch that does best on `dev`, else on a tenth of the lists.

    Epoch 0, the model before training, is one of them. `options` are those of `TrainingConfig`. With `folder`,
    a checkpoint is written there after every epoch, and `resume` continues from it. `init` is a trained model to
    continue from; with "auto" it is a ready-made model if that does better on dev before training, unless it was
    trained on these texts. `evaluate` replaces the dev metric. With `baseline`, BM25's dev metric is computed too,
    unless `evaluate` replaces it.

    `PairBlocks` are read block by block in every epoch; the vocabulary, the statistics and the linear fit are those of
    a sample, and without `dev` the last block is held out. With `workers`, all of them call this function.
    """
    disable_malloc_trim()
    reporter, workers = reporter or ProgressReporter(), workers or OneWorker()
    blocks = train_pairs if isinstance(train_pairs, PairBlocks) else None
    if isinstance(train_pairs, PairBlocks):
        if dev is None:
            blocks, dev = train_pairs.hold_out()
            dev = as_positives(dev)
            reporter.say(f"No dev set given: the last block, {len(dev):,} pairs, is held out as one.")
        train_pairs = as_positives((blocks or train_pairs).sample())
    ready, start = _choose_start(model, train_pairs, dev, settings, options, init, device, reporter)
    config, scorer, held_out = ready.config, ready.scorer, ready.dev
    history = History()
    notes: tuple[str, ...] = ()
    if any(parameter.requires_grad for parameter in ready.model.parameters()) and config.epochs:
        dev_texts = scorer.tokenize(held_out.texts, held_out.left, held_out.right)

        def measure() -> float:
            if evaluate is not None:
                return evaluate(scorer)
            mine = np.array_split(np.arange(len(held_out)), workers.size)[workers.rank]
            scores = scorer.score_tokenized(dev_texts, held_out.left[mine], held_out.right[mine])
            return dev_metric(held_out, np.concatenate(workers.gather(scores)), config.metric)

        bm25: dict[str, float] = {}
        if evaluate is None:
            check_dev_metric(held_out, config.metric)
            if baseline:
                bm25[BM25] = bm25_dev_metric(ready.pairs, held_out, config.metric)
        checkpoints = None
        if folder is not None:
            vocabulary = vocabulary_digest(scorer.tokenizer, config)
            run = RunRecord(model, config.as_dict(), ready.data, vocabulary, ready.model.settings)
            checkpoints = Checkpoints(str(folder), run, resume)
        history = fit(
            ready.model,
            ready.texts,
            ready.pairs,
            config,
            evaluate=measure,
            on_step=reporter.on_step,
            checkpoints=checkpoints,
            stream=None if blocks is None else StreamedData(blocks, ready.prepare_block, config),
            workers=workers,
        )
        history.baseline = bm25
        history.init = start
        if evaluate is None:
            notes = advice(history, config, held_out, dev_texts.truncated / len(held_out.texts))
    ready.model.cpu()
    calibration = calibrate(scorer, held_out, config) if can_calibrate(held_out.labels) else None
    trained = TrainedModel(
        model,
        ready.model,
        scorer.tokenizer,
        config.max_length,
        calibration,
        config.as_dict(),
        history,
        ready.data,
    )
    return TrainingRun(trained, history, held_out, notes)


def _choose_start(
    model: str,
    train_pairs: Pairs,
    dev: Pairs | None,
    settings: Mapping[str, Any] | None,
    options: Mapping[str, Any] | None,
    init: Init,
    device: str,
    reporter: ProgressReporter,
) -> tuple["Preparation", str | None]:
    """What is needed to train, and the name of the ready-made model that training starts from, if any."""

    def prepare(start: TrainedModel | None, quiet: bool = False) -> Preparation:
        say = ProgressReporter() if quiet else reporter
        return prepare_training(
            model, train_pairs, dev, settings=settings, options=options, init=start, device=device, reporter=say
        )

    if init != "auto":
        return prepare(init), None
    best, name = prepare(None), None
    if best.model.linear_layer() is None or settings or not best.config.epochs:
        return best, None
    reached = None
    for each in ready_made():
        start = load_model(each, "torch")
        if start.name != model or trained_on(each, train_pairs.texts):
            continue
        reached = _fitted_dev_metric(best) if reached is None else reached
        found = prepare(start, quiet=True)
        metric = _fitted_dev_metric(found)
        if metric > reached + WORTH:
            reporter.say(f"Starting from {each}: dev {best.config.metric} {metric:.4f} instead of {reached:.4f}.")
            best, name, reached = found, each, metric
    return best, name


def _fitted_dev_metric(ready: "Preparation") -> float:
    """The dev metric once the linear layer is fitted; the model is left as it was."""
    model, config = ready.model, ready.config
    before = {name: value.clone() for name, value in model.state_dict().items()}
    fit_linear(model, ready.texts, training_examples(ready.pairs, config), config)
    metric = dev_metric(ready.dev, ready.scorer.score_pairs(ready.dev), config.metric)
    model.load_state_dict(before)
    return metric


def prepare_training(
    model: str,
    train_pairs: Pairs,
    dev: Pairs | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    init: TrainedModel | None = None,
    device: str = "cpu",
    reporter: ProgressReporter | None = None,
) -> Preparation:
    """Split, mine negatives, choose loss and metric, and initialize the model."""
    reporter = reporter or ProgressReporter()
    options = options or {}
    kind = model_class(model)
    settings = dict(settings or {}) if init is None else {**init.model.settings, **(settings or {})}
    defaults = kind.training_options(settings)
    config = TrainingConfig.of(defaults, options)
    pairs = train_pairs
    if dev is None:
        pairs, dev = split(pairs, (0.9, 0.1), seed=config.seed)
        reporter.say(f"No dev set given: {dev.lists:,} of {dev.lists + pairs.lists:,} lists are held out as one.")
    dev = with_mined_negatives(dev, config)
    if config.negatives != "list":
        pairs = mine(pairs, config)
        reporter.say(f"Mined negatives ({config.negatives}): {len(pairs):,} pairs.")
    loss = options.get("loss", "auto" if task_type(pairs) == "pairs" else config.loss)
    labeled, highest = pairs, 1.0
    if loss == "auto":
        loss = "listwise" if task_type(pairs) == "ranking" else default_label_loss(pairs.labels)
        if loss == "bce" and pairs.labels.max() > 1:
            highest = float(pairs.labels.max())
            reporter.say(f"Labels go up to {highest:g}: they are divided by it.")
            labeled = replace(pairs, label=pairs.labels / np.float32(highest))
    metric = default_metric(dev) if config.metric == "auto" else config.metric
    chosen = {"loss": loss, "metric": metric}
    if config.vectors == "auto":
        has_vectors = kind.input_spec(settings).pretrained_vectors
        chosen["vectors"] = choose_vectors(pairs.texts) if has_vectors else "none"
    config = TrainingConfig.of(defaults, {**options, **chosen})
    place = _torch_device(device)
    if init is not None and init.name != model:
        raise InputError(f"The model to continue from is a {init.name}, not a {model}: use the same model.")

    torch.manual_seed(config.seed)
    tokenizer, built = initialize_model(model, settings, pairs, config, reporter, init)
    if "max_length" not in options and built.linear_layer() is not None:
        usual = config.max_length if init is None else init.max_length
        config = replace(config, max_length=choose_max_length(tokenizer, pairs, usual))
        if config.max_length > usual:
            reporter.say(f"Many texts are long: {config.max_length} words of each are read, not {usual} (max_length).")
    oov = oov_vectors(config.vectors, config.normalize) if built.inputs.pretrained_vectors else None
    scorer = ModelScorer(model, built, tokenizer, config.max_length, oov)
    texts = scorer.tokenize(pairs.texts, pairs.left, pairs.right)
    if not config.freeze:
        built.tune_vectors(texts)
    built.to(place)
    if init is None:
        built.fit_statistics(texts, pairs)
    elif not built.statistics_are_weights:  # those of evidence are: its linear layer was fitted to them
        built.without_evidence.fit_statistics(texts, pairs)
    return Preparation(config, scorer, texts, labeled, dev, {"train": _summary(pairs), "dev": _summary(dev)}, highest)


def calibrate(scorer: ModelScorer, dev: Pairs, config: TrainingConfig) -> Calibration:
    """Probabilities and the threshold between positive and negative, fitted on dev pairs."""
    by: ThresholdMetric = "F1" if config.metric == "F1" else "accuracy"
    return fit_calibration(scorer.score_pairs(dev), dev.labels, by)


def _summary(pairs: Pairs) -> DataSummary:
    return DataSummary(len(pairs), pairs.lists, len(pairs.texts), pairs.digest())


def _torch_device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device={name!r} cannot be used ({str(error).splitlines()[0]}): use cpu.") from None
    return device
