"""The space of inputs as people see it: features, conditions on them, constraints between them."""
