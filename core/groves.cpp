#include "groves.hpp"

#include <algorithm>
#include <bit>

namespace treeproof {
namespace {

// A grove does not grow beyond so many leaves, and later not beyond so many when more features are free. A tree joins
// it only if that adds at most so many times its own leaves.
constexpr std::size_t kMostOfGrove = 64, kMostKept = 96, kMostGrowth = 2;
constexpr int kMostFresh = 2;  // features that the grove has not met yet: with more of them, few trees fit
constexpr std::size_t kMostMembers = 64;  // so that sums of their values fit 32 bits

// What the leaves of a grove are worth is cut off here, as values are (see Scale).
constexpr std::int64_t kLowestSum = -(std::int64_t{1} << 29), kHighestSum = Scale::kHighest;

}  // namespace

void Groves::enter(const Residual& residual) {
  residual_ = &residual;
  const std::size_t n_features = residual.features.size();
  feature_of_.resize(residual.slot_node.size());
  above_.resize(n_features);
  below_.resize(n_features);
  for (std::size_t i = 0; i < n_features; ++i) {
    below_[i] = residual.slot_begin[i];
    above_[i] = residual.slot_begin[i + 1];
    std::fill(feature_of_.begin() + below_[i], feature_of_.begin() + above_[i], static_cast<std::int32_t>(i));
  }
  trees_.clear();
  std::int32_t first = 0;
  for (const std::int32_t root : residual.roots) {
    Tree tree{first, root, residual.n_gates(), 0, 0, true};
    for (; first <= root; ++first) {
      tree.first_gate = std::min(tree.first_gate, residual.nodes[first].gate);
      tree.last_gate = std::max(tree.last_gate, residual.nodes[first].gate);
      const std::int32_t i = feature_of_[residual.nodes[first].slot];
      tree.features |= Word{1} << (residual.features[i] % 64);
      tree.ordered = tree.ordered && forest_.ordered[residual.features[i]];
    }
    trees_.push_back(tree);
  }
}

void Groves::forget() {
  groves_.clear();
  std::fill(of_tree_.begin(), of_tree_.end(), kAlone);
}

void Groves::form(const Residual& residual) {
  enter(residual);
  place_of_.assign(of_tree_.size(), kAlone);
  for (std::size_t t = 0; t < trees_.size(); ++t) place_of_[residual.trees[t]] = static_cast<std::int32_t>(t);
  std::fill(of_tree_.begin(), of_tree_.end(), kAlone);
  for (Grove& grove : groves_) {
    std::erase_if(grove.members,
                  [&](std::int32_t tree) { return place_of_[tree] == kAlone || !trees_[place_of_[tree]].ordered; });
    std::vector<std::int32_t> members = std::move(grove.members);
    for (;;) {
      start(grove);
      const bool fits = std::all_of(members.begin(), members.end(), [&](std::int32_t tree) {
        const Tree& next = trees_[place_of_[tree]];
        if (count(grove, next, kMostKept) > kMostKept) return false;
        add(grove, next);
        return true;
      });
      if (fits) break;
      members.resize(members.size() / 2);
    }
    grove.members = std::move(members);
  }
  std::erase_if(groves_, [](const Grove& grove) { return grove.members.empty(); });
  for (std::size_t g = 0; g < groves_.size(); ++g)
    for (const std::int32_t tree : groves_[g].members) of_tree_[tree] = static_cast<std::int32_t>(g);
  std::vector<std::int32_t> order;
  for (std::size_t t = 0; t < trees_.size(); ++t)
    if (trees_[t].ordered && trees_[t].leaves() <= kMostOfGrove && of_tree_[residual.trees[t]] == kAlone)
      order.push_back(static_cast<std::int32_t>(t));
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const int more = std::popcount(trees_[a].features), less = std::popcount(trees_[b].features);
    return more != less ? more > less : trees_[a].leaves() > trees_[b].leaves();
  });
  for (const std::int32_t t : order) insert(residual.trees[t]);
}

