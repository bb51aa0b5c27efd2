"""The workbench: one page on which people ask an explainer, in a browser or in a notebook."""
