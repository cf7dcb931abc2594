"""ARC-I: convolution and pooling make a vector of each text by itself, a small network compares the two."""

from typing import Unpack

import torch
from torch import Tensor, nn

from pairlight.errors import InputError
from pairlight.models.base import Apart
from pairlight.parts import Tokens, facing_vectors
from pairlight.parts.dynamic_cnn import DynamicCNN
from pairlight.parts.embed import Words, WordSettings
from pairlight.parts.halving import HalvingCNN
from pairlight.parts.score import MLP

PRESETS = ("paper", "mv-lstm")


class ARCI(Apart[Tensor]):
    """Shrink each text by itself, layer by layer, then compare what is left.

    y_t = relu(W [z_t ; .. ; z_t+m-1] + b), silent where the window begins behind the text;  z = x in the first layer
    z_t = max(y_2t-1, y_2t), for the next layer
    c   = all z_t of the last layer, one after another, for a text of fixed length
    s   = w · relu(U [c of the left text ; c of the right text] + d) + e

    Both texts share the layers. preset=mv-lstm is what the MV-LSTM authors' script runs under this name: each side has
    layers of its own, wide convolutions without bias, tanh, dynamic k-max (at least 4 places, 1 behind the last layer).

    The paper's sizes come from memory of it: windows of 3 words, two layers, 200 to 500 maps; the width of the MLP and
    the fixed length are ours.

    Unlike the paper: fewer maps, for ordinary processors; the gate is a mask, which differs from asking whether all
    numbers of a window are zero only where a real window is zero throughout; a last odd place is kept, not dropped.

    Settings:
      preset  paper, or mv-lstm for the form of the MV-LSTM authors' script
      maps    features of each convolution
      width   words or places in a window
      layers  convolutions, each with its pooling
      length  words of a text that are read, at most (preset=paper)
      mlp     size of the hidden layer before the score
    """

    paper = "Hu et al., NIPS 2014"
    family = "composition"
    recipe = {"lr": 0.01, "epsilon": 1e-10}

    def __init__(
        self,
        vocab: int,
        *,
        preset: str = "paper",
        maps: int = 50,
        width: int = 3,
        layers: int = 2,
        length: int = 50,
        mlp: int = 200,
        **words: Unpack[WordSettings],
    ) -> None:
        super().__init__()
        if preset not in PRESETS:
            raise InputError(f"preset={preset!r} is none of {', '.join(PRESETS)}.")
        self.words = Words(vocab, **words)
        dim = self.words.dim
        sides: list[HalvingCNN] | list[DynamicCNN]
        if preset == "paper":
            sides = [HalvingCNN(dim, maps, width, layers, length)]  # one for both
        else:
            sides = [DynamicCNN(dim, maps, width, layers, least=4, top=1, bias=False) for _ in range(2)]
        self.encode = nn.ModuleList(sides)
        self.score = MLP(2 * sides[0].features, mlp)

    @property
    def reads(self) -> tuple[str, str] | None:
        return ("length", "length") if self.settings["preset"] == "paper" else None

    def left(self, tokens: Tokens) -> Tensor:
        return self.encode[0](self.words.of_left(tokens))

    def right(self, tokens: Tokens) -> Tensor:
        return self.encode[-1](self.words.of_right(tokens))

    def match(self, u: Tensor, v: Tensor) -> Tensor:
        return self.score(torch.cat(facing_vectors(u, v), 1))
