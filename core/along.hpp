// The leaves of a tree that a point reaches as one feature moves along its cells, and all others stay where they are.
#pragma once

#include <cstdint>
#include <vector>

#include "forest.hpp"

namespace treeproof {

struct Stretch {  // of cells that lead through a node
  std::int32_t node;
  Cell low, high;
};

// Call visit(leaf, low, high) for each leaf that the cells from `low` to `high` of an ordered feature reach, or the
// numbers of a gapped one; `low` is at most `high`. `open` is a buffer: trees may be too deep for a call each.
template <typename Visit>
void visit_along(const Forest& forest, std::int32_t root, const std::vector<Cell>& point, int f, Cell low, Cell high,
                 std::vector<Stretch>& open, const Visit& visit) {
  const Node* const nodes = forest.nodes.data();
  const std::uint8_t* const ordered = forest.ordered.data();
  const Cell* const cells = point.data();
  const bool in_order = ordered[f];
  open.assign(1, {root, low, high});
  while (!open.empty()) {
    Stretch here = open.back();
    open.pop_back();
    for (;;) {
      const Node& node = nodes[here.node];
      if (node.feature < 0) break;
      if (node.feature != f) {
        const Cell cell = cells[node.feature];
        const bool left = ordered[node.feature] ? cell <= node.cut : forest.goes_left(here.node, cell);
        here.node = left ? node.left : node.right;
        continue;
      }
      const Cell cut = in_order ? node.cut : Forest::numbers_left(node.cut) - 1;  // the last cell to the left
      if (here.low <= cut && cut < here.high) {
        open.push_back({node.right, cut + 1, here.high});
        here.high = cut;
      }
      here.node = here.high <= cut ? node.left : node.right;
    }
    visit(here.node, here.low, here.high);
  }
}

}  // namespace treeproof
