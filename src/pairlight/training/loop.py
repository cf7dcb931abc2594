"""The training loop: epoch after epoch, with dev evaluation, checkpoints and resuming."""

import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pairlight.core.errors import InputError
from pairlight.core.progress import TrainingProgress
from pairlight.core.storage import delete_file, exists, join, write_file
from pairlight.data.batching import shuffled_batches
from pairlight.data.pairs import Pairs
from pairlight.inference.history import EpochRecord, History
from pairlight.inference.scoring import score_pairs
from pairlight.layers.collate import collate
from pairlight.models.base import PairModel
from pairlight.text.tokenizer import TokenizedTexts
from pairlight.training.adagrad import RowAdagrad
from pairlight.training.checkpoint import Checkpoints, Position, RunRecord, read_checkpoint, save_checkpoint
from pairlight.training.config import TrainingConfig
from pairlight.training.data import MemoryData, Part, TrainingData
from pairlight.training.examples import Epoch, LabeledExamples, RankingExamples, training_examples
from pairlight.training.interrupt import delay_interrupt
from pairlight.training.linear_fit import fit_linear
from pairlight.training.losses import LABEL_LOSS_FUNCTIONS, hinge, listwise
from pairlight.training.score_scale import ScoreScale
from pairlight.training.workers import Network, OneWorker, Workers

CHECKPOINT, LOG = "checkpoint.safetensors", "log.jsonl"
CHECKPOINT_SECONDS = 300.0  # between checkpoints inside an epoch of many blocks
SLOW = 0.1  # of the learning rate, for static vectors
SCALED_PAIRS = 1000  # training pairs whose scores a scale starts from


class DivergedError(InputError):
    """The loss or the dev metric is no longer a finite number."""

    def __init__(self, what: str, value: float, epoch: int, lr: float) -> None:
        super().__init__(f"The {what} became {value} in epoch {epoch}: lower lr={lr:g} or set max_grad_norm.")
        self._arguments = (what, value, epoch, lr)

    def __reduce__(self) -> tuple[Any, ...]:
        # By default an exception is restored from its message, which is not what this constructor takes.
        return type(self), self._arguments, self.__dict__


def fit(
    model: PairModel,
    texts: TokenizedTexts,
    pairs: Pairs,
    config: TrainingConfig,
    *,
    evaluate: Callable[[], float] | None = None,
    on_step: Callable[[TrainingProgress], None] = lambda progress: None,
    checkpoints: Checkpoints | None = None,
    stream: TrainingData | None = None,
    workers: Workers | None = None,
) -> History:
    """Train `model` in place and leave it with the weights of the epoch for which `evaluate` returned most.

    Epoch 0, the model before training, is one of them. A loss or dev metric that is not finite stops training with a
    warning, or with an error in the first epoch. After every epoch a checkpoint and a line of the log are written.
    Every epoch has a random stream of its own, so a resumed run sees the same as one that was never stopped. Under a
    loss of labels, a bounded score gets a `ScoreScale`.

    With `stream`, epochs go through its blocks, and `pairs` are a sample of them; a checkpoint is written after
    some of the blocks too. With `workers`, each trains on its share of every batch, and the first one writes files.
    """
    workers = workers or OneWorker()
    device = next(model.parameters()).device
    examples = training_examples(pairs, config)
    scale = None
    if isinstance(examples, LabeledExamples) and model.bounded_score:
        scale = _score_scale(model, texts, examples, config).to(device)
    optimizer = _optimizer(model, scale, config, fused=device.type == "cpu")
    # Without evaluation the last epoch is the best one, so the weights need not be copied.
    weights = type(model).state_dict if evaluate is None else _copy_of_weights
    history, best = History(), weights(model)
    position = Position()
    if checkpoints is not None and checkpoints.resume:
        best, position = _resume(checkpoints, model, scale, optimizer, history)
    elif checkpoints is not None and workers.rank == 0:
        for name in (CHECKPOINT, LOG):
            delete_file(join(checkpoints.folder, name))

    def save(position: Position) -> None:
        if checkpoints is not None and workers.rank == 0:
            path = join(checkpoints.folder, CHECKPOINT)
            save_checkpoint(path, model, best, scale, optimizer, checkpoints.run, history, position)

    try:
        if not history.epochs and not position.blocks:
            best = _start(model, texts, examples, config, evaluate, history, best, weights)
        training = _Training(
            model,
            workers.wrap(model, scale),
            _parameters(model, scale),
            stream or MemoryData(texts, examples, config),
            texts,
            config,
            optimizer,
            device,
            workers,
        )
        while len(history.epochs) < config.epochs and not _out_of_patience(history, config.patience):
            number = len(history.epochs) + 1
            started = time.perf_counter()
            loss = _train_epoch(training, number, position, history, on_step, save)
            position = Position()
            seconds = time.perf_counter() - started
            metric = None if evaluate is None else evaluate()
            if metric is not None and not np.isfinite(metric):
                raise DivergedError("dev metric", metric, number, config.lr)
            with delay_interrupt():
                if metric is None or history.best is None or metric > history.best:
                    history.best_epoch, history.best, best = number, metric, weights(model)
                history.epochs.append(EpochRecord(number, loss, metric, round(seconds, 3)))
                if checkpoints is not None and workers.rank == 0:
                    # The log first: if the process is killed in between, the resumed run writes its last line again.
                    _write_log(join(checkpoints.folder, LOG), history)
                save(position)
    except KeyboardInterrupt:
        history.interrupted = True
    except DivergedError as error:
        if evaluate is None or not history.epochs:  # no epoch was good: the options cannot be right
            raise
        warnings.warn(f"{error} Training stopped; the best epoch, {history.best_epoch}, is kept.", stacklevel=4)
    model.load_state_dict(best)
    return history


