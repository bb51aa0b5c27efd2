#include "residual.hpp"

#include <algorithm>
#include <bit>

namespace treeproof {

ResidualBuilder::ResidualBuilder(const Forest& forest) : forest_(forest) {
  marked_.assign(forest.split_begin.back() / 64 + 1, 0);
  slot_of_.resize(forest.split_begin.back());
  node_of_.resize(forest.split_begin.back());
  gates_.assign(forest.gate_node.size() / 64 + 1, 0);
  number_.resize(forest.gate_node.size());
  chains_.resize(forest.n_features);
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
  for (int f = 0; f < forest_.n_features; ++f)
    chains_[f] = forest_.ordered[f] || (forest_.gapped[f] && !box.missing[f]);
  out.offset = 0;
  out.offset_inexact = false;
  out.constants.clear();
  out.inexact.clear();
  out.nodes.clear();
  out.roots.clear();
  out.gate_origin.clear();
  out.gate_slot.clear();
  out.most_gates = 0;
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
    if (chains_[forest_.nodes[parent.node].feature])
      below_[forest_.nodes[parent.node].feature] = forest_.gate[parent.node];
    node = forest_.nodes[parent.node].right;
  }
}

// Go to the left side of a node.
void ResidualBuilder::enter(std::int32_t node) {
  const std::int32_t f = forest_.nodes[node].feature;
  path_.push_back({node, 0, above_[f], below_[f], box_.low[f], box_.high[f], 0, false, saved_.size()});
  if (chains_[f]) above_[f] = forest_.gate[node];
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
    out.inexact[~left] |= out.inexact[~right];
    return left;
  }
  out.nodes.push_back({left, right, 0, forest_.gate[open.node], open.above, open.below, open.node});
  return out.n_nodes() - 1;
}

// Number the gates of a tree whose nodes begin at `first`, in their order.
void ResidualBuilder::number_gates(std::int32_t first) {
  Residual& out = *out_;
  const std::int32_t begin = out.n_gates(), n_nodes = out.n_nodes();
  std::size_t low = gates_.size(), high = 0;
  for (std::int32_t n = first; n < n_nodes; ++n) {
    const auto gate = static_cast<std::size_t>(out.nodes[n].gate);
    gates_[gate / 64] |= Word{1} << (gate % 64);
    low = std::min(low, gate / 64);
    high = std::max(high, gate / 64);
  }
  for (std::size_t w = low; w <= high; ++w) {
    for (Word rest = gates_[w]; rest != 0; rest &= rest - 1) {
      const std::size_t gate = w * 64 + static_cast<std::size_t>(std::countr_zero(rest));
      const std::int32_t node = forest_.gate_node[gate];
      const std::size_t split = forest_.split(node);
      marked_[split / 64] |= Word{1} << (split % 64);
      node_of_[split] = node;
      number_[gate] = out.n_gates();
      out.gate_origin.push_back(static_cast<std::int32_t>(gate));
      out.gate_slot.push_back(static_cast<std::int32_t>(split));
    }
    gates_[w] = 0;
  }
  const std::int32_t end = out.n_gates();
  out.most_gates = std::max(out.most_gates, end - begin);
  chain_begin_.resize(static_cast<std::size_t>(end - begin));
  chain_end_.resize(chain_begin_.size());
  int feature = -1;  // of the chain that continues
  for (std::int32_t g = begin; g < end; ++g) {
    const std::int32_t f = forest_.nodes[forest_.gate_node[out.gate_origin[g]]].feature;
    chain_begin_[g - begin] = f == feature ? chain_begin_[g - begin - 1] : g;
    feature = chains_[f] ? f : -1;
  }
  for (std::int32_t g = end - 1, last = end; g >= begin; --g) {
    chain_end_[g - begin] = last;
    if (chain_begin_[g - begin] == g) last = g;
  }
  for (std::int32_t n = first; n < n_nodes; ++n) {
    Residual::Fork& fork = out.nodes[n];
    fork.gate = number_[fork.gate];
    fork.left_end = fork.left_end < 0 ? chain_end_[fork.gate - begin] : number_[fork.left_end];
    fork.right_begin = fork.right_begin < 0 ? chain_begin_[fork.gate - begin] : number_[fork.right_begin] + 1;
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
  for (std::int32_t& slot : out.gate_slot) slot = slot_of_[slot];
  for (Residual::Fork& fork : out.nodes) fork.slot = out.gate_slot[fork.gate];
}

}  // namespace treeproof
