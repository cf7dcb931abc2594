"""The training loop: one epoch after another, the best one kept, nothing lost when it is stopped."""

import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pairlight.data.batching import shuffled
from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError
from pairlight.core.files import write_text
from pairlight.core.memory import disable_malloc_trim
from pairlight.models.base import PairModel
from pairlight.inference.scoring import tokens
from pairlight.text.tokenizer import TokenizedTexts
from pairlight.training.adagrad import RowAdagrad
from pairlight.training.checkpoint import load_checkpoint, record_of, save_checkpoint
from pairlight.training.examples import Epoch, Labelled, Lists
from pairlight.training.interrupt import undisturbed
from pairlight.training.losses import LABELLED, hinge, softmax
from pairlight.training.config import LIST_LOSSES, TrainingConfig

CHECKPOINT, LOG = "checkpoint.safetensors", "log.jsonl"
WORDS = "words"  # among the facts: what tells the words that a run began with from others


@dataclass(frozen=True)
class TrainingProgress:
    """Where training is just now, for whoever watches."""

    epoch: int
    epochs: int
    done: float  # share of this epoch
    loss: float  # mean of this epoch so far
    metric: float | None  # dev metric of the last finished epoch
    best: float | None
    pairs_per_second: float


@dataclass
class History:
    """What came of training: a line for each epoch, and which was best."""

    epochs: list[dict[str, Any]] = field(default_factory=list)
    best_epoch: int | None = None
    best: float | None = None
    interrupted: bool = False


class DivergedError(InputError):
    """What training makes small, or what it is judged by, is no finite number any more."""

    def __init__(self, what: str, value: float, epoch: int, lr: float) -> None:
        super().__init__(f"The {what} became {value} in epoch {epoch}: lower lr={lr:g} or set a clip.")


def fit(
    model: PairModel,
    texts: TokenizedTexts,
    pairs: Pairs,
    options: TrainingConfig,
    *,
    judge: Callable[[], float] | None = None,
    watch: Callable[[TrainingProgress], None] = lambda moment: None,
    folder: Path | None = None,
    resume: bool = False,
    facts: dict[str, Any] | None = None,
) -> History:
    """Train `model` in place and leave it with the weights of the epoch that `judge` liked best.

    It ends with a warning where the loss or what `judge` says becomes infinite or NaN, but fails so in its first epoch.
    After every epoch a checkpoint and a line of the log go to `folder`. Each epoch draws from a stream of random
    numbers of its own, so a run that resumes sees what it would have seen had it never stopped.
    """
    disable_malloc_trim()
    device = next(model.parameters()).device
    examples = Lists(pairs, options.negatives_per_positive) if options.loss in LIST_LOSSES else Labelled(pairs, options.loss)
    optimizer = _optimizer(model, options, fused=device.type == "cpu")
    # Without a judge the last epoch is the best one, and the weights need not be kept aside.
    kept = type(model).state_dict if judge is None else _copied
    history, best = History(), kept(model)
    # In this order: options and data make the words, the words' vectors may set the size of the model.
    record = {"options": options.as_dict(), "facts": facts or {}, "settings": model.settings}
    if resume and folder is not None:
        best = _resumed(folder / CHECKPOINT, model, optimizer, history, record)
    elif folder is not None:
        for name in (CHECKPOINT, LOG):
            (folder / name).unlink(missing_ok=True)
    try:
        while len(history.epochs) < options.epochs and not _stale(history, options.patience):
            number = len(history.epochs) + 1
            started = time.perf_counter()
            loss = _epoch(model, texts, examples, options, optimizer, device, number, history, watch)
            trained = time.perf_counter() - started
            metric = None if judge is None else judge()
            if metric is not None and not np.isfinite(metric):
                raise DivergedError("dev metric", metric, number, options.lr)
            with undisturbed():
                if metric is None or history.best is None or metric > history.best:
                    history.best_epoch, history.best, best = number, metric, kept(model)
                line = {"epoch": number, "loss": loss, "metric": metric, "seconds": round(trained, 3)}
                history.epochs.append(line)
                if folder is not None:
                    # First the log: if the process is killed after it, the resumed run writes its last line anew.
                    write_text(folder / LOG, "".join(json.dumps(each) + "\n" for each in history.epochs))
                    state = {"epochs": history.epochs, "best_epoch": history.best_epoch, "best": history.best}
                    save_checkpoint(folder / CHECKPOINT, model, best, optimizer, record | {"history": state})
    except KeyboardInterrupt:
        history.interrupted = True
        if history.best_epoch is None:
            best = _copied(model)
    except DivergedError as error:
        if judge is None or history.best_epoch is None:  # no weights of a good epoch are kept aside
            raise
        warnings.warn(f"{error} Training ended there; epoch {history.best_epoch}, the best, is kept.", stacklevel=4)
    model.load_state_dict(best)
    return history