def _write_log(path: str, history: History) -> None:
    with write_file(path) as file:
        file.writelines(f"{json.dumps(each.as_dict())}\n".encode() for each in history.epochs)


def _score_scale(
    model: PairModel, texts: TokenizedTexts, examples: LabeledExamples, config: TrainingConfig
) -> ScoreScale:
    """The scale of a bounded score, from the scores of some training pairs before training."""
    rows = np.unique(np.linspace(0, len(examples) - 1, SCALED_PAIRS).astype(np.int64))  # labels may be sorted
    pairs = examples.pairs
    return ScoreScale(config.loss, score_pairs(model, texts, pairs.left[rows], pairs.right[rows]), examples.label)


def _start(
    model: PairModel,
    texts: TokenizedTexts,
    examples: RankingExamples | LabeledExamples,
    config: TrainingConfig,
    evaluate: Callable[[], float] | None,
    history: History,
    untrained: dict[str, Tensor],
    weights: Callable[[PairModel], dict[str, Tensor]],
) -> dict[str, Tensor]:
    """Evaluate the untrained model, then fit its evidence, which is kept if dev is no worse; return the weights."""
    start = None if evaluate is None else evaluate()
    fit_linear(model, texts, examples, config)
    if start is None or evaluate is None or not np.isfinite(start):  # otherwise any epoch is better
        return weights(model)
    history.start, history.best, history.best_epoch = start, start, 0
    if model.linear_layer() is None:
        return untrained
    fitted = evaluate()
    if not fitted >= start:
        model.load_state_dict(untrained)
        return untrained
    history.best = fitted
    return weights(model)


@dataclass(frozen=True)
class _Training:
    """What every epoch needs."""

    model: PairModel
    network: Network
    parameters: list[Tensor]
    data: TrainingData
    sample: TokenizedTexts
    config: TrainingConfig
    optimizer: torch.optim.Optimizer
    device: torch.device
    workers: Workers


@dataclass(frozen=True)
class _Batches:
    """The batches of a part."""

    epoch: Epoch
    texts: TokenizedTexts
    rows: list[NDArray[np.int64]]


