"""Plain PyTorch versions of MV-LSTM and Match-SRNN: a double loop, a packed LSTM, and gradients of whole tables."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from pairlight.layers.embedding import Embedding
from pairlight.layers.interactions import Interaction, TensorLayer
from pairlight.layers.layer import Layer
from pairlight.layers.lstm import BiLSTM
from pairlight.layers.spatial_gru import SpatialGRU
from pairlight.layers.types import Grid, Seq, Tokens, masked_grid, tile_left
from pairlight.models.base import PairModel
from pairlight.models.match_srnn import MatchSRNN
from pairlight.models.mv_lstm import MVLSTM
from pairlight.text.tokenizer import PADDING, UNKNOWN


class PlainEmbedding(Embedding):
    """A lookup whose gradient is as large as the table."""

    def forward(self, tokens: Tokens) -> Seq:
        known = torch.where(tokens.ids >= self.vocab, UNKNOWN, tokens.ids)
        x = F.embedding(torch.where(tokens.mask, known, PADDING), self.weight, PADDING)
        return Seq(F.dropout(x, self.dropout, self.training), tokens.mask, tokens.ids)


class PlainMVLSTM(PairModel):
    """MV-LSTM as in its equations: texts are encoded again for every pair, and the whole grid has a gradient."""

    def __init__(self, model: MVLSTM) -> None:
        self.settings = model.settings
        self.embed, self.encode, self.interact = model.embed, model.encode, model.interact
        self.aggregate, self.score = model.aggregate, model.score

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        u, v = self.embed(left, right)
        return self.score(self.aggregate(self.interact(self.encode(u), self.encode(v))))


class PlainMatchSRNN(PairModel):
    """Match-SRNN as in its equations: the grid is stored, then scanned."""

    def __init__(self, model: MatchSRNN) -> None:
        self.settings = model.settings
        self.embed, self.interact = model.embed, model.interact
        self.aggregate, self.score = model.aggregate, model.score

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        return self.score(self.aggregate(self.interact(*self.embed(left, right))))[:, 0]


class DoubleLoop(Layer):
    """The spatial GRU, cell by cell as in its equations."""

    def __init__(self, gru: SpatialGRU) -> None:
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


class PackedBiLSTM(Layer):
    """`nn.LSTM` in both directions on a packed batch."""

    def __init__(self, bilstm: BiLSTM) -> None:
        hidden = len(bilstm.forwards.bias) // 4
        dim = bilstm.forwards.weight.shape[1] - hidden
        self.lstm = nn.LSTM(dim, hidden, bidirectional=True, batch_first=True)
        with torch.no_grad():
            for ending, one in (("", bilstm.forwards), ("_reverse", bilstm.backwards)):
                getattr(self.lstm, f"weight_ih_l0{ending}").copy_(one.weight[:, :dim])
                getattr(self.lstm, f"weight_hh_l0{ending}").copy_(one.weight[:, dim:])
                getattr(self.lstm, f"bias_ih_l0{ending}").copy_(one.bias)
                getattr(self.lstm, f"bias_hh_l0{ending}").zero_()
        for name, value in self.lstm.named_parameters():
            setattr(self, name, value)  # a layer finds its parameters among its own attributes

    def forward(self, u: Seq) -> Seq:
        packed = pack_padded_sequence(u.x, u.lengths, batch_first=True, enforce_sorted=False)
        return u.with_x(pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=u.x.shape[1])[0])


class EinsumTensorLayer(TensorLayer):
    """The neural tensor layer as in its equation."""

    def forward(self, u: Seq, v: Seq) -> Grid:
        u, v = tile_left(u, v)
        D = u.x.shape[-1]
        s = torch.einsum("bld,cde,bre->bclr", u.x, self.weight, v.x)
        s = s + (u.x @ self.linear[:, :D].mT).mT[..., None] + (v.x @ self.linear[:, D:].mT).mT[:, :, None]
        return masked_grid(u, v, (s + self.bias[:, None, None]).relu())


def naive_match_srnn(model: PairModel) -> PairModel:
    """A copy of a Match-SRNN that scans its grid in a double loop."""
    naive = PlainMatchSRNN(_copy_with_plain_embedding(model))
    naive.interact = _einsum(naive.interact)
    naive.aggregate = DoubleLoop(naive.aggregate)
    return naive


def packed_mv_lstm(model: PairModel) -> PairModel:
    """A copy of an MV-LSTM that encodes texts with a packed `nn.LSTM`."""
    packed = PlainMVLSTM(_copy_with_plain_embedding(model))
    packed.encode = PackedBiLSTM(packed.encode)
    packed.interact = _einsum(packed.interact)
    return packed


def _copy_with_plain_embedding(model: PairModel) -> PairModel:
    embedding = model.embed.embedding
    settings = {name: value for name, value in model.settings.items() if name != "evidence"}
    copied = type(model)(embedding.vocab, **settings)
    copied.embed.embedding = PlainEmbedding(embedding.vocab, model.embed.dim, embedding.dropout)
    copied.load_state_dict(model.state_dict())
    return copied


def _einsum(interact: Interaction) -> Interaction:
    if not isinstance(interact, TensorLayer):
        return interact
    plain = EinsumTensorLayer(interact.weight.shape[1], interact.channels)
    plain.load_state_dict(interact.state_dict())
    return plain
