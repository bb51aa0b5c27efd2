#include "residual.hpp"

#include <algorithm>
#include <bit>

namespace treeproof {

ResidualBuilder::ResidualBuilder(const Forest& forest) : forest_(forest) {
  marked_.assign(forest.split_begin.back() / 64 + 1, 0);
  slot_of_.resize(forest.split_begin.back());
  node_of_.resize(forest.split_begin.back());
  chains_ = forest.ordered;
  for (int f = 0; f < forest.n_features; ++f)
    if (forest.gapped[f]) gapped_.push_back(f);
  above_.assign(forest.n_features, -1);
  below_.assign(forest.n_features, -1);
}

void ResidualBuilder::build(Residual& out, const Box& box, Pair pair, const Scale& scale,
                            const std::vector<std::uint8_t>& restricted, std::vector<std::uint8_t>& used) {
  out_ = &out;
  box_ = box;
  pair_ = pair;
  scale_ = &scale;
  restricted_ = &restricted;
  used_ = &used;
  for (const int f : gapped_) chains_[f] = !box.missing[f];
  out.offset = 0;
  out.offset_inexact = false;
  out.inexact.clear();
  for (auto* part : {&out.constants, &out.left, &out.right, &out.origin, &out.roots, &out.above, &out.below})
    part->clear();
  out.gate.clear();
  for (auto* part : {&out.gate_origin, &out.gate_slot, &out.chained}) part->assign(1, 0);
  if (forest_.vote == Vote::majority) {
    out.constants = {scale.value(-1), 0, scale.value(1)};
    out.inexact = {0, 0, 0};
  }
  for (const std::int32_t root : forest_.roots) {
    const std::int32_t first = out.n_nodes();
    const std::int32_t grown = grow(root);
    if (grown < 0) {
      out.offset += out.constants[~grown];
      out.offset_inexact = out.offset_inexact || out.inexact[~grown];
    } else {
      out.roots.push_back(grown);
      number_gates(first);
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
    if (chains_[forest_.nodes[parent.node].feature]) below_[forest_.nodes[parent.node].feature] = parent.at;
    node = forest_.nodes[parent.node].right;
  }
}

// Take a node into the residual forest, and restrict the box to its left side.
void ResidualBuilder::enter(std::int32_t node) {
  const Node& split = forest_.nodes[node];
  const std::int32_t f = split.feature;
  Residual& out = *out_;
  path_.push_back({node, out.n_nodes(), 0, above_[f], below_[f], box_.low[f], box_.high[f], 0, false, saved_.size()});
  out.above.push_back(above_[f]);
  out.below.push_back(below_[f]);
  if (chains_[f]) above_[f] = out.n_nodes();
  out.left.push_back(0);
  out.right.push_back(0);
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
  above_[f] = open.above;
  below_[f] = open.below;
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
    for (auto* part : {&out.left, &out.right, &out.origin, &out.above, &out.below})
      part->resize(static_cast<std::size_t>(open.at));
    out.inexact[~left] |= out.inexact[~right];
    return left;
  }
  out.left[open.at] = left;
  out.right[open.at] = right;
  return open.at;
}

// Number the gates of a tree whose nodes begin at `first`.
void ResidualBuilder::number_gates(std::int32_t first) {
  Residual& out = *out_;
  const std::int32_t n_nodes = out.n_nodes();
  by_gate_.clear();
  for (std::int32_t n = first; n < n_nodes; ++n) by_gate_.emplace_back(forest_.gate[out.origin[n]], n);
  if (by_gate_.size() > 1) std::sort(by_gate_.begin(), by_gate_.end());
  out.gate.resize(static_cast<std::size_t>(n_nodes));
  int feature = -1;  // of the gate before
  for (const auto& [gate, n] : by_gate_) {
    if (feature < 0 || gate != out.gate_origin.back()) {
      const std::int32_t f = forest_.nodes[out.origin[n]].feature;
      const std::size_t split = forest_.split(out.origin[n]);
      out.gate_origin.push_back(gate);
      out.gate_slot.push_back(static_cast<std::int32_t>(split));
      out.chained.push_back(f == feature && chains_[f] ? -1 : 0);
      feature = f;
      marked_[split / 64] |= Word{1} << (split % 64);
      node_of_[split] = out.origin[n];
    }
    out.gate[n] = out.n_gates() - 1;
  }
  const auto gate_at = [&](std::int32_t n) { return n < 0 ? 0 : out.gate[n]; };
  for (std::int32_t n = first; n < n_nodes; ++n) {
    out.above[n] = gate_at(out.above[n]);
    out.below[n] = gate_at(out.below[n]);
  }
}

void ResidualBuilder::number_slots() {
  Residual& out = *out_;
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
  for (std::size_t g = 1; g < out.gate_slot.size(); ++g) out.gate_slot[g] = slot_of_[out.gate_slot[g]];
  out.slot.resize(out.gate.size());
  for (std::size_t n = 0; n < out.gate.size(); ++n) out.slot[n] = out.gate_slot[out.gate[n]];
}

}  // namespace treeproof
