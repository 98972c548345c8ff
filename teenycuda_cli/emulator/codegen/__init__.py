"""From a program to Python: source for what runs often, steps for what does not, loops of few lanes."""
