"""PTX text: source, tokens, syntax tree, metadata, strip. Neither numpy nor CUDA is imported below here."""
