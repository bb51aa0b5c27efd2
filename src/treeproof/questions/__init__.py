"""The questions people ask about a prediction. One file each: how it is answered, from arguments to result."""
