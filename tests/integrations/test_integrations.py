"""Each integration works in a pipeline of its framework; `make test-clients` makes the environment."""

import pytest

from pairlight import Matcher
from toy_pairs import overlap

pytestmark = pytest.mark.integrations
QUERY = "how do I reset my password"
TEXTS = ["returns are free within thirty days", "open the page and reset the password", "the page shows your delivery"]
BEST = TEXTS[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pairs, made = overlap(30, seed=0), tmp_path_factory.mktemp("integrations") / "model"
    matcher = Matcher("late-interaction").fit(pairs, dev=pairs, init=None, baseline=False, progress=False, epochs=1)
    matcher.save(made)
    return made


@pytest.fixture(scope="module")
def matcher(folder):
    return Matcher.load(folder)


def test_a_retriever_of_langchain_returns_reranked_documents(matcher):
    from langchain_classic.retrievers import ContextualCompressionRetriever
    from langchain_classic.retrievers.document_compressors import CrossEncoderReranker
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    from pairlight.integrations.langchain import PairlightCrossEncoder, PairlightReranker

    class FixedRetriever(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return [Document(page_content=each, metadata={"number": n}) for n, each in enumerate(TEXTS)]

    for compressor in (
        PairlightReranker(matcher=matcher, top_n=2),
        CrossEncoderReranker(model=PairlightCrossEncoder(matcher), top_n=2),
    ):
        retriever = ContextualCompressionRetriever(base_compressor=compressor, base_retriever=FixedRetriever())
        found = retriever.invoke(QUERY)
        assert found[0].page_content == BEST
        assert len(found) == 2
        assert found[0].metadata["number"] == 1


def test_the_cross_encoder_of_langchain_scores_pairs_in_their_order_and_long_documents_by_their_best_passage(matcher):
    from pairlight.integrations.langchain import PairlightCrossEncoder

    long = f"{'nothing of note happened ' * 60}{BEST}"
    pairs = [(QUERY, TEXTS[0]), ("my delivery", TEXTS[2]), (QUERY, BEST), (QUERY, long)]
    found = PairlightCrossEncoder(matcher).score(pairs)
    assert found == pytest.approx([matcher.rank(left, [right])[0]["score"] for left, right in pairs], abs=1e-5)
    with pytest.warns(UserWarning, match="truncated"):
        assert found[3] > matcher.predict(pairs)[3]


def test_the_query_engine_of_llama_index_reads_reranked_nodes(matcher, monkeypatch):
    from llama_index.core import Settings
    from llama_index.core.llms import MockLLM
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.response_synthesizers import ResponseMode, get_response_synthesizer
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, TextNode

    from pairlight.integrations.llama_index import PairlightRerank

    class FixedRetriever(BaseRetriever):
        def _retrieve(self, query_bundle):
            return [NodeWithScore(node=TextNode(text=each), score=0.1) for each in TEXTS]

    monkeypatch.setattr(Settings, "_llm", MockLLM())  # the default is a service
    engine = RetrieverQueryEngine(
        FixedRetriever(),
        get_response_synthesizer(response_mode=ResponseMode.NO_TEXT),
        [PairlightRerank(matcher, top_n=2)],
    )
    found = engine.query(QUERY).source_nodes
    assert found[0].node.get_content() == BEST
    assert len(found) == 2


def test_a_pipeline_of_haystack_ranks_and_can_be_saved(folder):
    from haystack import Document, Pipeline

    from pairlight.integrations.haystack import PairlightRanker

    pipeline = Pipeline()
    pipeline.add_component("ranker", PairlightRanker(str(folder), top_k=2))
    loaded = Pipeline.loads(pipeline.dumps(), allowed_modules=["pairlight.integrations.haystack"])
    for each in (pipeline, loaded):
        data = {"query": QUERY, "documents": [Document(content=text) for text in TEXTS]}
        found = each.run({"ranker": data})["ranker"]["documents"]
        assert found[0].content == BEST
        assert len(found) == 2
        assert found[0].score > found[1].score


def test_rerankers_returns_its_own_results(folder):
    from pairlight.integrations.rerankers import MatcherRanker

    ranker = MatcherRanker(str(folder))
    found = ranker.rank(QUERY, TEXTS, doc_ids=["a", "b", "c"])
    assert found.top_k(1)[0].text == BEST
    assert found.top_k(1)[0].doc_id == "b"
    assert ranker.score(QUERY, BEST) == pytest.approx(found.top_k(1)[0].score, abs=1e-5)
