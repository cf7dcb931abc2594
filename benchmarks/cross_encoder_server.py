"""The server that people write around a cross-encoder: FastAPI and the CrossEncoder of sentence-transformers.

Nothing can be downloaded where this runs, so the model has the shape of TinyBERT (two layers, 128 dimensions) and
random weights, and its tokenizer knows the most frequent words of the texts that it is asked about: the scores mean
nothing, the work is the same, and one token per word is in its favor.
"""

import sys
from pathlib import Path

from benchmarks.cross_encoders import cross_encoder

SHAPE = "TinyBERT (L2-H128)"
_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def save_model(folder: Path, words: list[str]) -> None:
    """Write the model and a tokenizer that knows these words, as sentence-transformers reads them."""
    from transformers import BertTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    known = list(dict.fromkeys([*_SPECIAL, *(word.lower() for word in words)]))[:30_000]
    (folder / "vocab.txt").write_text("\n".join(known) + "\n", encoding="utf-8")
    BertTokenizer(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    cross_encoder(SHAPE).save_pretrained(folder)


def main() -> None:
    """Serve the model of a folder on a port, with one thread."""
    import torch
    import uvicorn
    from fastapi import FastAPI
    from pydantic import BaseModel
    from sentence_transformers import CrossEncoder

    folder, port = sys.argv[1:]
    torch.set_num_threads(1)
    model = CrossEncoder(folder, device="cpu", max_length=512)

    class Body(BaseModel):
        query: str
        texts: list[str]

    application = FastAPI()

    @application.post("/rerank")
    def rerank(body: Body) -> list[dict[str, float]]:
        scores = model.predict([(body.query, text) for text in body.texts], show_progress_bar=False)
        found = [{"index": i, "score": float(score)} for i, score in enumerate(scores)]
        return sorted(found, key=lambda each: -each["score"])

    uvicorn.run(application, port=int(port), log_level="warning")


if __name__ == "__main__":
    main()
