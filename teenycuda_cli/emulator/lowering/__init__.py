"""From a parsed module to a program: names resolved, operands typed, instructions decoded."""
