"""uRAE: an unfolding recursive autoencoder encodes all phrases of each text; their distances are the match."""

from typing import Unpack

from pairlight.data.pairs import Pairs
from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Linear
from pairlight.layers.collate import collate
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.grid_pool import GridPool
from pairlight.layers.interactions import NegativeDistance
from pairlight.layers.layer import buffer
from pairlight.layers.settings import Size
from pairlight.layers.tree_autoencoder import TreeAutoencoder
from pairlight.layers.types import Array, Seq, Tokens
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import InputSpec
from pairlight.text.tokenizer import TokenizedTexts

BATCH_SIZE = 64  # texts in a training step of the autoencoder
SAMPLE_SIZE = 2048  # pairs from which the mean and standard deviation of the grid are computed


class URAE(DualEncoder[Seq]):
    """Encode every node of a text's tree with an autoencoder and compare the distances of all nodes.

    p    = tanh(W [a ; b] + c) for the children a, b of a node; the vector of a leaf is that of its word
    s_ij = -|p_i - p_j| for all nodes of the two trees: words, inner nodes with second children first, the root last
    g    = s max-pooled to grid x grid, in segments of the pair's own numbers of nodes
    q    = (g - mean) / (3 std), clipped to ±1, mapped to 0.1 .. 0.9; mean and std are those of the training pairs
    s    = w · q + a

    Before the model is trained, W is trained without labels on the training texts: all words below an inner node are
    decoded from its vector by repeating [a' ; b'] = tanh(V p + d), and |x - x'|² is minimized. W then stays fixed. If a
    text is given with brackets, as in ((the cat) (sat down)), they define its tree. Otherwise the tree is greedy: the
    two neighbors with the smallest reconstruction error are joined next.

    The largest -|.| is the paper's smallest distance. As in the authors' code, the rows of texts smaller than the
    grid are doubled.

    Unlike the paper: no parser is run. The autoencoder is trained by Adam on the training texts, not by L-BFGS on news
    text, and without a penalty on its weights. Its texts are drawn with replacement, 19,200 at the default number of
    steps, so it does not see all of a larger dataset. The eight additional features (numbers, lengths, shared words)
    are left out, and pairs are not shown a second time with the two texts swapped.

    Settings:
      grid   rows and columns of the pooled grid
      steps  training steps of the autoencoder, with 64 texts each
    """

    paper = "Socher et al., NIPS 2011"
    family = "composition"
    inputs = InputSpec(pretrained_vectors=True, parse_brackets=True)
    statistics_are_weights = True
    paper_training = {"freeze": True, "lr": 0.1, "epsilon": 1e-10}

    mean: Array
    std: Array

    def __init__(
        self, vocab: int, *, grid: Size = 15, steps: Size = 300, **embedding: Unpack[EmbeddingSettings]
    ) -> None:
        self.steps = steps
        self.embed = WordEmbedding(vocab, **embedding)
        self.encode = TreeAutoencoder(self.embed.dim)
        self.interact = NegativeDistance()
        self.aggregate = GridPool(grid, grid, doubling=True)
        self.score = Linear(grid * grid, 1)
        self.mean = buffer()
        self.std = buffer(fill=1.0)

    def fit_statistics(self, texts: TokenizedTexts, pairs: Pairs) -> None:
        import torch

        self.eval()
        device = self.mean.device
        weights = [weight.requires_grad_() for weight in self.encode.buffers()]
        optimizer = torch.optim.Adam(weights, lr=0.003)
        for _ in range(self.steps):
            tokens = collate(texts, torch.randint(len(texts), (BATCH_SIZE,)).numpy(), device)
            if tokens.ids.shape[1] == 1:  # one-word texts have no inner nodes
                continue
            with torch.no_grad():
                u = self.embed.embedding(tokens)
            optimizer.zero_grad()
            (self.encode.reconstruction_error(u, tokens.joins) / BATCH_SIZE).backward()
            optimizer.step()
        for weight in weights:
            weight.requires_grad_(False)
        with torch.no_grad():
            grids = []
            for rows in torch.randperm(len(pairs))[:SAMPLE_SIZE].split(128):
                left, right = (collate(texts, side[rows.numpy()], device) for side in (pairs.left, pairs.right))
                grids.append(self.pooled(self.encode_left(left), self.encode_right(right)))
            self.std, self.mean = torch.std_mean(torch.cat(grids))

    def encode_left(self, tokens: Tokens) -> Seq:
        return self.encode(self.embed.left(tokens), tokens.joins)

    def encode_right(self, tokens: Tokens) -> Seq:
        return self.encode(self.embed.right(tokens), tokens.joins)

    def match(self, u: Seq, v: Seq) -> Array:
        q = (self.pooled(u, v) - self.mean) / (3 * self.std)
        return self.score(array_namespace(q).clip(q, -1, 1) * 0.4 + 0.5)[:, 0]

    def pooled(self, u: Seq, v: Seq) -> Array:
        return self.aggregate(self.interact(u, v)).x.reshape(len(v.x), -1)  # [B, grid·grid]
