"""K-NRM: count likenesses of words in bins with soft edges, and learn word vectors for which the counts tell."""

from typing import Unpack

from torch import Tensor, nn

from pairlight.models.base import PairModel
from pairlight.parts import Tokens
from pairlight.parts.embed import Words, WordSettings
from pairlight.parts.shares import weighed
from pairlight.parts.soft_bins import SoftBins
from pairlight.parts.word_cosine import WordCosine


class KNRM(PairModel):
    """Count how alike the words of two texts are by kernels, and let the kernels teach the word vectors.

    s_ij = cosine of x_i and y_j; 1 for the same word, 0 where one is unknown
    φ_k  = sum_i log sum_j exp(-(s_ij - μ_k)² / 2σ_k²)
    s    = tanh(w · φ + c)

    μ = 1, σ = 0.001 for the same word; μ = 0.9, 0.7, ... -0.9, σ = 0.1 for the rest. As in the authors' code the
    logarithm is taken times 0.01 and a kernel's sum counts as 10⁻¹⁰ at least.

    Unlike the paper: a gate, where asked for, weighs the left words' logarithms and the right words' kernels; the
    authors' code leaves unknown words out, here they meet their like as all words do.

    Settings:
      kernels  how many kernels there are, that of the same word among them
    """

    paper = "Xiong et al., SIGIR 2017"
    family = "interaction"
    recipe = {"optimizer": "adam", "lr": 0.001}

    def __init__(self, vocab: int, *, kernels: int = 11, **words: Unpack[WordSettings]) -> None:
        super().__init__()
        self.words = Words(vocab, **words)
        self.interact = WordCosine(vocab)
        self.aggregate = SoftBins(kernels)
        self.score = nn.Sequential(nn.Linear(kernels, 1), nn.Tanh())

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        u, v, a, b = weighed(self.words, left, right)
        return self.score(self.aggregate(self.interact(u, v), a, b))[:, 0]
