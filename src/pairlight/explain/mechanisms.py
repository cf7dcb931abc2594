"""What a model's own mechanism says, read off its parts: whoever builds a model of these parts has it explained."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pairlight.explain.data import Fact, Grid, Path, Side, Span, Table, Weights
from pairlight.explain.grids import Spans, grid
from pairlight.explain.trace import Call, Integrated, Run, integrated, parts, repeated
from pairlight.explain.attribution import grown
from pairlight.models.bm25 import BM25
from pairlight.models.cdssm import CDSSM
from pairlight.models.deepmatch import DeepMatch
from pairlight.models.drmm import DRMM
from pairlight.models.esim import ESIM
from pairlight.models.pacrr import PACRR
from pairlight.layers.types import Tokens
from pairlight.layers.histogram import BinWeights, bin_of
from pairlight.layers.embedding import Gate, Words
from pairlight.layers.grid_conv import GridConv
from pairlight.layers.grid_pool import GridPool, pieces
from pairlight.layers.conv_pool import GridConvPoolCNN
from pairlight.layers.char_ngrams import CharNgramEmbedding, windows_of_three
from pairlight.layers.attention import embed_with_attention
from pairlight.layers.kernel_pooling import KernelPooling
from pairlight.layers.spatial_gru import SpatialGRU
from pairlight.text.tokenizer import Tokenizer

MOST = 15  # lines of a table


@dataclass(frozen=True)
class Reading:
    """A pair as its model has read it."""

    seen: Run
    left: Side
    right: Side
    rows: Spans  # of the interaction's grid
    columns: Spans
    tokenizer: Tokenizer

    @functools.cached_property
    def grown(self) -> Integrated | None:
        """Integrated gradients of the word vectors, computed when somebody asks for them."""
        return grown(self.seen)

    def words(self, side: int, place: int, before: int = 0, after: int = 0) -> tuple[int, ...]:
        """The words that a row (or column) and its neighbours stand for."""
        spans = (self.rows, self.columns)[side]
        near = spans[max(place - before, 0) : place + after + 1]
        return tuple(range(min(span.first for span in near), max(span.end for span in near))) if near else ()


@dataclass
class Account:
    """What was found out."""

    grids: list[Grid]
    weights: list[Weights]
    paths: list[Path]
    tables: list[Table]


Reader = Callable[[Reading, Any, Call, Account], None]


def account_of(reading: Reading) -> Account:
    """Let every part that has a story tell it."""
    account = Account([], [], [], [])
    for call in reading.seen.calls:
        for kind, reader in READERS.items():
            if isinstance(call.module, kind):
                reader(reading, call.module, call, account)
    for words in (module for module in reading.seen.model.modules() if isinstance(module, Words)):
        _attention(reading, words, account)
    return account


# Attention and other weights of words


def _attention(reading: Reading, words: Words, account: Account) -> None:
    found: dict[str, tuple[float, ...]] = {}
    for call in (call for call in reading.seen.calls if call.module is words.embed):
        side = "left" if call.args[0] is reading.seen.left else "right"
        gate = getattr(words, side)
        if isinstance(gate, Gate):
            found[side] = _numbers(gate.weights(call.output)[0])
    if found:
        account.weights.append(Weights("attention", found.get("left"), found.get("right")))


def _rare_first(reading: Reading, model: PACRR, _: Call, account: Account) -> None:
    idf = model.idf[reading.seen.left.ids[0].clamp(max=len(model.idf) - 1)]
    account.weights.append(Weights("share of idf", _numbers(idf.softmax(0))))


def _aligned(reading: Reading, model: ESIM, _: Call, account: Account) -> None:
    s = next(call.output.x[0, 0] for call in reading.seen.calls if call.module is model.interact)
    for name, x in (("left words look at right words", s.softmax(1)), ("right words look at left words", s.softmax(0))):
        account.grids.append(grid(name, "attention", reading.rows, reading.columns, x))


# The spatial GRU: states, gates and the path


def _scanned(reading: Reading, scan: SpatialGRU, call: Call, account: Account) -> None:
    cells = scan.cells(call.args[0])
    update = cells.update[0].mean(-1)  # [L, R, 4]; tied gates are the same in all dimensions anyway
    way = "backward" if scan.backwards else "forward"
    rows, columns = reading.rows, reading.columns
    D = cells.states.shape[-1]
    best, weight = _heaviest(reading.seen.model, D, scan.backwards, cells.states[0, -1, -1])
    name = f"{way} state" + (f", dimension {best + 1}" if D > 1 else "")
    account.grids.append(grid(name + weight, "state", rows, columns, cells.states[0, ..., best]))
    for number, gate in enumerate(("diagonal", "above", "before", "new")):
        account.grids.append(grid(f"{way} gate: {gate}", "gate", rows, columns, update[..., number]))
    ways = update[..., :3].clone()
    if D == 1:
        # The new state counts with the diagonal, as the paper's (7) has one term for both: with a state of one number
        # a match opens the gate of the new state alone, and no path of an LCS would be found.
        ways[..., 0] += update[..., 3]
    account.paths.append(Path(way, backtraced(ways.tolist(), scan.backwards)))


def _heaviest(model: nn.Module, D: int, backwards: bool, last: Tensor) -> tuple[int, str]:
    """The dimension of the state with the largest weight in the score; without a linear score, the largest state."""
    score = getattr(model, "score", None)
    if not isinstance(score, nn.Linear) or score.in_features % D:
        return int(last.abs().argmax()), ""
    weights = score.weight[0].view(-1, D)[-1 if backwards else 0]
    best = int(weights.abs().argmax())
    return best, f" (weight {float(weights[best]):.2g})"


def backtraced(gates: list[list[list[float]]], backwards: bool = False) -> tuple[tuple[int, int], ...]:
    """From the cell where a scan ends to where it begins, always along the largest gate that stays in the grid."""
    step = 1 if backwards else -1
    L, R = len(gates), len(gates[0])
    i, j = (0, 0) if backwards else (L - 1, R - 1)
    path = [(i, j)]
    while True:
        steps = ((i + step, j + step), (i + step, j), (i, j + step))  # diagonal, above, before
        ways = [(gate, at) for gate, at in zip(gates[i][j], steps, strict=True) if 0 <= at[0] < L and 0 <= at[1] < R]
        if not ways:
            return tuple(path)
        _, (i, j) = max(ways, key=lambda way: way[0])
        path.append((i, j))


# Words and their letters


def _terms(reading: Reading, model: BM25, _: Call, account: Account) -> None:
    left, right = reading.seen.left.ids[0], reading.seen.right.ids[0]
    slack = model.k1 * (1 - model.b + model.b * len(right) / float(model.average))
    facts = []
    for i, word in enumerate(left.tolist()):
        where = (right == word).nonzero()[:, 0].tolist()
        idf = float(model.idf[min(word, model.vocab)])
        if where:
            adds = idf * len(where) / (len(where) + slack)
            facts.append(Fact(reading.left.words[i].text, (i,), tuple(where), adds, {"idf": idf, "times": len(where)}))
    about = "Words of the left text that stand in the right one; what they add is the score."
    account.tables.append(Table("matched terms", about, _shared_out(facts)))


def _histograms(reading: Reading, model: DRMM, _: Call, account: Account) -> None:
    z = next(call.output[0, :, 0] for call in reading.seen.calls if call.module is model.score)
    idf = model.idf[reading.seen.left.ids[0].clamp(max=model.vocab)]
    a = embed_with_attention(model.words, reading.seen.left, reading.seen.right)[2]
    g = a[0] if model.rare is None else a[0] * (model.rare * idf).softmax(0)
    account.weights.append(Weights("term gate", _numbers(g)))
    facts = [
        Fact(word.text, (i,), (), None, {"histogram": float(z[i]), "gate": float(g[i]), "idf": float(idf[i])})
        for i, word in enumerate(reading.left.words)
    ]
    about = "How well each left word's histogram of likenesses speaks for a match, and how much say the word has."
    account.tables.append(Table("left words", about, tuple(facts)))


def _letters(reading: Reading, spelt: CharNgramEmbedding, call: Call, account: Account) -> None:
    """Each piece's part of what its word adds: the word's vector is the sum of its pieces'."""
    if isinstance(reading.seen.model, CDSSM) or any(table.name == "letters" for table in account.tables):
        return
    if reading.grown is None or not reading.grown.adds_up:
        return
    slopes: list[tuple[CharNgramEmbedding, int, Tensor]] = []
    for part in reading.grown.parts:
        tokens = [each for each in part.call.args if isinstance(each, Tokens)][part.index]
        if isinstance(part.call.module, CharNgramEmbedding):
            slopes.append((part.call.module, 0 if tokens is reading.grown.left else 1, part.slope))
    about = "The pieces that words are spelt with, and what they add to the score by integrated gradients."
    account.tables.append(Table("letters", about, _pieces(reading, slopes)))


