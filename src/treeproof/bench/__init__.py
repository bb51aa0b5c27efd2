"""``treeproof bench``: the experiments of the paper, run again and set beside other tools.

It uses treeproof's public face only, as any user could. The flow: `recipe` (data, forests, instances) -> `table1` and
`judge` (what is measured, for treeproof and for its peers) and `growth` -> `results` (the file) -> `summary` (figures)
-> `plots` and `report`; `command` is the command line.
"""
