"""What a kernel should have computed: expressions, expectations, tolerances, the comparison."""
