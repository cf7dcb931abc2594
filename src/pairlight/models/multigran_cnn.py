"""MultiGranCNN: words, short phrases, long phrases and the whole of one text meet all those of the other."""

from typing import Unpack

import torch
from torch import Tensor, nn

from pairlight.errors import InputError
from pairlight.models.base import Apart
from pairlight.parts import Seq, Tokens
from pairlight.parts.embed import Words, WordSettings
from pairlight.parts.grid_cnn import GridCNN
from pairlight.parts.interact import Bilinear
from pairlight.parts.likeness import Through, likeness_named
from pairlight.parts.phrases import Phrases
from pairlight.parts.score import MLP

PRESETS = ("paper", "mv-lstm")


class MultiGranCNN(Apart[Seq]):
    """Compare whatever one text is made of, from word to whole, with whatever the other is made of.

    y^l  = tanh(W [z^l-1_t-m+1 ; .. ; z^l-1_t] + b), the phrases of level l;  z^0 = x, the words
    z^l  = the k largest y^l of every feature, in their order: k = max(least, ⌈(layers - l) n / layers⌉), at last 1
    u    = [x ; y^1 ; .. ; y^layers ; z^layers], and v of the right text, by the same weights
    s_ij = sigmoid(u_i·M v_j + b) (indirect), exp(-|u_i - v_j|² / 4) (direct) or sigmoid(w·[u_i ; v_j] + b) (concat)
    g    = s pooled to grid x grid, the largest of each piece, cut by the pair's own lengths
    g    = tanh(W * g + b) pooled to middle x middle, then tanh(W * g + b) pooled to last x last
    s    = w · relu(U g + d) + e

    preset=mv-lstm is what the MV-LSTM authors' script runs under this name: each side has convolutions of its own
    without bias, relu in place of tanh, s_ij = relu(u_i·M v_j + b) (b is ours), and no second network behind the grid.

    Levels, likenesses and the two networks are the paper's; the formulas come from memory of it; width, layers and
    least from code that cites it; the sizes of the second network are ours.

    Unlike the paper: the hidden layer is relu; the phrases' network is not trained on unlabelled text first.

    Settings:
      preset       paper, or mv-lstm for the form of the MV-LSTM authors' script
      interaction  how two units are compared: indirect, direct or concat (preset=paper)
      width        words or places in a window
      layers       convolutions over a text, each with its pooling
      least        places kept at least behind each but the last
      grid         rows and columns all likenesses are pooled to
      maps         maps of the first convolution over the grid (preset=paper)
      middle       rows and columns behind it
      deep         maps of the second (preset=paper)
      last         rows and columns behind that
      window       rows and columns their windows span
      mlp          size of the hidden layer before the score
    """

    paper = "Yin and Schütze, ACL 2015"
    family = "composition"

    def __init__(
        self,
        vocab: int,
        *,
        preset: str = "paper",
        interaction: str = "indirect",
        width: int = 3,
        layers: int = 3,
        least: int = 4,
        grid: int = 15,
        maps: int = 8,
        middle: int = 10,
        deep: int = 16,
        last: int = 5,
        window: int = 3,
        mlp: int = 200,
        **words: Unpack[WordSettings],
    ) -> None:
        super().__init__()
        if preset not in PRESETS:
            raise InputError(f"preset={preset!r} is none of {', '.join(PRESETS)}.")
        self.words = Words(vocab, **words)
        dim = self.words.dim
        if preset == "paper":
            sides = [Phrases(dim, width, layers, least, torch.tanh)]  # one for both
            self.interact = likeness_named(interaction, dim)
            self.aggregate = GridCNN(grid, [(maps, middle), (deep, last)], window)
        else:
            sides = [Phrases(dim, width, layers, least, torch.relu, bias=False) for _ in range(2)]
            self.interact = Through(Bilinear(dim), torch.relu)
            self.aggregate = GridCNN(grid, [], window)
        self.encode = nn.ModuleList(sides)
        self.score = MLP(self.aggregate.features, mlp)

    def left(self, tokens: Tokens) -> Seq:
        return self.encode[0](self.words.of_left(tokens))

    def right(self, tokens: Tokens) -> Seq:
        return self.encode[-1](self.words.of_right(tokens))

    def match(self, u: Seq, v: Seq) -> Tensor:
        return self.score(self.aggregate(self.interact(u, v)))
