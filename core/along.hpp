// The leaves of trees that a point reaches as one feature moves along its cells, and all others stay where they are.
#pragma once

#include <cstdint>
#include <vector>

#include "forest.hpp"

namespace treeproof {

struct Stretch {  // of cells that lead through a node of a tree
  std::int32_t node;
  Cell low, high;
  std::int32_t tree;
};

// For each of the trees that `open` lists, with their roots and the cells to look at, visit the leaves that these cells
// of an ordered feature reach, or these numbers of a gapped one, each with its stretch; `low` is at most `high`. All
// trees go down side by side, a node each in turn: nodes lie far apart in memory, and while one is fetched the others
// go on.
template <typename Visit>
void visit_along(const Forest& forest, const std::vector<Cell>& point, int f, std::vector<Stretch>& open,
                 const Visit& visit) {
  const Node* const nodes = forest.nodes.data();
  const std::uint8_t* const ordered = forest.ordered.data();
  const Cell* const cells = point.data();
  const bool in_order = ordered[f];
  while (!open.empty()) {
    const std::size_t n = open.size();
    std::size_t left = 0;  // of them, so far
    for (std::size_t i = 0; i < n; ++i) {
      Stretch here = open[i];
      const Node& node = nodes[here.node];
      if (node.feature < 0) {
        visit(here);
        continue;
      }
      if (node.feature != f) {
        const Cell cell = cells[node.feature];
        const bool goes = ordered[node.feature] ? cell <= node.cut : forest.goes_left(here.node, cell);
        here.node = goes ? node.left : node.right;
      } else {
        const Cell cut = in_order ? node.cut : Forest::numbers_left(node.cut) - 1;  // the last cell to the left
        if (here.low <= cut && cut < here.high) {
          __builtin_prefetch(&nodes[node.right]);
          open.push_back({node.right, cut + 1, here.high, here.tree});
          here.high = cut;
        }
        here.node = here.high <= cut ? node.left : node.right;
      }
      __builtin_prefetch(&nodes[here.node]);
      open[left++] = here;
    }
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(left), open.begin() + static_cast<std::ptrdiff_t>(n));
  }
}

}  // namespace treeproof