// Put a tree into the grove that grows least, or one of its own.
void Groves::insert(std::int32_t tree) {
  const Tree& own = trees_[place_of_[tree]];
  Grove* best = nullptr;
  std::size_t least = kMostGrowth * own.leaves() + 1;  // leaves more
  // Those first that have all its features: one that fits well ends the count of the others early.
  for (int fresh = 0; fresh <= kMostFresh; ++fresh) {
    for (Grove& grove : groves_) {
      if (least == 0) break;
      if ((grove.features & own.features) == 0) continue;
      if (grove.members.size() >= kMostMembers || std::popcount(own.features & ~grove.features) != fresh) continue;
      if (fresh > 0 && std::popcount(own.features & grove.features) < 2) continue;
      const std::size_t most = std::min(grove.leaves + least - 1, kMostOfGrove);
      if (most < grove.leaves) continue;
      const std::size_t leaves = count(grove, own, most);
      if (leaves > most) continue;
      least = leaves - grove.leaves;
      best = &grove;
    }
  }
  if (best == nullptr) {
    best = &groves_.emplace_back();
    start(*best);
  }
  of_tree_[tree] = static_cast<std::int32_t>(best - groves_.data());
  best->members.push_back(tree);
  add(*best, own);
}

// A grove without members has one leaf, which restricts nothing.
void Groves::start(Grove& grove) {
  grove.features = 0;
  grove.leaves = 1;
  grove.places.clear();
  grove.ranges.clear();
}

// Split the leaves of a grove by those of one tree more.
void Groves::add(Grove& grove, const Tree& tree) {
  Grove joined{{}, grove.features | tree.features, 0, grove.places, {}};
  for (std::int32_t n = tree.first; n <= tree.root; ++n) {
    const std::int32_t i = feature_of_[residual_->nodes[n].slot];
    if (std::find(joined.places.begin(), joined.places.end(), i) == joined.places.end()) joined.places.push_back(i);
  }
  for (std::size_t leaf = 0; leaf < grove.leaves; ++leaf) {
    enter_leaf(grove, leaf);
    list_leaves(tree.root, joined);
  }
  leave(grove);
  joined.members = std::move(grove.members);
  grove = std::move(joined);
}

// The leaves of a grove with one tree more; some number above `most` if there are more than that.
std::size_t Groves::count(const Grove& grove, const Tree& tree, std::size_t most) {
  std::size_t leaves = grove.leaves;
  for (std::size_t leaf = 0; leaf < grove.leaves && leaves <= most; ++leaf) {
    enter_leaf(grove, leaf);
    leaves += count_from(tree.root, most - leaves + 1) - 1;
  }
  leave(grove);
  return leaves;
}

void Groves::enter_leaf(const Grove& grove, std::size_t leaf) {
  const Range* range = grove.ranges.data() + leaf * grove.places.size();
  for (const std::int32_t i : grove.places) {
    below_[i] = range->below;
    above_[i] = range->above;
    ++range;
  }
}

void Groves::leave(const Grove& grove) {
  for (const std::int32_t i : grove.places) {
    below_[i] = residual_->slot_begin[i];
    above_[i] = residual_->slot_begin[i + 1];
  }
}

std::size_t Groves::count_from(std::int32_t at, std::size_t most) {
  while (at >= 0) {
    const Residual::Fork& fork = residual_->nodes[at];
    const std::int32_t i = feature_of_[fork.slot], above = above_[i], below = below_[i];
    if (fork.slot >= above || fork.slot < below) {
      at = fork.slot >= above ? fork.left : fork.right;
      continue;
    }
    if (most < 2) return 2;
    above_[i] = fork.slot;
    std::size_t leaves = count_from(fork.left, most - 1);  // there is one to the right at least
    above_[i] = above;
    if (leaves >= most) return most + 1;
    below_[i] = fork.slot + 1;
    leaves += count_from(fork.right, most - leaves);
    below_[i] = below;
    return leaves;
  }
  return 1;
}

