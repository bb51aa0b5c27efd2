#include "residual.hpp"

#include <algorithm>
#include <bit>
#include <functional>

namespace treeproof {
namespace {

constexpr std::int32_t kNone = -1, kSeveral = -2;

}  // namespace

ResidualBuilder::ResidualBuilder(const Forest& forest, std::size_t poll_interval)
    : forest_(forest), poll_interval_(poll_interval) {
  marked_.assign(forest.split_begin.back() / 64 + 1, 0);
  slot_of_.resize(forest.split_begin.back());
  node_of_.resize(forest.split_begin.back());
  for (int f = 0; f < forest.n_features; ++f) feature_of_split_.resize(forest.split_begin[f + 1], f);
}

bool ResidualBuilder::build(Residual& out, const Outline& outline, Pair pair, const std::function<bool()>* must_stop,
                            bool absorbs, bool finest) {
  out_ = &out;
  pair_ = pair;
  scale_ = finest ? &forest_.finest() : &forest_.scale;
  out.clear();
  if (forest_.vote == Vote::majority) {
    out.constants = {forest_.scale.value(-1), 0, forest_.scale.value(1)};
    out.inexact = {0, 0, 0};
  }
  Contest& known = contest(pair);
  out.offset = known.offset;
  out.offset_inexact = known.offset_inexact;
  Patience patience(must_stop, poll_interval_);
  turns_.clear();
  for (std::size_t i = 0; i < known.trees.size(); ++i) {
    const Outline::Tree& tree = outline.trees[known.trees[i]];
    if (tree.root < 0) {
      Contest::Decided& last = known.decided[i];
      if (last.leaf != ~tree.root) last = {~tree.root, worth(~tree.root), !forest_.is_exact(~tree.root)};
      out.offset += last.value;
      out.offset_inexact = out.offset_inexact || last.inexact;
      continue;
    }
    if (patience.ends(tree.growth->forks.size())) return stop();
    const std::int32_t first = out.n_nodes(), first_gate = out.n_gates(), first_constant = out.n_constants();
    const std::int32_t grown = grow(tree);
    if (grown < 0 || (absorbs && may_absorb(first, feature_of_split_))) {
      settle(grown, first, first_constant);
      out.gate_slot.resize(static_cast<std::size_t>(first_gate));
      out.gate_origin.resize(static_cast<std::size_t>(first_gate));
      continue;
    }
    out.most_gates = std::max(out.most_gates, out.n_gates() - first_gate);
    out.roots.push_back(grown);
  }
  if (patience.ends(out.nodes.size())) return stop();
  number_slots();
  return !patience.ends(out.nodes.size());
}

// Whether the last nodes, from `first` on, split one ordered feature, and either all of their leaves need the band or
// none does: then a tree of them needs it wherever a cell leads, or nowhere.
bool ResidualBuilder::may_absorb(std::int32_t first, const std::vector<std::int32_t>& feature_of) const {
  const Residual& out = *out_;
  const std::int32_t f = feature_of[out.nodes.back().slot];
  if (!forest_.ordered[f]) return false;
  bool some[] = {false, false};  // are exact, are not
  for (std::int32_t n = out.n_nodes() - 1; n >= first; --n) {
    if (feature_of[out.nodes[n].slot] != f) return false;
    for (const std::int32_t child : {out.nodes[n].left, out.nodes[n].right})
      if (child < 0) some[out.inexact[~child]] = true;
  }
  return !some[0] || !some[1];
}

// Take the last nodes, from `first` on, out again, with their constants: a tree that is one value, or to be absorbed.
// What it is worth to the first cells is counted to the offset, and changes from leaf to leaf where its splits are.
void ResidualBuilder::settle(std::int32_t root, std::int32_t first, std::int32_t first_constant) {
  Residual& out = *out_;
  std::int64_t before = 0;
  std::int64_t* behind = &out.offset;
  open_.clear();  // nodes whose left sides are being walked
  for (std::int32_t at = root;;) {
    for (; at >= 0; at = out.nodes[at].left) open_.push_back(at);
    *behind += out.constants[~at] - before;
    before = out.constants[~at];
    out.offset_inexact = out.offset_inexact || out.inexact[~at];
    if (open_.empty()) break;
    turns_.push_back({out.nodes[open_.back()].slot, 0});
    behind = &turns_.back().change;
    at = out.nodes[open_.back()].right;
    open_.pop_back();
  }
  out.nodes.resize(static_cast<std::size_t>(first));
  out.constants.resize(static_cast<std::size_t>(first_constant));
  out.inexact.resize(static_cast<std::size_t>(first_constant));
}

bool ResidualBuilder::stop() {
  std::fill(marked_.begin(), marked_.end(), 0);
  return false;
}

ResidualBuilder::Contest& ResidualBuilder::contest(Pair pair) {
  const auto [at, is_new] = contests_.try_emplace({pair.winner, pair.loser, scale_ != &forest_.scale});
  Contest& known = at->second;
  if (!is_new) return known;
  for (std::size_t t = 0; t < forest_.roots.size(); ++t) {
    if (forest_.contested(t, pair)) {
      known.trees.push_back(static_cast<std::int32_t>(t));
      continue;
    }
    std::int32_t leaf = forest_.roots[t];  // any of them
    while (forest_.nodes[leaf].feature >= 0) leaf = forest_.nodes[leaf].left;
    known.offset += worth(leaf);
    known.offset_inexact |= !forest_.is_exact(leaf);
  }
  known.decided.resize(known.trees.size());
  return known;
}

// What a leaf is worth to the pair.
std::int32_t ResidualBuilder::worth(std::int32_t leaf) const {
  if (!forest_.leaf_class.empty()) {
    const int voted = forest_.leaf_class[leaf];
    return forest_.scale.value((voted == pair_.winner) - (voted == pair_.loser));
  }
  return scale_->value(forest_, leaf, pair_);
}

std::int32_t ResidualBuilder::constant(std::int32_t leaf) {
  if (!forest_.leaf_class.empty()) {
    const int voted = forest_.leaf_class[leaf];
    return ~((voted == pair_.winner) - (voted == pair_.loser) + 1);
  }
  if (forest_.vote == Vote::majority) {
    const std::int64_t* score = forest_.scores_of(leaf);
    return ~static_cast<std::int32_t>(score[pair_.winner] - score[pair_.loser] + 1);
  }
  out_->constants.push_back(scale_->value(forest_, leaf, pair_));
  out_->inexact.push_back(!forest_.is_exact(leaf));
  return ~(out_->n_constants() - 1);
}

// The value of a tree, with its forks as nodes, but for those whose sides are worth the same.
std::int32_t ResidualBuilder::grow(const Outline::Tree& tree) {
  if (tree.root < 0) return constant(~tree.root);
  Residual& out = *out_;
  const auto& [forks, gates] = *tree.growth;
  const std::int32_t first = out.n_nodes(), begin = out.n_gates();
  grown_.resize(std::max(grown_.size(), forks.size()));
  const auto value = [&](std::int32_t at) { return at < 0 ? constant(~at) : grown_[at]; };
  for (std::size_t i = 0; i < forks.size(); ++i) {
    const Outline::Fork& fork = forks[i];
    const std::int32_t left = value(fork.left), right = value(fork.right);
    if (left < 0 && right < 0 && out.constants[~left] == out.constants[~right]) {
      out.inexact[~left] |= out.inexact[~right];
      grown_[i] = left;
    } else {
      grown_[i] = out.n_nodes();
      out.nodes.push_back({left, right, gates[fork.gate].split, begin + fork.gate, begin + fork.left_end,
                           begin + fork.right_begin, fork.node});
    }
  }
  const std::int32_t root = grown_[tree.root];
  if (root < 0) return root;
  if (out.nodes.size() - static_cast<std::size_t>(first) < forks.size()) {
    keep_gates(gates, first, begin);
  } else {
    for (const Outline::Gate& gate : gates) keep_gate(gate);
  }
  return root;
}

void ResidualBuilder::keep_gate(const Outline::Gate& gate) {
  const auto split = static_cast<std::size_t>(gate.split);
  marked_[split / 64] |= Word{1} << (split % 64);
  node_of_[split] = gate.node;
  out_->gate_origin.push_back(gate.origin);
  out_->gate_slot.push_back(gate.split);
}

// Keep those gates of a tree that its nodes, from `first` on, still have; its gates begin at `begin`.
void ResidualBuilder::keep_gates(const std::vector<Outline::Gate>& gates, std::int32_t first, std::int32_t begin) {
  Residual& out = *out_;
  place_.assign(gates.size() + 1, -1);
  for (std::int32_t n = first; n < out.n_nodes(); ++n) place_[out.nodes[n].gate - begin] = 0;
  for (std::size_t g = 0; g <= gates.size(); ++g) {
    const bool kept = place_[g] == 0;
    place_[g] = out.n_gates();
    if (kept) keep_gate(gates[g]);
  }
  for (std::int32_t n = first; n < out.n_nodes(); ++n)
    for (std::int32_t* place : {&out.nodes[n].gate, &out.nodes[n].left_end, &out.nodes[n].right_begin})
      *place = place_[*place - begin];
}

void ResidualBuilder::number_slots() {
  Residual& out = *out_;
  std::int32_t f = -1;
  std::size_t end = 0;  // of its splits; the nodes that make them lie far apart in memory, so that none is looked at
  for (std::size_t w = 0; w < marked_.size(); ++w) {
    for (Word rest = marked_[w]; rest != 0; rest &= rest - 1) {
      const std::size_t split = w * 64 + static_cast<std::size_t>(std::countr_zero(rest));
      if (split >= end) {
        do end = forest_.split_begin[static_cast<std::size_t>(++f) + 1];
        while (split >= end);
        out.features.push_back(f);
        out.slot_begin.push_back(static_cast<std::int32_t>(out.slot_node.size()));
      }
      slot_of_[split] = static_cast<std::int32_t>(out.slot_node.size());
      out.slot_node.push_back(node_of_[split]);
      out.slot_cut.push_back(static_cast<std::int32_t>(split - forest_.split_begin[static_cast<std::size_t>(f)]));
    }
    marked_[w] = 0;
  }
  out.slot_begin.push_back(static_cast<std::int32_t>(out.slot_node.size()));
  out.slot_turn.assign(out.slot_node.size(), 0);
  for (const Turn& turn : turns_) out.slot_turn[slot_of_[turn.slot]] += turn.change;
  for (std::int32_t& slot : out.gate_slot) slot = slot_of_[slot];
  for (Residual::Fork& fork : out.nodes) fork.slot = out.gate_slot[fork.gate];
  find_singles();
}

void ResidualBuilder::find_singles() {
  Residual& out = *out_;
  only_.assign(out.slot_node.size(), kNone);
  for (std::int32_t n = 0; n < out.n_nodes(); ++n) {
    const std::int32_t slot = out.nodes[n].slot;
    only_[slot] = only_[slot] == kNone ? n : kSeveral;
  }
  for (std::size_t i = 0; i < out.features.size(); ++i) {
    const std::int32_t slot = out.slot_begin[i];
    if (out.slot_begin[i + 1] == slot + 1 && only_[slot] >= 0 && out.slot_turn[slot] == 0 &&
        forest_.ordered[out.features[i]])
      out.singles.push_back({only_[slot], static_cast<std::int32_t>(i)});
  }
}

void ResidualBuilder::narrow(Residual& out, const Residual& around, const Box& box,
                             const std::vector<std::uint8_t>& restricted, std::vector<std::uint8_t>& used) {
  out_ = &out;
  out.clear();
  out.offset = around.offset;
  out.offset_inexact = around.offset_inexact;
  side_.resize(around.slot_node.size());
  feature_of_slot_.resize(around.slot_node.size());
  turns_.clear();
  for (std::size_t i = 0; i < around.features.size(); ++i) {
    const std::int32_t f = around.features[i];
    for (std::int32_t s = around.slot_begin[i]; s < around.slot_begin[i + 1]; ++s) {
      side_[s] = box.side(forest_, around.slot_node[s]);
      if (side_[s] != Side::both) used[f] |= restricted[f];
      feature_of_slot_[s] = f;
      if (side_[s] == Side::right) out.offset += around.slot_turn[s];
      if (side_[s] == Side::both && around.slot_turn[s] != 0) turns_.push_back({s, around.slot_turn[s]});
    }
  }
  reached_.assign(around.nodes.size(), 0);
  grown_.resize(std::max(grown_.size(), around.nodes.size()));
  const auto value = [&](std::int32_t at) {
    if (at >= 0) return grown_[at];
    out.constants.push_back(around.constants[~at]);
    out.inexact.push_back(around.inexact[~at]);
    return ~(out.n_constants() - 1);
  };
  std::int32_t n = 0;
  for (std::size_t t = 0; t < around.roots.size(); ++t) {
    const std::int32_t root = around.roots[t], first = n, kept = out.n_nodes(), first_constant = out.n_constants();
    reached_[root] = 1;
    for (n = root; n >= first; --n) {
      if (!reached_[n]) continue;
      const Residual::Fork& fork = around.nodes[n];
      const Side side = side_[fork.slot];
      if (side != Side::right && fork.left >= 0) reached_[fork.left] = 1;
      if (side != Side::left && fork.right >= 0) reached_[fork.right] = 1;
    }
    for (n = first; n <= root; ++n) {
      if (!reached_[n]) continue;
      Residual::Fork fork = around.nodes[n];
      if (const Side side = side_[fork.slot]; side != Side::both) {
        grown_[n] = value(side == Side::left ? fork.left : fork.right);
        continue;
      }
      fork.left = value(fork.left);
      fork.right = value(fork.right);
      if (fork.left < 0 && fork.right < 0 && out.constants[~fork.left] == out.constants[~fork.right]) {
        out.inexact[~fork.left] |= out.inexact[~fork.right];
        grown_[n] = fork.left;
      } else {
        grown_[n] = out.n_nodes();
        out.nodes.push_back(fork);
      }
    }
    const std::int32_t grown = grown_[root];
    if (grown < 0 || may_absorb(kept, feature_of_slot_)) {
      settle(grown, kept, first_constant);
    } else {
      out.roots.push_back(grown);
    }
  }
  narrow_gates(around);
  find_singles();
}

// Keep those gates and slots of the forest around that nodes, or absorbed trees, still have.
void ResidualBuilder::narrow_gates(const Residual& around) {
  Residual& out = *out_;
  out.most_gates = around.most_gates;
  place_.assign(around.gate_slot.size() + 1, kNone);
  only_.assign(around.slot_node.size(), kNone);
  for (const Residual::Fork& fork : out.nodes) {
    place_[fork.gate] = 0;
    only_[fork.slot] = 0;
  }
  for (const Turn& turn : turns_) only_[turn.slot] = 0;
  for (std::size_t i = 0; i < around.features.size(); ++i) {
    const std::size_t before = out.slot_node.size();
    for (std::int32_t s = around.slot_begin[i]; s < around.slot_begin[i + 1]; ++s) {
      if (only_[s] == kNone) continue;
      only_[s] = static_cast<std::int32_t>(out.slot_node.size());
      out.slot_node.push_back(around.slot_node[s]);
      out.slot_cut.push_back(around.slot_cut[s]);
    }
    if (out.slot_node.size() == before) continue;
    out.features.push_back(around.features[i]);
    out.slot_begin.push_back(static_cast<std::int32_t>(before));
  }
  out.slot_begin.push_back(static_cast<std::int32_t>(out.slot_node.size()));
  out.slot_turn.assign(out.slot_node.size(), 0);
  for (const Turn& turn : turns_) out.slot_turn[only_[turn.slot]] += turn.change;
  for (std::size_t g = 0; g < place_.size(); ++g) {
    const bool kept = place_[g] != kNone;
    place_[g] = out.n_gates();
    if (!kept) continue;
    out.gate_origin.push_back(around.gate_origin[g]);
    out.gate_slot.push_back(only_[around.gate_slot[g]]);
  }
  for (Residual::Fork& fork : out.nodes) {
    fork.slot = only_[fork.slot];
    for (std::int32_t* place : {&fork.gate, &fork.left_end, &fork.right_begin}) *place = place_[*place];
  }
}

}  // namespace treeproof