def _pieces(reading: Reading, slopes: list[tuple[CharNgramEmbedding, int, Tensor]]) -> tuple[Fact, ...]:
    """What each piece adds, in all words together, where the score follows a word's vector by this slope [L, D]."""
    vocabulary = reading.tokenizer.pieces
    adds: dict[int, float] = {}
    where: dict[int, tuple[set[int], set[int]]] = {}
    for spelt, side, slope in slopes:
        tokens = (reading.seen.left, reading.seen.right)[side]
        if tokens.letters is None:
            continue
        letters = tokens.letters[tokens.ids[0]]  # [L, P]
        part = (spelt.table.weight[letters] @ slope[..., None])[..., 0]  # [L, P]
        for t, (spelling, values) in enumerate(zip(letters.tolist(), part.tolist(), strict=True)):
            for piece, value in zip(spelling, values, strict=True):
                if piece:
                    adds[piece] = adds.get(piece, 0.0) + value
                    where.setdefault(piece, (set(), set()))[side].add(t)
    return _shared_out(
        [
            Fact(vocabulary[piece], tuple(sorted(where[piece][0])), tuple(sorted(where[piece][1])), value)
            for piece, value in adds.items()
        ]
    )


def _windows(reading: Reading, model: CDSSM, _: Call, account: Account) -> None:
    """The score taken apart exactly, back to the windows that won their units and to the pieces in them.

    s = y·y' / (|y| |y'|), y = tanh(W v) and v = tanh(the largest h) are followed back by their ratios: what goes into a
    tanh has the same part of the score as what comes out of it. Either text has one half of the score to share out.
    """
    spelt = model.words
    read = [
        text.x[0] for _, call in reading.seen.of(CharNgramEmbedding) for text in parts(call.output)
    ]  # [L, 3·hidden] each
    coded = [(call.args[0][0], call.output[0]) for call in reading.seen.calls if call.module is model.out]
    y = [z.tanh() for _, z in coded]
    windows: list[Fact] = []
    slopes: list[tuple[CharNgramEmbedding, int, Tensor]] = []
    for side, text in enumerate((reading.left, reading.right)):
        v, z = coded[side]
        best, at = windows_of_three(F.pad(read[side], (0, 0, 1, 1))[None])[0].max(0)  # [hidden]
        follows = _ratio(y[side], z) * y[1 - side] / (2 * y[0].norm() * y[1].norm()).clamp(min=1e-12)  # [code]
        slope = F.one_hot(at, len(text.words)).T * (follows @ model.out.weight * _ratio(v, best))  # [L, hidden]
        before, behind = F.pad(slope, (0, 0, 1, 0))[:-1], F.pad(slope, (0, 0, 0, 1))[1:]
        slopes.append((spelt, side, torch.cat([behind, slope, before], -1)))
        units = at.bincount(minlength=len(text.words)).tolist()
        for t, adds in enumerate((slope * best).sum(1).tolist()):
            if units[t]:
                near = tuple(range(max(t - 1, 0), min(t + 2, len(text.words))))
                label = " ".join(text.words[word].text for word in near)
                left, right = (near, ()) if side == 0 else ((), near)
                windows.append(Fact(label, left, right, adds, {"units": units[t]}))
    about = "Three words at a time, and how many units each wins; all windows together add up to the score."
    account.tables.append(Table("windows", about, _shared_out(windows)))
    about = "The pieces in those windows, counted where their window wins; together they add up to the score."
    account.tables.append(Table("letters", about, _pieces(reading, slopes)))