def _train_epoch(
    training: _Training,
    number: int,
    position: Position,
    history: History,
    on_step: Callable[[TrainingProgress], None],
    save: Callable[[Position], None],
) -> float:
    """Train on every block once; each worker has a block of its own at a time. Returns the mean loss."""
    training.model.train()
    config, workers, data = training.config, training.workers, training.data
    order = data.order(number)
    last = history.epochs[-1].metric if history.epochs else history.start
    started = saved = time.perf_counter()
    trained = 0

    def report(share: float, loss: float, examples: int, pairs: int) -> None:
        nonlocal trained
        trained += pairs
        done = min(1.0, (position.blocks + share * workers.size) / len(order))
        mean = (position.loss + loss) / (position.examples + examples)
        speed = trained / (time.perf_counter() - started)
        on_step(TrainingProgress(number, config.epochs, done, mean, last, history.best, speed))

    while position.blocks < len(order):
        mine = order[position.blocks + workers.rank :][:1]
        parts = data.parts(number, mine[0]) if mine else iter(())
        while True:
            part = next(parts, None)
            batches = None if part is None else _batches(training, part)
            sizes = workers.gather(None if batches is None else [len(rows) for rows in batches.rows])
            if all(each is None for each in sizes):
                break
            loss, examples = _train_part(training, number, batches, [each or [] for each in sizes], report)
            sums = workers.gather((loss, examples))
            position.loss += sum(each for each, _ in sums)
            position.examples += sum(each for _, each in sums)
            if not np.isfinite(position.loss):
                raise DivergedError("loss", position.loss, number, config.lr)
        position.blocks += workers.size
        if position.blocks < len(order) and time.perf_counter() - saved > CHECKPOINT_SECONDS:
            with delay_interrupt():
                save(position)
            saved = time.perf_counter()
    if not position.examples:
        raise InputError("No block has a list with both a positive and a negative: add negatives.", option="negatives")
    return position.loss / position.examples


