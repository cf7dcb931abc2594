"""What a user might write instead: two plain loops, a packed LSTM, gradients of whole tables and whole grids."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from pairlight.models.base import PairModel
from pairlight.models.match_srnn import MatchSRNN
from pairlight.models.mv_lstm import MVLSTM
from pairlight.layers.types import Grid, Seq, Tokens, tile_left, grid_of
from pairlight.layers.embedding import Embed
from pairlight.layers.lstm import BiLSTM
from pairlight.layers.interactions import TensorLayer
from pairlight.layers.spatial_gru import SpatialGRU
from pairlight.text.tokenizer import PADDING


class PlainEmbed(Embed):
    """A lookup whose gradient is as large as the table."""

    def _rows(self, ids: Tensor) -> Tensor:
        return F.embedding(ids, self.table.weight, PADDING)


class PlainMVLSTM(PairModel):
    """MV-LSTM as its equations read: every pair by itself, and the whole grid has a gradient."""

    def __init__(self, vocab: int, **settings: Any) -> None:
        super().__init__()
        for name, stage in MVLSTM(vocab, **settings).named_children():
            setattr(self, name, stage)

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        u, v = self.words(left, right)
        return self.score(self.aggregate(self.interact(self.encode(u), self.encode(v))))


class PlainMatchSRNN(MatchSRNN):
    """Match-SRNN as its equations read: the grid is written, then scanned."""

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        return self.score(self.aggregate(self.interact(*self.words(left, right))))[:, 0]


class DoubleLoop(nn.Module):
    """The spatial GRU cell by cell, as its equations read."""

    def __init__(self, gru: SpatialGRU) -> None:
        super().__init__()
        self.gates, self.gates_bias = gru.gates, gru.gates_bias
        self.candidate, self.candidate_bias = gru.candidate, gru.candidate_bias

    def forward(self, s: Grid) -> Tensor:
        B, _, L, R = s.x.shape
        D = len(self.candidate)
        outside = s.x.new_zeros(B, D)
        above = [outside] * (R + 1)
        rows = []
        for i in range(L):
            row = [outside]
            for j in range(R):
                row.append(self._cell(above[j], above[j + 1], row[j], s.x[:, :, i, j]))
            rows.append(torch.stack(row[1:], 1))
            above = row
        last = s.mask.any(2).sum(1) - 1, s.mask.any(1).sum(1) - 1
        return torch.stack(rows, 1)[torch.arange(B), last[0], last[1]]

    def _cell(self, diagonal: Tensor, top: Tensor, left: Tensor, s: Tensor) -> Tensor:
        D = len(self.candidate)
        gates = F.linear(torch.cat([diagonal, top, left, s], -1), self.gates, self.gates_bias)
        r = torch.sigmoid(gates[:, : 3 * D])
        z = torch.softmax(gates[:, 3 * D :].view(-1, 4, D), 1)
        kept = torch.cat([r * torch.cat([diagonal, top, left], -1), s], -1)
        new = torch.tanh(F.linear(kept, self.candidate, self.candidate_bias))
        return z[:, 0] * diagonal + z[:, 1] * top + z[:, 2] * left + z[:, 3] * new


class PackedBiLSTM(nn.Module):
    """`nn.LSTM`, both ways, over a packed batch."""

    def __init__(self, bilstm: BiLSTM) -> None:
        super().__init__()
        hidden = len(bilstm.forwards.bias) // 4
        dim = bilstm.forwards.weight.shape[1] - hidden
        self.lstm = nn.LSTM(dim, hidden, bidirectional=True, batch_first=True)
        with torch.no_grad():
            for ending, one in (("", bilstm.forwards), ("_reverse", bilstm.backwards)):
                getattr(self.lstm, f"weight_ih_l0{ending}").copy_(one.weight[:, :dim])
                getattr(self.lstm, f"weight_hh_l0{ending}").copy_(one.weight[:, dim:])
                getattr(self.lstm, f"bias_ih_l0{ending}").copy_(one.bias)
                getattr(self.lstm, f"bias_hh_l0{ending}").zero_()

    def forward(self, u: Seq) -> Seq:
        packed = pack_padded_sequence(u.x, u.lengths, batch_first=True, enforce_sorted=False)
        return u.with_x(pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=u.x.shape[1])[0])


class EinsumTensorLayer(TensorLayer):
    """The neural tensor layer as its equation reads."""

    def forward(self, u: Seq, v: Seq) -> Grid:
        u, v = tile_left(u, v)
        D = u.x.shape[-1]
        s = torch.einsum("bld,cde,bre->bclr", u.x, self.weight, v.x)
        s = s + (u.x @ self.linear[:, :D].mT).mT[..., None] + (v.x @ self.linear[:, D:].mT).mT[:, :, None]
        return grid_of(u, v, (s + self.bias[:, None, None]).relu())


def naive_match_srnn(model: PairModel) -> PairModel:
    """The same model with the same weights, its grid scanned by a double loop."""
    naive = _twin(model, PlainMatchSRNN)
    naive.interact = _einsum(naive.interact)
    naive.aggregate = DoubleLoop(naive.aggregate)
    return naive


def packed_mv_lstm(model: PairModel) -> PairModel:
    """The same model with the same weights on a packed `nn.LSTM`."""
    packed = _twin(model, PlainMVLSTM)
    packed.encode = PackedBiLSTM(packed.encode)
    packed.interact = _einsum(packed.interact)
    return packed


def _twin(model: PairModel, kind: type[PairModel]) -> PairModel:
    words = model.words.embed
    twin = kind(words.vocab, **model.settings)
    twin.words.embed = PlainEmbed(words.vocab, model.words.dim)
    twin.load_state_dict(model.state_dict())
    return twin


def _einsum(interact: nn.Module) -> nn.Module:
    if not isinstance(interact, TensorLayer):
        return interact
    plain = EinsumTensorLayer(interact.weight.shape[1], interact.channels)
    plain.load_state_dict(interact.state_dict())
    return plain
