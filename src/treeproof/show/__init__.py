"""How results look: text, cards, plots, reports. Nothing here decides anything."""
