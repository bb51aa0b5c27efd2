"""The space of inputs as users see it: features, conditions on them, constraints between them."""