def _batches(training: _Training, part: Part) -> _Batches:
    torch.manual_seed(part.seed + training.workers.rank)
    epoch = part.examples.epoch(part.rng)
    width = part.texts.lengths[epoch.left] * part.texts.lengths[epoch.right].max(1)
    negatives = max(1, epoch.right.shape[1] - 1)
    size = max(1, training.config.batch // negatives // training.workers.size)
    return _Batches(epoch, part.texts, shuffled_batches(width, size, part.rng))


def _train_part(
    training: _Training,
    number: int,
    batches: _Batches | None,
    sizes: list[list[int]],
    report: Callable[[float, float, int, int], None],
) -> tuple[float, int]:
    """Train on the batches of a part; `sizes` has the numbers of examples in those of every worker."""
    config, optimizer, workers = training.config, training.optimizer, training.workers
    total, seen, steps = 0.0, 0, max(map(len, sizes))
    for step in range(steps):
        optimizer.zero_grad(set_to_none=True)
        # The mean over workers of these losses is the mean over the examples of all of them.
        own = sizes[workers.rank][step] if step < len(sizes[workers.rank]) else 0
        weight = own * workers.size / sum(each[step] for each in sizes if step < len(each))
        if batches is not None and own:
            rows = batches.rows[step]
            loss = _loss(training, batches.texts, batches.epoch.take(rows))
            value = loss.item()
            if workers.size == 1 and not np.isfinite(value):
                raise DivergedError("loss", value, number, config.lr)
            (loss if weight == 1 else weight * loss).backward()
            total, seen = total + value * len(rows), seen + len(rows)
            report((step + 1) / steps, total, seen, len(rows) * batches.epoch.right.shape[1])
        else:  # other workers have one more batch, and their gradients are needed here too
            any_text = collate(training.sample, np.zeros(1, np.int64), training.device)
            (0.0 * training.network(any_text, any_text).sum()).backward()
        if config.max_grad_norm:
            torch.nn.utils.clip_grad_norm_(training.parameters, config.max_grad_norm)
        optimizer.step()
    return total, seen


def _loss(training: _Training, texts: TokenizedTexts, examples: Epoch) -> Tensor:
    # Column by column: all positives, then the first negative of each, and so on, in the order of their left texts.
    # Columns that only repeat negatives are not scored again.
    config, device = training.config, training.device
    right = examples.right[:, : 1 + examples.distinct.max()].T  # [1 + J', B]
    scores = training.network(collate(texts, examples.left, device), collate(texts, right.reshape(-1), device))
    if examples.label is not None:
        return LABEL_LOSS_FUNCTIONS[config.loss](scores, torch.from_numpy(examples.label).to(scores))
    lists = scores.view(right.shape)
    negatives = examples.right.shape[1] - 1
    if len(right) <= negatives:
        column = 1 + np.arange(negatives)[:, None] % examples.distinct  # [J, B]
        lists = torch.cat([lists[:1], lists.gather(0, torch.from_numpy(column).to(device))])  # [1 + J, B]
    return hinge(lists, config.margin) if config.loss == "hinge" else listwise(lists, config.softmax_scale)


def _parameters(model: PairModel, scale: ScoreScale | None) -> list[Tensor]:
    return [*model.parameters(), *(() if scale is None else scale.parameters())]


def _optimizer(
    model: PairModel, scale: ScoreScale | None, config: TrainingConfig, fused: bool
) -> torch.optim.Optimizer:
    slow = model.slow_parameters()
    rest = [p for p in model.parameters() if p.requires_grad and all(p is not each for each in slow)]
    parameters: list[dict[str, Any]] = [{"params": rest}]
    if slow:
        parameters.append({"params": slow, "lr": SLOW * config.lr})
    if scale is not None:  # weight decay would pull the scale towards 1
        parameters.append({"params": list(scale.parameters()), "weight_decay": 0.0})
    # Weight decay changes every row, and clipping needs the norm of the whole gradient.
    sparse = config.optimizer == "adagrad" and not config.weight_decay and not config.max_grad_norm
    for layer in model.all_layers():
        if hasattr(layer, "sparse"):
            layer.sparse = sparse
    if config.optimizer == "adagrad":
        return RowAdagrad(parameters, config.lr, eps=config.epsilon, weight_decay=config.weight_decay, fused=fused)
    kind = torch.optim.Adam if config.optimizer == "adam" else torch.optim.AdamW
    return kind(parameters, config.lr, weight_decay=config.weight_decay, fused=fused)


def _copy_of_weights(model: PairModel) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def _out_of_patience(history: History, patience: int) -> bool:
    return bool(
        patience
        and history.best is not None
        and history.best_epoch is not None
        and len(history.epochs) - history.best_epoch >= patience
    )


def _resume(
    checkpoints: Checkpoints,
    model: PairModel,
    scale: ScoreScale | None,
    optimizer: torch.optim.Optimizer,
    history: History,
) -> tuple[dict[str, Tensor], Position]:
    path = join(checkpoints.folder, CHECKPOINT)
    if not exists(path):
        raise InputError(f"There is no checkpoint to resume at {path}: start a new run.", option="resume")
    found = read_checkpoint(path)
    _check_same_run(checkpoints.folder, checkpoints.run, found.run)
    best = found.restore(model, scale, optimizer)
    history.epochs, history.start = found.history.epochs, found.history.start
    history.best_epoch, history.best = found.history.best_epoch, found.history.best
    return best, found.position


def _check_same_run(folder: str, run: RunRecord, found: RunRecord) -> None:
    """Raise InputError if a checkpoint is of a run with another model, other options, data or settings."""

    def differs(name: str, value: object, other: object) -> InputError:
        return InputError(
            f"Cannot resume with {name}={value!r}: the run in {folder} has {other!r}. "
            "Give the same value, or start again.",
            option="overwrite",
        )

    if run.model != found.model:
        raise differs("model", run.model, found.model)
    for kind in ("options", "data", "settings"):
        if kind == "settings" and run.vocabulary != found.vocabulary:
            raise InputError(
                f"Cannot resume: the run in {folder} has another vocabulary or other vectors. "
                "Give the same init and vectors, or start again.",
                option="overwrite",
            )
        other = getattr(found, kind)
        for name, value in getattr(run, kind).items():
            if name != "epochs" and other.get(name) != value:
                raise differs(name, value, other.get(name))