void Groves::list_leaves(std::int32_t at, Grove& grove) {
  while (at >= 0) {
    const Residual::Fork& fork = residual_->nodes[at];
    const std::int32_t i = feature_of_[fork.slot], above = above_[i], below = below_[i];
    if (fork.slot >= above || fork.slot < below) {
      at = fork.slot >= above ? fork.left : fork.right;
      continue;
    }
    above_[i] = fork.slot;
    list_leaves(fork.left, grove);
    above_[i] = above;
    below_[i] = fork.slot + 1;
    list_leaves(fork.right, grove);
    below_[i] = below;
    return;
  }
  ++grove.leaves;
  for (const std::int32_t i : grove.places) grove.ranges.push_back({below_[i], above_[i]});
}

void Groves::join(const Residual& residual, Residual& out) {
  enter(residual);
  out.clear();
  out.offset = residual.offset;
  out.offset_inexact = residual.offset_inexact;
  out.slot_node = residual.slot_node;
  out.slot_cut = residual.slot_cut;
  out.slot_turn = residual.slot_turn;
  out.features = residual.features;
  out.slot_begin = residual.slot_begin;
  marked_.resize(std::max(marked_.size(), residual.slot_node.size() / 64 + 1));
  place_.resize(std::max(place_.size(), residual.slot_node.size()));
  gate_of_.assign(residual.gate_slot.size(), -1);
  members_.resize(std::max(members_.size(), groves_.size()));
  for (std::vector<std::int32_t>& members : members_) members.clear();
  for (std::size_t t = 0; t < trees_.size(); ++t) {
    const std::int32_t grove = of_tree_[residual.trees[t]];
    if (grove == kAlone) {
      copy(trees_[t], out);
    } else {
      members_[grove].push_back(static_cast<std::int32_t>(t));
    }
  }
  for (const std::vector<std::int32_t>& members : members_) {
    if (members.size() == 1) copy(trees_[members[0]], out);
    if (members.size() > 1) grow(members, out);
  }
  for (const auto& [gate, origin] : residual.shared)
    if (gate_of_[gate] >= 0) out.shared.push_back({gate_of_[gate], origin});
}

// A tree that stays as it is.
void Groves::copy(const Tree& tree, Residual& out) {
  const Residual& from = *residual_;
  const std::int32_t first = out.n_nodes(), begin = out.n_gates();
  for (std::int32_t n = tree.first; n <= tree.root; ++n) {
    Residual::Fork fork = from.nodes[n];
    for (std::int32_t* child : {&fork.left, &fork.right}) {
      if (*child >= 0) {
        *child += first - tree.first;
        continue;
      }
      out.constants.push_back(from.constants[~*child]);
      out.inexact.push_back(from.inexact[~*child]);
      *child = ~(out.n_constants() - 1);
    }
    for (std::int32_t* place : {&fork.gate, &fork.left_end, &fork.right_begin}) *place += begin - tree.first_gate;
    out.nodes.push_back(fork);
  }
  for (std::int32_t g = tree.first_gate; g <= tree.last_gate; ++g) {
    gate_of_[g] = out.n_gates();
    out.gate_origin.push_back(from.gate_origin[g]);
    out.gate_slot.push_back(from.gate_slot[g]);
  }
  out.most_gates = std::max(out.most_gates, out.n_gates() - begin);
  out.roots.push_back(out.n_nodes() - 1);
  out.trees.push_back(static_cast<std::int32_t>(out.trees.size()));
}

void Groves::grow(const std::vector<std::int32_t>& members, Residual& out) {
  const std::int32_t first = out.n_nodes();
  walked_ = members;
  const std::int32_t root = grow_from(0, trees_[members[0]].root, 0, false, out);
  if (root < 0) {
    out.offset += out.constants[~root];
    out.offset_inexact = out.offset_inexact || out.inexact[~root];
    return;
  }
  out.roots.push_back(root);
  out.trees.push_back(static_cast<std::int32_t>(out.trees.size()));
  number_gates(members, first, out);
}

