"""Calls a server with the clients of other projects, as their users do; prints one JSON object with all answers.

It runs in an environment that has these clients and not pairlight: `program.py URL CASE...`.
"""

import json
import os
import sys

os.environ.update(COHERE_API_KEY="x", CO_API_KEY="x", HAYSTACK_TELEMETRY_ENABLED="False", ANONYMIZED_TELEMETRY="False")

URL = sys.argv[1]
QUERY = "how do I reset my password"
TEXTS = [
    "returns are free within thirty days",
    "open the sign-in page and reset the password",
    "the tracking page shows where your delivery is",
]


def cohere_v1():
    import cohere

    answer = cohere.Client(api_key="x", base_url=URL).rerank(
        model="m", query=QUERY, documents=TEXTS, top_n=2, return_documents=True
    )
    assert answer.results[0].document.text == TEXTS[answer.results[0].index]
    return [(TEXTS[each.index], each.relevance_score) for each in answer.results]


def cohere_v2():
    import cohere

    client = cohere.ClientV2(api_key="x", base_url=URL)
    answer = client.rerank(model="m", query=QUERY, documents=TEXTS, top_n=2, max_tokens_per_doc=100)
    assert answer.meta.tokens.input_tokens > 0
    return [(TEXTS[each.index], each.relevance_score) for each in answer.results]


def cohere_error():
    import cohere

    try:
        cohere.ClientV2(api_key="x", base_url=URL).rerank(model="m", query=QUERY, documents=[])
    except cohere.core.api_error.ApiError as error:
        return [(error.body["message"], error.status_code)]
    raise AssertionError("an empty list was accepted")


def cohere_spans():
    import cohere

    client = cohere.ClientV2(api_key="x", base_url=URL)
    answer = client.rerank(
        model="m",
        query=QUERY,
        documents=TEXTS,
        request_options={"additional_body_parameters": {"relevant_spans": {"mode": "enabled"}}},
    )
    best = answer.results[0]
    spans = [each if isinstance(each, dict) else each.dict() for each in best.relevant_spans]
    return [(TEXTS[best.index][each["start"] : each["end"]], each["score"]) for each in spans]


def langchain_cohere():
    from langchain_cohere import CohereRerank
    from langchain_core.documents import Document

    ranker = CohereRerank(model="m", cohere_api_key="x", base_url=URL, top_n=2)
    found = ranker.compress_documents([Document(page_content=each) for each in TEXTS], QUERY)
    return [(each.page_content, each.metadata["relevance_score"]) for each in found]


def _nodes():
    from llama_index.core.schema import NodeWithScore, TextNode

    return [NodeWithScore(node=TextNode(text=each), score=0.1) for each in TEXTS]


def llama_index_tei():
    from llama_index.postprocessor.tei_rerank import TextEmbeddingInference

    found = TextEmbeddingInference(base_url=URL, top_n=2).postprocess_nodes(_nodes(), query_str=QUERY)
    return [(each.node.text, each.score) for each in found]


def llama_index_cohere():
    from llama_index.postprocessor.cohere_rerank import CohereRerank

    found = CohereRerank(api_key="x", base_url=URL, top_n=2).postprocess_nodes(_nodes(), query_str=QUERY)
    return [(each.node.text, each.score) for each in found]


def _documents():
    from haystack import Document

    return [Document(content=each) for each in TEXTS]


def haystack_tei():
    from haystack_integrations.components.rankers.huggingface_api import HuggingFaceTEIRanker

    found = HuggingFaceTEIRanker(url=URL, top_k=2).run(query=QUERY, documents=_documents())["documents"]
    return [(each.content, each.score) for each in found]


def haystack_cohere():
    from haystack.utils import Secret
    from haystack_integrations.components.rankers.cohere import CohereRanker

    ranker = CohereRanker(model="m", api_key=Secret.from_token("x"), api_base_url=URL, top_k=2)
    ranker.warm_up()
    return [(each.content, each.score) for each in ranker.run(query=QUERY, documents=_documents())["documents"]]


def rerankers_tei():
    from rerankers import Reranker

    ranker = Reranker("text-embeddings-inference", url=f"{URL}/rerank", api_key="x")
    return [(each.text, each.score) for each in ranker.rank(query=QUERY, docs=TEXTS).results][:2]


def rerankers_cohere():
    from rerankers.models.api_rankers import APIRanker

    ranker = APIRanker("m", "x", "cohere", url=f"{URL}/v1/rerank")
    return [(each.text, each.score) for each in ranker.rank(query=QUERY, docs=TEXTS).results][:2]


def infinity():
    from infinity_client import Client
    from infinity_client.api.default import rerank
    from infinity_client.models import RerankInput

    body = RerankInput(query=QUERY, documents=TEXTS, return_documents=True)
    answer = rerank.sync(client=Client(base_url=URL), body=body)
    return [(TEXTS[each.index], each.relevance_score) for each in answer.results][:2]


def langchain_infinity():
    from infinity_client import Client
    from langchain_community.document_compressors.infinity_rerank import InfinityRerank
    from langchain_core.documents import Document

    ranker = InfinityRerank(client=Client(base_url=URL), model="m", top_n=2)
    found = ranker.compress_documents([Document(page_content=each) for each in TEXTS], QUERY)
    return [(each.page_content, each.metadata["relevance_score"]) for each in found]


def langchain_jina():
    from langchain_community.document_compressors import jina_rerank
    from langchain_core.documents import Document

    jina_rerank.JINA_API_URL = f"{URL}/v1/rerank"  # the client has no setting for it
    ranker = jina_rerank.JinaRerank(jina_api_key="x", model="m", top_n=2)
    found = ranker.compress_documents([Document(page_content=each) for each in TEXTS], QUERY)
    return [(each.page_content, each.metadata["relevance_score"]) for each in found]


def haystack_jina():
    from haystack.utils import Secret
    from haystack_integrations.components.rankers.jina import JinaRanker

    ranker = JinaRanker(api_key=Secret.from_token("x"), base_url=f"{URL}/v1/rerank", top_k=2)
    return [(each.content, each.score) for each in ranker.run(query=QUERY, documents=_documents())["documents"]]


def main() -> None:
    answers = {}
    for name in sys.argv[2:]:
        try:
            answers[name] = globals()[name]()
        except Exception as error:
            answers[name] = f"{type(error).__name__}: {error}"
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
