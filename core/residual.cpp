#include "residual.hpp"

#include <algorithm>
#include <bit>

namespace treeproof {

ResidualBuilder::ResidualBuilder(const Forest& forest) : forest_(forest) {
  // An ordered feature splits after one of its cells, a gapped one so in two ways, any other by one of the left sets.
  split_begin_.assign(1, 0);
  for (int f = 0; f < forest.n_features; ++f) {
    const auto cells = static_cast<std::size_t>(forest.n_cells[f]);
    const std::size_t n = forest.ordered[f] ? cells : forest.gapped[f] ? 2 * cells : forest.set_begin.size();
    split_begin_.push_back(split_begin_.back() + n);
  }
  marked_.assign(split_begin_.back() / 64 + 1, 0);
  slot_of_.resize(split_begin_.back());
  node_of_.resize(split_begin_.back());
}

void ResidualBuilder::build(Residual& out, const Box& box, Pair pair, const Scale& scale,
                            const std::vector<std::uint8_t>& restricted, std::vector<std::uint8_t>& used) {
  out_ = &out;
  box_ = box;
  pair_ = pair;
  scale_ = &scale;
  restricted_ = &restricted;
  used_ = &used;
  out.offset = 0;
  out.offset_inexact = false;
  out.inexact.clear();
  for (auto* part : {&out.constants, &out.left, &out.right, &out.slot, &out.origin, &out.roots}) part->clear();
  if (forest_.vote == Vote::majority) {
    out.constants = {scale.value(-1), 0, scale.value(1)};
    out.inexact = {0, 0, 0};
  }
  for (const std::int32_t root : forest_.roots) {
    const std::int32_t grown = grow(root);
    if (grown < 0) {
      out.offset += out.constants[~grown];
      out.offset_inexact = out.offset_inexact || out.inexact[~grown];
    } else {
      out.roots.push_back(grown);
    }
  }
  // Children refer to constants by their complement until the number of constants is known.
  const std::int32_t n = out.n_constants();
  const auto index = [n](std::int32_t child) { return child < 0 ? ~child : child + n; };
  for (std::int32_t& child : out.left) child = index(child);
  for (std::int32_t& child : out.right) child = index(child);
  for (std::int32_t& root : out.roots) root += n;
  number_slots();
  // A bound takes the best of the values that the box allows, and so relies on the others being excluded.
  for (const std::int32_t f : out.features)
    if (!forest_.ordered[f] && restricted[f]) used[f] = 1;
}

std::int32_t ResidualBuilder::constant(std::int32_t leaf) {
  if (!forest_.leaf_class.empty()) {
    const int voted = forest_.leaf_class[leaf];
    return ~((voted == pair_.winner) - (voted == pair_.loser) + 1);
  }
  const std::int64_t* score = forest_.scores_of(leaf);
  const std::int64_t difference = score[pair_.winner] - score[pair_.loser];
  if (forest_.vote == Vote::majority) return ~static_cast<std::int32_t>(difference + 1);
  out_->constants.push_back(scale_->value(difference));
  out_->inexact.push_back(!forest_.is_exact(leaf));
  return ~(out_->n_constants() - 1);
}

// Walked with a stack of its own: trees may be deeper than a thread's stack allows.
std::int32_t ResidualBuilder::grow(std::int32_t node) {
  path_.clear();
  for (;;) {
    node = descend(forest_, box_, node, *restricted_, *used_);
    if (forest_.nodes[node].feature >= 0) {
      enter(node);
      node = forest_.nodes[node].left;
      continue;
    }
    std::int32_t grown = constant(node);
    while (!path_.empty() && path_.back().has_left) {
      restore(path_.back());
      grown = join(path_.back(), grown);
      saved_.resize(path_.back().saved);
      path_.pop_back();
    }
    if (path_.empty()) return grown;
    Open& parent = path_.back();
    parent.left = grown;
    parent.has_left = true;
    restore(parent);
    box_.restrict(forest_, parent.node, Side::right);
    node = forest_.nodes[parent.node].right;
  }
}

// Take a node into the residual forest, and restrict the box to its left side.
void ResidualBuilder::enter(std::int32_t node) {
  const Node& split = forest_.nodes[node];
  const std::int32_t f = split.feature;
  Residual& out = *out_;
  path_.push_back({node, out.n_nodes(), 0, box_.low[f], box_.high[f], 0, false, saved_.size()});
  out.left.push_back(0);
  out.right.push_back(0);
  out.slot.push_back(static_cast<std::int32_t>(split_begin_[f]) + split.cut);
  out.origin.push_back(node);
  if (!forest_.ordered[f]) {
    if (forest_.gapped[f]) path_.back().missing = box_.missing[f];
    saved_.insert(saved_.end(), box_.sets.begin() + static_cast<std::ptrdiff_t>(forest_.words_begin[f]),
                  box_.sets.begin() + static_cast<std::ptrdiff_t>(forest_.words_begin[f + 1]));
  }
  box_.restrict(forest_, node, Side::left);
}

// Give the box the cells that it had at a node.
void ResidualBuilder::restore(const Open& open) {
  const std::int32_t f = forest_.nodes[open.node].feature;
  box_.low[f] = open.low;
  box_.high[f] = open.high;
  if (forest_.ordered[f]) return;
  if (forest_.gapped[f]) box_.missing[f] = open.missing;
  std::copy(saved_.begin() + static_cast<std::ptrdiff_t>(open.saved), saved_.end(),
            box_.sets.begin() + static_cast<std::ptrdiff_t>(forest_.words_begin[f]));
}

// A node with both its children, or what both have in common.
std::int32_t ResidualBuilder::join(const Open& open, std::int32_t right) {
  Residual& out = *out_;
  const std::int32_t left = open.left;
  if (left < 0 && right < 0 && out.constants[~left] == out.constants[~right]) {
    for (auto* part : {&out.left, &out.right, &out.slot, &out.origin}) part->resize(static_cast<std::size_t>(open.at));
    out.inexact[~left] |= out.inexact[~right];
    return left;
  }
  out.left[open.at] = left;
  out.right[open.at] = right;
  return open.at;
}

void ResidualBuilder::number_slots() {
  Residual& out = *out_;
  for (std::int32_t n = 0; n < out.n_nodes(); ++n) {
    marked_[out.slot[n] / 64] |= Word{1} << (out.slot[n] % 64);
    node_of_[out.slot[n]] = out.origin[n];
  }
  out.slot_node.clear();
  out.slot_cut.clear();
  out.features.clear();
  out.slot_begin.clear();
  int f = -1;
  for (std::size_t w = 0; w < marked_.size(); ++w) {
    for (Word rest = marked_[w]; rest != 0; rest &= rest - 1) {
      const std::size_t split = w * 64 + static_cast<std::size_t>(std::countr_zero(rest));
      const std::int32_t node = node_of_[split];
      if (forest_.nodes[node].feature != f) {
        f = forest_.nodes[node].feature;
        out.features.push_back(f);
        out.slot_begin.push_back(static_cast<std::int32_t>(out.slot_node.size()));
      }
      slot_of_[split] = static_cast<std::int32_t>(out.slot_node.size());
      out.slot_node.push_back(node);
      out.slot_cut.push_back(forest_.nodes[node].cut);
    }
    marked_[w] = 0;
  }
  out.slot_begin.push_back(static_cast<std::int32_t>(out.slot_node.size()));
  for (std::int32_t& slot : out.slot) slot = slot_of_[slot];
}

}  // namespace treeproof