std::int32_t Groves::grow_from(std::size_t member, std::int32_t at, std::int64_t sum, bool inexact, Residual& out) {
  for (;;) {
    if (at < 0) {
      sum += residual_->constants[~at];
      inexact = inexact || residual_->inexact[~at];
      if (++member == walked_.size()) break;
      at = trees_[walked_[member]].root;
      continue;
    }
    const Residual::Fork& fork = residual_->nodes[at];
    const std::int32_t i = feature_of_[fork.slot], above = above_[i], below = below_[i];
    if (fork.slot >= above || fork.slot < below) {
      at = fork.slot >= above ? fork.left : fork.right;
      continue;
    }
    above_[i] = fork.slot;
    const std::int32_t left = grow_from(member, fork.left, sum, inexact, out);
    above_[i] = above;
    below_[i] = fork.slot + 1;
    const std::int32_t right = grow_from(member, fork.right, sum, inexact, out);
    below_[i] = below;
    if (left < 0 && right < 0 && out.constants[~left] == out.constants[~right]) {
      out.inexact[~left] |= out.inexact[~right];
      return left;
    }
    out.nodes.push_back({left, right, fork.slot, 0, above, below, fork.origin});
    return out.n_nodes() - 1;
  }
  out.constants.push_back(static_cast<std::int32_t>(std::clamp(sum, kLowestSum, kHighestSum)));
  out.inexact.push_back(inexact);
  return ~(out.n_constants() - 1);
}

// Find the gates of a joined tree: its splits. So far its nodes, from `first` on, have slots in their place.
void Groves::number_gates(const std::vector<std::int32_t>& members, std::int32_t first, Residual& out) {
  const std::int32_t begin = out.n_gates();
  std::size_t low = marked_.size(), high = 0;
  for (std::int32_t n = first; n < out.n_nodes(); ++n) {
    const auto slot = static_cast<std::size_t>(out.nodes[n].slot);
    marked_[slot / 64] |= Word{1} << (slot % 64);
    low = std::min(low, slot / 64);
    high = std::max(high, slot / 64);
  }
  for (std::size_t w = low; w <= high; ++w) {
    for (Word rest = marked_[w]; rest != 0; rest &= rest - 1) {
      const auto slot = static_cast<std::int32_t>(w * 64) + std::countr_zero(rest);
      place_[slot] = out.n_gates();
      out.gate_origin.push_back(-1);
      out.gate_slot.push_back(slot);
    }
  }
  // Where chains end. A slot at which one goes left above a node is a gate; so is the one before which one goes right.
  const std::int32_t end = out.n_gates();
  chain_.resize(static_cast<std::size_t>(end - begin));
  for (std::int32_t g = end - 1; g >= begin; --g) {
    const bool last = g + 1 == end || feature_of_[out.gate_slot[g + 1]] != feature_of_[out.gate_slot[g]];
    chain_[g - begin].end = last ? g + 1 : chain_[g + 1 - begin].end;
  }
  for (std::int32_t g = begin; g < end; ++g) {
    const bool is_first = g == begin || feature_of_[out.gate_slot[g - 1]] != feature_of_[out.gate_slot[g]];
    chain_[g - begin].begin = is_first ? g : chain_[g - 1 - begin].begin;
  }
  for (std::int32_t n = first; n < out.n_nodes(); ++n) {
    Residual::Fork& fork = out.nodes[n];
    const std::int32_t i = feature_of_[fork.slot];
    fork.gate = place_[fork.slot];
    fork.left_end = fork.left_end == above_[i] ? chain_[fork.gate - begin].end : place_[fork.left_end];
    fork.right_begin =
        fork.right_begin == below_[i] ? chain_[fork.gate - begin].begin : place_[fork.right_begin - 1] + 1;
  }
  // The gates of its members that make the same split.
  for (const std::int32_t t : members) {
    for (std::int32_t g = trees_[t].first_gate; g <= trees_[t].last_gate; ++g) {
      const std::int32_t slot = residual_->gate_slot[g], origin = residual_->gate_origin[g];
      if ((marked_[slot / 64] >> (slot % 64) & 1) == 0) continue;  // all its nodes are merged
      gate_of_[g] = place_[slot];
      std::int32_t& first_origin = out.gate_origin[place_[slot]];
      if (first_origin >= 0) out.shared.push_back({place_[slot], origin});
      if (first_origin < 0) first_origin = origin;
    }
  }
  for (std::size_t w = low; w <= high; ++w) marked_[w] = 0;
  out.most_gates = std::max(out.most_gates, end - begin);
}

}  // namespace treeproof
