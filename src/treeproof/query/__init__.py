"""The one question, over cells: the forest that oracles see, what they are asked, and what they answered."""
