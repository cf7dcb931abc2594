"""uRAE: every phrase of one text is compared with every phrase of the other, the nearest kept on a fixed grid."""

from typing import Unpack

import torch
from torch import Tensor, nn

from pairlight.data.pairs import Pairs
from pairlight.models.base import Apart
from pairlight.models.scoring import tokens
from pairlight.parts import Grid, Seq, Tokens, facing, grid_of
from pairlight.parts.autoencoder import TreeAutoencoder
from pairlight.parts.embed import Words, WordSettings
from pairlight.parts.grid_pool import GridPool
from pairlight.parts.interact import Interaction
from pairlight.text.tokenizer import Encoded

TEXTS = 64  # in one step of the autoencoder's training
SAMPLE = 2048  # pairs that the grid's mean and spread are taken from


class URAE(Apart[Seq]):
    """An autoencoder gives each node of a text's tree a vector; the distances of all nodes are the match.

    p    = tanh(W [a ; b] + c) for the two children a, b of a node; a leaf is its word's vector
    s_ij = -|p_i - p_j| of all nodes of the two trees: words first, then inner nodes, right before left, the root last
    g    = the largest s_ij of each piece of the grid, cut into 15 x 15 by the pair's own numbers of nodes
    q    = (g - mean) / 3 spread, kept within ±1, mapped to 0.1 .. 0.9; mean and spread of the training pairs
    s    = w · q + a

    Before the matcher, W is trained without labels on the training texts: from the vector of every inner node all
    words below it are unfolded, [a' ; b'] = tanh(V p + d) again and again, and |x - x'|² over them made small. Then it
    is fixed. Nodes are joined as the text's parse says, where the text is given with brackets: ((the cat) (sat down)).
    Without brackets they are joined greedily: first the two neighbours that come back best from the vector they make.

    The largest -|.| is the paper's smallest distance. A text shorter than the grid has its rows doubled, as there.

    Unlike the paper: no parser is run. The autoencoder is trained by Adam on the texts at hand, not by L-BFGS
    on news text. The eight further features (numbers, lengths, shared words) are left out, and no pair is shown to the
    matcher a second time with its sides changed.

    Settings:
      grid   rows and columns of the grid
      steps  steps of the training without labels, 64 texts each
    """

    paper = "Socher et al., NIPS 2011"
    family = "composition"
    parses = True
    prepares_once = True
    recipe = {"freeze": True, "lr": 0.1, "epsilon": 1e-10}

    mean: Tensor
    spread: Tensor

    def __init__(self, vocab: int, *, grid: int = 15, steps: int = 300, **words: Unpack[WordSettings]) -> None:
        super().__init__()
        self.steps = steps
        self.words = Words(vocab, **words)
        self.encode = TreeAutoencoder(self.words.dim)
        self.interact = Nearness()
        self.aggregate = GridPool(grid, grid, doubling=True)
        self.score = nn.Linear(grid * grid, 1)
        self.register_buffer("mean", torch.zeros(()))
        self.register_buffer("spread", torch.ones(()))

    def prepare(self, texts: Encoded, pairs: Pairs) -> None:
        self.eval()
        device = self.mean.device
        weights = [weight.requires_grad_() for weight in self.encode.buffers()]
        optimizer = torch.optim.Adam(weights, lr=0.003)
        for _ in range(self.steps):
            some = torch.randint(len(texts), (TEXTS,)).numpy()
            read = tokens(texts, some, device)
            if read.ids.shape[1] == 1:  # no text has two words to be joined
                continue
            with torch.no_grad():
                u = self.words.embed(read)
            optimizer.zero_grad()
            (self.encode.error(u, read.joins) / TEXTS).backward()
            optimizer.step()
        for weight in weights:
            weight.requires_grad_(False)
        with torch.no_grad():
            seen = []
            for rows in torch.randperm(len(pairs))[:SAMPLE].split(128):
                left, right = (tokens(texts, side[rows.numpy()], device) for side in (pairs.left, pairs.right))
                seen.append(self.pooled(self.left(left), self.right(right)))
            self.spread, self.mean = torch.std_mean(torch.cat(seen))

    def left(self, tokens: Tokens) -> Seq:
        return self.encode(self.words.of_left(tokens), tokens.joins)

    def right(self, tokens: Tokens) -> Seq:
        return self.encode(self.words.of_right(tokens), tokens.joins)

    def match(self, u: Seq, v: Seq) -> Tensor:
        q = (self.pooled(u, v) - self.mean) / (3 * self.spread)
        return self.score(q.clamp(-1, 1) * 0.4 + 0.5)[:, 0]

    def pooled(self, u: Seq, v: Seq) -> Tensor:
        return self.aggregate(self.interact(u, v)).x.flatten(1)


class Nearness(Interaction):
    """s_ij = -|u_i - v_j|"""

    channels = 1

    def forward(self, u: Seq, v: Seq) -> Grid:
        u, v = facing(u, v)
        # Not by products: equal vectors must be at distance 0 exactly.
        far = torch.cdist(u.x, v.x, compute_mode="donot_use_mm_for_euclid_dist")
        return grid_of(u, v, -far[:, None])  # [B, 1, L, R]