def _ratio(out: Tensor, given: Tensor) -> Tensor:
    """tanh(x) / x, which is 1 at zero."""
    return torch.where(given.abs() > 1e-8, out / given, 1.0)


def _topics(reading: Reading, model: DeepMatch, _: Call, account: Account) -> None:
    """What each topic's own decision adds: the score minus that where the topic has met none of its words."""
    seen, finest, units = reading.seen, model.counts[0], model.units
    behind = model.layers[0] if len(model.layers) else model.committee
    silent = model.bias.sigmoid().view(finest, units)
    kept: list[Tensor] = []

    def without(_: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor]:
        h = args[0].view(-1, finest, units).clone()
        kept.append(h[0])
        h[torch.arange(finest), torch.arange(finest)] = silent
        return (h.flatten(1),)

    handle = behind.register_forward_pre_hook(without)
    try:
        scores = model(repeated(seen.left, finest), repeated(seen.right, finest)).tolist()
    finally:
        handle.remove()
    facts = []
    for topic, score in enumerate(scores):
        left = _in_patch(seen.left, model.left_number, model.left_patch[topic])
        right = _in_patch(seen.right, model.right_number, model.right_patch[topic])
        if left and right:
            values = {"decision": float(kept[0][topic].mean())}
            facts.append(Fact(f"topic {topic + 1}", left, right, seen.score - score, values))
    about = "The finest topics with words in both texts; what a topic adds is the score minus that without its words."
    account.tables.append(Table("topics", about, tuple(_largest(facts)[:MOST])))


