// A box: for each feature the cells it may still take, an interval if the feature is ordered, else a set of values.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "forest.hpp"

namespace treeproof {

enum class Side : std::uint8_t { left = 1, right = 2, both = 3 };

struct Box {
  std::vector<Cell> low, high;  // of ordered features, inclusive
  std::vector<Word> sets;       // of the others; Forest::words_begin tells where each starts

  static Box full(const Forest& forest) {
    Box box{std::vector<Cell>(forest.n_features, 0), std::vector<Cell>(forest.n_features, 0),
            std::vector<Word>(forest.words_begin.back(), 0)};
    for (int f = 0; f < forest.n_features; ++f) box.free(forest, f);
    return box;
  }

  void free(const Forest& forest, int f) {
    high[f] = forest.ordered[f] ? forest.n_cells[f] - 1 : 0;
    low[f] = 0;
    if (forest.ordered[f]) return;
    for (Cell cell = 0; cell < forest.n_cells[f]; ++cell)
      sets[forest.words_begin[f] + cell / 64] |= Word{1} << (cell % 64);
  }

  void fix(const Forest& forest, int f, Cell cell) {
    if (forest.ordered[f]) {
      low[f] = high[f] = cell;
      return;
    }
    for (std::size_t w = forest.words_begin[f]; w < forest.words_begin[f + 1]; ++w) sets[w] = 0;
    sets[forest.words_begin[f] + cell / 64] = Word{1} << (cell % 64);
  }

  // The children of `node` that some point of the box reaches (given that some point reaches the node).
  Side side(const Forest& forest, std::int32_t node) const {
    const std::int32_t f = forest.nodes[node].feature;
    const std::int32_t cut = forest.nodes[node].cut;
    if (forest.ordered[f]) return high[f] <= cut ? Side::left : low[f] > cut ? Side::right : Side::both;
    const Word* left = &forest.left_sets[forest.set_begin[cut]];
    bool some_left = false, some_right = false;
    for (std::size_t w = forest.words_begin[f]; w < forest.words_begin[f + 1]; ++w, ++left) {
      some_left |= (sets[w] & *left) != 0;
      some_right |= (sets[w] & ~*left) != 0;
    }
    return some_left && some_right ? Side::both : some_left ? Side::left : Side::right;
  }

  // Keep only the cells that take this side of `node`; the side must be open.
  void restrict(const Forest& forest, std::int32_t node, Side side) {
    const std::int32_t f = forest.feature[node];
    const std::int32_t cut = forest.cut[node];
    if (forest.ordered[f]) {
      if (side == Side::left) {
        high[f] = std::min(high[f], cut);
      } else {
        low[f] = std::max(low[f], cut + 1);
      }
      return;
    }
    const Word* left = &forest.left_sets[forest.set_begin[cut]];
    for (std::size_t w = forest.words_begin[f]; w < forest.words_begin[f + 1]; ++w, ++left)
      sets[w] &= side == Side::left ? *left : ~*left;
  }

  bool is_full(const Forest& forest, int f) const {
    if (forest.ordered[f]) return low[f] == 0 && high[f] == forest.n_cells[f] - 1;
    int n = 0;
    for (std::size_t w = forest.words_begin[f]; w < forest.words_begin[f + 1]; ++w) n += std::popcount(sets[w]);
    return n == forest.n_cells[f];
  }

  // The next larger cell of a feature in the box, or -1.
  Cell next_cell(const Forest& forest, int f, Cell cell) const {
    if (forest.ordered[f]) return cell < high[f] ? cell + 1 : -1;
    for (Cell next = cell + 1; next < forest.n_cells[f]; ++next)
      if ((sets[forest.words_begin[f] + next / 64] >> (next % 64)) & 1U) return next;
    return -1;
  }

  // The point of the box with the least cell of each feature.
  std::vector<Cell> first_point(const Forest& forest) const {
    std::vector<Cell> point(low);
    for (int f = 0; f < forest.n_features; ++f) {
      if (forest.ordered[f]) continue;
      std::size_t w = forest.words_begin[f];
      while (sets[w] == 0) ++w;
      point[f] = static_cast<Cell>((w - forest.words_begin[f]) * 64 + std::countr_zero(sets[w]));
    }
    return point;
  }
};

// The first node from `node` downwards where the box goes both ways, or the leaf that it reaches. Marks in `used` the
// features of `restricted` that decided on the way.
inline std::int32_t descend(const Forest& forest, const Box& box, std::int32_t node,
                            const std::vector<std::uint8_t>& restricted, std::vector<std::uint8_t>& used) {
  const Node* const nodes = forest.nodes.data();
  const std::uint8_t* const ordered = forest.ordered.data();
  const Cell* const low = box.low.data();
  const Cell* const high = box.high.data();
  for (;;) {
    const Node& here = nodes[node];
    const std::int32_t f = here.feature;
    if (f < 0) return node;
    Side side;
    if (ordered[f]) {
      if (low[f] <= here.cut && high[f] > here.cut) return node;
      side = high[f] <= here.cut ? Side::left : Side::right;
    } else {
      side = box.side(forest, node);
      if (side == Side::both) return node;
    }
    used[f] |= restricted[f];
    node = side == Side::left ? here.left : here.right;
  }
}

}  // namespace treeproof
