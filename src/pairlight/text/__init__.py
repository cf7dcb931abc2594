"""From text to ids: word splitting, character n-grams, vocabularies, and pretrained word vectors."""
