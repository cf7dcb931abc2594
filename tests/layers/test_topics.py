"""DeepMatch's layers equal plain loops over patches and links."""

import pytest
import torch

from pairlight.layers.topics import LinkedTopics, TopicPatches
from pairlight.layers.types import Tokens


def tokens(texts: list[list[int]], extra: int = 0, junk: int = 0) -> Tokens:
    width = max(map(len, texts)) + extra
    ids = torch.tensor([[*text, *[junk] * (width - len(text))] for text in texts])
    return Tokens(ids, torch.arange(width) < torch.tensor([len(text) for text in texts])[:, None])


@pytest.fixture
def patches() -> TopicPatches:
    """Two topics: left words 2, 3 and 3, 4; right words 5 and 2, 6. Patches have up to two words."""
    torch.manual_seed(0)
    layer = TopicPatches(8, topics=2, patch=2, units=3).double()
    layer.left_index[2:5] = torch.tensor([1, 2, 3])
    layer.right_index[torch.tensor([2, 5, 6])] = torch.tensor([1, 2, 3])
    layer.left_patches.copy_(torch.tensor([[1, 2], [2, 3]]))
    layer.right_patches.copy_(torch.tensor([[2, 0], [1, 3]]))
    torch.nn.init.normal_(layer.bias)
    return layer


LEFT_WORDS, RIGHT_WORDS = [[2, 3], [3, 4]], [[5, None], [2, 6]]
LEFT, RIGHT = [[2, 7], [3, 3, 4], [99]], [[5, 2], [6, 2, 5], [2]]


def test_a_decision_is_the_sum_of_the_weights_of_the_pairs_of_words_that_occur(patches):
    h = patches(tokens(LEFT), tokens(RIGHT)).view(3, 2, 3)
    for pair, (left, right) in enumerate(zip(LEFT, RIGHT, strict=True)):
        for topic in range(2):
            for k in range(3):
                total = patches.bias[topic * 3 + k]
                for i, a in enumerate(LEFT_WORDS[topic]):
                    for j, b in enumerate(RIGHT_WORDS[topic]):
                        if a in left and b in right:
                            total = total + patches.weight[topic, i, k * 2 + j]
                torch.testing.assert_close(h[pair, topic, k], torch.sigmoid(total))


@pytest.mark.parametrize("junk", [2, 5, 99])
def test_ids_under_padding_are_ignored(patches, junk):
    padded = patches(tokens(LEFT, extra=2, junk=junk), tokens(RIGHT, extra=1, junk=junk))
    torch.testing.assert_close(padded, patches(tokens(LEFT), tokens(RIGHT)))


def test_one_left_text_may_be_paired_with_several_right_texts(patches):
    right = tokens([*RIGHT, *RIGHT[::-1]])
    torch.testing.assert_close(patches(tokens(LEFT), right), patches(tokens([*LEFT, *LEFT]), right))


def test_topics_without_a_link_have_no_influence():
    torch.manual_seed(0)
    layer = LinkedTopics(fine=3, coarse=2, units=2).double()
    layer.links.copy_(torch.tensor([[True, False, True], [False, True, False]]))
    h = torch.rand(4, 6, dtype=torch.float64, requires_grad=True)
    out = layer(h)
    W = layer.weight
    expected = torch.sigmoid(W[0, 0] * h[:, 0] + W[0, 1] * h[:, 1] + W[0, 4] * h[:, 4] + W[0, 5] * h[:, 5])
    torch.testing.assert_close(out[:, 0], expected)
    out[:, 2:].sum().backward()
    assert (h.grad[:, [0, 1, 4, 5]] == 0).all()
    assert (h.grad[:, 2:4] != 0).all()