def _in_patch(tokens: Tokens, number: Tensor, patch: Tensor) -> tuple[int, ...]:
    words = number[tokens.ids[0].clamp(max=len(number) - 1)]
    return tuple(((words[:, None] == patch).any(1) & (words > 0)).nonzero()[:, 0].tolist())


# Bins and kernels


def _bins(reading: Reading, part: BinWeights, call: Call, account: Account) -> None:
    s, b = call.args
    x, count = s.x[0, 0], len(part.w)
    which = bin_of(x, count)
    adds = torch.zeros(count).index_add_(0, which.flatten(), (part.w[which] * x * b[0]).flatten().float()).tolist()
    facts = []
    for k in which.unique().tolist():
        left, right = (which == k).nonzero(as_tuple=True)
        edges = (
            "1: the same word"
            if k == count - 1
            else f"{2 * k / (count - 1) - 1:+.2f} .. {2 * (k + 1) / (count - 1) - 1:+.2f}"
        )
        words = tuple(sorted(set(left.tolist()))), tuple(sorted(set(right.tolist())))
        facts.append(Fact(edges, *words, adds[k], {"weight": float(part.w[k]), "cells": float(len(left))}))
    about = (
        "Likenesses by the bin their value falls in; what a bin adds is counted before the sigmoid of each left word."
    )
    account.tables.append(Table("bins", about, _shared_out(facts)))


def _kernels(reading: Reading, part: KernelPooling, call: Call, account: Account) -> None:
    score = getattr(reading.seen.model, "score", None)
    first = score[0] if isinstance(score, nn.Sequential) else score
    phi = call.output[0]
    channels = len(phi) // len(part.mu)
    if not isinstance(first, nn.Linear) or first.weight.shape != (1, len(phi)):
        return
    mu = [f"μ = {mu:+.2f}" for mu in part.mu]
    names = mu if channels == 1 else [f"channel {c + 1}, {each}" for c in range(channels) for each in mu]
    facts = [
        Fact(name, (), (), float(w * p), {"φ": float(p), "weight": float(w)})
        for name, p, w in zip(names, phi, first.weight[0], strict=True)
    ]
    about = "Kernels that count likenesses near μ; what a kernel adds is its count times its weight, before the tanh."
    account.tables.append(Table("kernels", about, _shared_out(facts)))


# Grids that are pooled


