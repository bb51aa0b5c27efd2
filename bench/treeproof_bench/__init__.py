"""The experiments of the paper, run again and set beside other tools: ``treeproof bench``, or ``treeproof-bench``.

It uses treeproof's public face only, as any user could. The flow: `recipe` (data, forests, instances) -> `table1` and
`judge` (what is measured, for treeproof and for its peers) and `growth` -> `results` (the file) -> `summary` (figures)
-> `plots` and `report`; `command` is the command line. Beside it stand scripts that measure what the paper does not,
each run by ``python -m``: `native`, `sat_presets`, `questions`, `boosted`, `production`, `certificates`; they share
`harness`. `ablation` compiles the core without one technique at a time. `quote` writes figures of stored results into
the two READMEs.
"""