def _epoch(
    model: PairModel,
    texts: TokenizedTexts,
    examples: Lists | Labelled,
    options: TrainingConfig,
    optimizer: torch.optim.Optimizer,
    device: torch.device,
    number: int,
    history: History,
    watch: Callable[[TrainingProgress], None],
) -> float:
    rng = np.random.default_rng([options.seed, number])
    torch.manual_seed(options.seed * 1_000_003 + number)
    model.train()
    epoch = examples.epoch(rng)
    width = texts.lengths[epoch.left] * texts.lengths[epoch.right].max(1)
    wrong = max(1, epoch.right.shape[1] - 1)
    batches = shuffled(width, max(1, options.batch // wrong), rng)
    total, seen, started = 0.0, 0, time.perf_counter()
    last = history.epochs[-1]["metric"] if history.epochs else None
    for step, some in enumerate(batches, 1):
        loss = _loss(model, texts, epoch, some, options, device)
        value = loss.item()
        if not np.isfinite(value):
            raise DivergedError("loss", value, number, options.lr)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if options.max_grad_norm:
            torch.nn.utils.clip_grad_norm_(model.parameters(), options.max_grad_norm)
        optimizer.step()
        total, seen = total + value * len(some), seen + len(some)
        speed = seen * epoch.right.shape[1] / (time.perf_counter() - started)
        done = step / len(batches)
        watch(TrainingProgress(number, options.epochs, done, total / seen, last, history.best, speed))
    return total / seen


def _loss(
    model: PairModel, texts: TokenizedTexts, epoch: Epoch, some: NDArray[np.int64], options: TrainingConfig, device: torch.device
) -> Tensor:
    # Column by column: first every better text, then the first worse one of each, ... each facing its left text.
    right = epoch.right[some].T
    scores = model(tokens(texts, epoch.left[some], device), tokens(texts, right.reshape(-1), device))
    if epoch.label is not None:
        return LABELLED[options.loss](scores, torch.from_numpy(epoch.label[some]).to(scores))
    lists = scores.view(right.shape)  # [1 + J, B]
    return hinge(lists, options.margin) if options.loss == "hinge" else softmax(lists, options.softmax_scale)


def _optimizer(model: PairModel, options: TrainingConfig, fused: bool) -> torch.optim.Optimizer:
    parameters = [p for p in model.parameters() if p.requires_grad]
    # Decay moves every row, and clipping asks for the norm of a whole gradient.
    rows_only = options.optimizer == "adagrad" and not options.weight_decay and not options.max_grad_norm
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            module.sparse = rows_only
    if options.optimizer == "adagrad":
        return RowAdagrad(parameters, options.lr, eps=options.epsilon, weight_decay=options.weight_decay, fused=fused)
    kind = torch.optim.Adam if options.optimizer == "adam" else torch.optim.AdamW
    return kind(parameters, options.lr, weight_decay=options.weight_decay, fused=fused)


def _copied(model: PairModel) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def _stale(history: History, patience: int) -> bool:
    return bool(
        patience
        and history.best is not None
        and history.best_epoch is not None
        and len(history.epochs) - history.best_epoch >= patience
    )


def _resumed(
    path: Path, model: PairModel, optimizer: torch.optim.Optimizer, history: History, record: dict[str, Any]
) -> dict[str, Tensor]:
    if not path.is_file():
        raise InputError(f"There is nothing to resume at {path}: train without --resume.")
    found = record_of(path)
    for kind, wanted in record.items():
        for name, value in wanted.items():
            if name == "epochs" or found[kind].get(name) == value:
                continue
            if name == WORDS:
                raise InputError(
                    f"Can't resume: the run at {path.parent} began with other words or vectors. "
                    "Give the same --init and --vectors, or train anew with --overwrite."
                )
            raise InputError(
                f"Can't resume with {name}={value!r}: the run at {path.parent} has {found[kind].get(name)!r}. "
                "Give the same, or train anew with --overwrite."
            )
    state, best = found["history"], load_checkpoint(path, model, optimizer)
    history.epochs, history.best_epoch, history.best = state["epochs"], state["best_epoch"], state["best"]
    return best