def _pooled(reading: Reading, pool: GridPool, call: Call, account: Account) -> None:
    """The cells that won their piece of the grid, with the words they look at."""
    s = call.args[0]
    if s.x.shape[2:] != (len(reading.rows), len(reading.columns)):
        return  # a pooling further back, whose cells have no words of their own
    found = integrated(reading.seen, [pool])
    if found is None or not found.adds_up:
        return
    conv = next((c.module for c in reading.seen.calls if c.output is s and isinstance(c.module, GridConv)), None)
    around = conv.around if isinstance(conv, GridConv) else (0, 0, 0, 0)
    i = pieces(s.mask.any(2).sum(1), pool.rows, pool.doubling)[0]  # [P, W]
    j = pieces(s.mask.any(1).sum(1), pool.columns, pool.doubling)[0]  # [Q, V]
    adds = found.parts[0].adds  # [C, P, Q]
    totals: dict[tuple[int, int, int], float] = {}
    for c, p, q in adds.abs().gt(0).nonzero().tolist():
        piece = s.x[0, c][i[p]][:, j[q]]
        at = int(piece.argmax())
        cell = (c, int(i[p][at // piece.shape[1]]), int(j[q][at % piece.shape[1]]))
        totals[cell] = totals.get(cell, 0.0) + float(adds[c, p, q])
    facts = [
        Fact(
            f"{reading.rows[row].label} × {reading.columns[column].label}"
            + (f", map {c + 1}" if len(adds) > 1 else ""),
            reading.words(0, row, around[2], around[3]),
            reading.words(1, column, around[0], around[1]),
            total,
            {"value": float(s.x[0, c, row, column])},
        )
        for (c, row, column), total in totals.items()
    ]
    about = "Cells that won their piece of the grid, and all the words that each of them looks at."
    account.tables.append(Table("pooled cells", about, _shared_out(facts)))


def _halved(reading: Reading, part: GridConvPoolCNN, call: Call, account: Account) -> None:
    """The cells of the last layer, with the words that each of them looks at."""
    found = integrated(reading.seen, [part])
    if found is None or not found.adds_up:
        return
    adds = found.parts[0].adds.view(-1, part.last, part.last).sum(0)  # [P, Q]
    facts = []
    for p, q in adds.abs().gt(0).nonzero().tolist():
        left, right = (_reach(part, place, spans) for place, spans in ((p, reading.rows), (q, reading.columns)))
        facts.append(Fact(f"cell {p + 1}, {q + 1}", left, right, float(adds[p, q])))
    about = "Cells of the last layer, and all the words that each of them looks at."
    account.tables.append(Table("pooled cells", about, _shared_out(facts)))


def _reach(part: GridConvPoolCNN, place: int, spans: Spans) -> tuple[int, ...]:
    first, last = place, place
    for halving in reversed(part.halvings):
        first, last = 2 * first, 2 * last + 1 + int(halving.more)  # type: ignore[arg-type]
    near: tuple[Span, ...] = spans[first : last + 1]
    return tuple(range(near[0].first, near[-1].end)) if near else ()


READERS: dict[type[nn.Module], Reader] = {
    PACRR: _rare_first,
    ESIM: _aligned,
    SpatialGRU: _scanned,
    BM25: _terms,
    DRMM: _histograms,
    CharNgramEmbedding: _letters,
    CDSSM: _windows,
    DeepMatch: _topics,
    BinWeights: _bins,
    KernelPooling: _kernels,
    GridPool: _pooled,
    GridConvPoolCNN: _halved,
}


def _largest(facts: list[Fact]) -> list[Fact]:
    return sorted(facts, key=lambda fact: -abs(fact.adds or 0))


def _shared_out(facts: list[Fact]) -> tuple[Fact, ...]:
    """The lines that add most and, where there are more, a last one of all others together: the sum stays whole."""
    facts = _largest(facts)
    rest = facts[MOST:]
    others = [Fact(f"{len(rest)} more", adds=sum(fact.adds or 0 for fact in rest))] if rest else []
    return (*facts[:MOST], *others)


def _numbers(x: Tensor) -> tuple[float, ...]:
    return tuple(x.tolist())
