"""uRAE: every phrase of one text is compared with every phrase of the other, the nearest kept on a fixed grid."""

from typing import Unpack

import torch
from torch import Tensor

from pairlight.data.pairs import Pairs
from pairlight.layers.basic import Linear
from pairlight.layers.collate import collate
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.grid_pool import GridPool
from pairlight.layers.interactions import Interaction
from pairlight.layers.layer import buffer
from pairlight.layers.settings import Size
from pairlight.layers.tree_autoencoder import TreeAutoencoder
from pairlight.layers.types import Grid, Seq, Tokens, masked_grid, tile_left
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import InputSpec
from pairlight.text.tokenizer import TokenizedTexts

TEXTS = 64  # in one step of the autoencoder's training
SAMPLE = 2048  # pairs that the grid's mean and spread are taken from


class URAE(DualEncoder[Seq]):
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
    inputs = InputSpec(pretrained_vectors=True, parse_brackets=True)
    statistics_are_weights = True
    training_defaults = {"freeze": True, "lr": 0.1, "epsilon": 1e-10}

    mean: Tensor
    spread: Tensor

    def __init__(
        self, vocab: int, *, grid: Size = 15, steps: Size = 300, **embedding: Unpack[EmbeddingSettings]
    ) -> None:
        self.steps = steps
        self.embed = WordEmbedding(vocab, **embedding)
        self.encode = TreeAutoencoder(self.embed.dim)
        self.interact = Nearness()
        self.aggregate = GridPool(grid, grid, doubling=True)
        self.score = Linear(grid * grid, 1)
        self.mean = buffer()
        self.spread = buffer(fill=1.0)

    def fit_statistics(self, texts: TokenizedTexts, pairs: Pairs) -> None:
        self.eval()
        device = self.mean.device
        weights = [weight.requires_grad_() for weight in self.encode.buffers()]
        optimizer = torch.optim.Adam(weights, lr=0.003)
        for _ in range(self.steps):
            some = torch.randint(len(texts), (TEXTS,)).numpy()
            read = collate(texts, some, device)
            if read.ids.shape[1] == 1:  # no text has two words to be joined
                continue
            with torch.no_grad():
                u = self.embed.embedding(read)
            optimizer.zero_grad()
            (self.encode.error(u, read.joins) / TEXTS).backward()
            optimizer.step()
        for weight in weights:
            weight.requires_grad_(False)
        with torch.no_grad():
            seen = []
            for rows in torch.randperm(len(pairs))[:SAMPLE].split(128):
                left, right = (collate(texts, side[rows.numpy()], device) for side in (pairs.left, pairs.right))
                seen.append(self.pooled(self.encode_left(left), self.encode_right(right)))
            self.spread, self.mean = torch.std_mean(torch.cat(seen))

    def encode_left(self, tokens: Tokens) -> Seq:
        return self.encode(self.embed.left(tokens), tokens.joins)

    def encode_right(self, tokens: Tokens) -> Seq:
        return self.encode(self.embed.right(tokens), tokens.joins)

    def match(self, u: Seq, v: Seq) -> Tensor:
        q = (self.pooled(u, v) - self.mean) / (3 * self.spread)
        return self.score(q.clamp(-1, 1) * 0.4 + 0.5)[:, 0]

    def pooled(self, u: Seq, v: Seq) -> Tensor:
        return self.aggregate(self.interact(u, v)).x.flatten(1)


class Nearness(Interaction):
    """s_ij = -|u_i - v_j|"""

    channels = 1

    def forward(self, u: Seq, v: Seq) -> Grid:
        u, v = tile_left(u, v)
        # Not by products: equal vectors must be at distance 0 exactly.
        far = torch.cdist(u.x, v.x, compute_mode="donot_use_mm_for_euclid_dist")
        return masked_grid(u, v, -far[:, None])  # [B, 1, L, R]
