#include "outline.hpp"

#include <algorithm>
#include <bit>

namespace treeproof {
namespace {

// What a walk goes over: a tree of the forest, or of an outline.
struct OfForest {
  const Node* nodes;
  std::int32_t node(std::int32_t at) const { return at; }
  std::int32_t left(std::int32_t at) const { return nodes[at].left; }
  std::int32_t right(std::int32_t at) const { return nodes[at].right; }
};

struct OfOutline {
  const Outline::Fork* forks;
  std::int32_t node(std::int32_t at) const { return at < 0 ? ~at : forks[at].node; }
  std::int32_t left(std::int32_t at) const { return forks[at].left; }
  std::int32_t right(std::int32_t at) const { return forks[at].right; }
};

void add(Word* set, int f) { set[f / 64] |= Word{1} << (f % 64); }

}  // namespace

void find_leaves(const Forest& forest, const Outline& outline, const std::vector<Cell>& point,
                 std::vector<std::int32_t>& leaves) {
  leaves.clear();
  for (const Outline::Tree& tree : outline.trees) {
    std::int32_t at = tree.root;
    while (at >= 0) {
      const Outline::Fork& fork = tree.growth->forks[at];
      at = forest.goes_left(fork.node, point[forest.nodes[fork.node].feature]) ? fork.left : fork.right;
    }
    leaves.push_back(~at);
  }
}

Outliner::Outliner(const Forest& forest, std::size_t poll_interval)
    : forest_(forest), poll_interval_(poll_interval), n_words_(static_cast<std::size_t>(forest.n_features) / 64 + 1) {
  gates_.assign(forest.gate_node.size() / 64 + 1, 0);
  place_.resize(forest.gate_node.size());
  above_.assign(forest.n_features, -1);
  below_.assign(forest.n_features, -1);
  path_.resize(static_cast<std::size_t>(forest.depth));
}

bool Outliner::follow(Outline& outline, const Box& box, const std::function<bool()>* must_stop) {
  const std::size_t n_trees = forest_.roots.size();
  const bool first = outline.trees.empty();
  ++outline.now;
  if (first) {
    outline.trees.resize(n_trees);
    outline.changed.resize(n_trees);
    outline.state.resize(n_trees);
    outline.own.resize(2 * n_trees);
    outline.roots.resize(2 * n_trees);
    outline.decided.resize(2 * n_trees * n_words_);
    outline.open.resize(2 * n_trees * n_words_);
    if (!forest_.leaf_class.empty()) outline.votes.resize(2 * n_trees);
  } else {
    const int since_last = find_changes(outline.box, box, last_changes_);
    if (since_last == 0) return true;
    if (since_last < find_changes(outline.base, box, changes_)) {
      changes_ = last_changes_;
      outline.base = outline.box;
      outline.base_state = outline.state;
    }
  }
  outline.box = box_ = box;
  whole_ = &outline.box;
  const auto holds = [&](std::size_t state, const std::vector<Word>& changes) {
    return !meets(&outline.decided[state * n_words_], changes) && !meets(&outline.open[state * n_words_], changes);
  };
  Patience patience(must_stop, poll_interval_);
  for (std::size_t t = 0; t < n_trees; ++t) {
    std::size_t state = 2 * t;
    bool is_known = false;
    if (!first) {
      const std::size_t base = outline.base_state[t], last = outline.state[t];
      state = holds(base, changes_) ? base : base ^ 1;
      if (state == last && (state == base || holds(last, last_changes_))) continue;
      is_known = state == base;
    }
    if (!is_known) {
      walk_state(outline, t, state);
      if (patience.ends(outline.own[state].forks.size())) {
        outline.trees.clear();
        return false;
      }
    }
    outline.state[t] = state;
    outline.changed[t] = outline.now;
    outline.trees[t] = {&outline.own[state], outline.roots[state], &outline.open[state * n_words_]};
  }
  if (first) {
    outline.base = box;
    outline.base_state = outline.state;
  }
  return true;
}

void Outliner::walk_state(Outline& outline, std::size_t t, std::size_t state) {
  Word *const decided = &outline.decided[state * n_words_], *const open = &outline.open[state * n_words_];
  std::fill_n(decided, n_words_, 0);
  std::fill_n(open, n_words_, 0);
  Outline::Growth& own = outline.own[state];
  const std::int32_t root =
      walk(OfForest{forest_.nodes.data()}, forest_.roots[t], own, [decided](std::int32_t f) { add(decided, f); });
  outline.roots[state] = root;
  for (const Outline::Gate& gate : own.gates) add(open, forest_.nodes[gate.node].feature);
  if (forest_.leaf_class.empty()) return;
  const auto vote = [&](std::int32_t at) { return at < 0 ? Word{1} << forest_.leaf_class[~at] : Word{0}; };
  Word votes = vote(root);
  for (const Outline::Fork& fork : own.forks) votes |= vote(fork.left) | vote(fork.right);
  outline.votes[state] = votes;
}

void Outliner::mark(const Outline& outline, const std::vector<std::uint8_t>& restricted,
                    std::vector<std::uint8_t>& used) const {
  for (std::size_t w = 0; w < n_words_; ++w) {
    Word decided = 0;
    for (const std::size_t state : outline.state) decided |= outline.decided[state * n_words_ + w];
    for (; decided != 0; decided &= decided - 1) {
      const std::size_t f = w * 64 + static_cast<std::size_t>(std::countr_zero(decided));
      used[f] |= restricted[f];
    }
  }
}

bool Outliner::follow(Outline& outline, const Box& box, const Outline& around,
                      const std::vector<std::uint8_t>& restricted, std::vector<std::uint8_t>& used,
                      const std::function<bool()>* must_stop) {
  outline.trees = around.trees;
  const bool differs = find_changes(around.box, box, changes_) > 0;
  outline.box = box;
  if (!differs) return true;
  box_ = box;
  whole_ = &outline.box;
  outline.own.resize(outline.trees.size());
  Patience patience(must_stop, poll_interval_);
  for (std::size_t t = 0; t < outline.trees.size(); ++t) {
    Outline::Tree& tree = outline.trees[t];
    if (tree.root < 0 || !meets(tree.features, changes_)) continue;
    tree.root = walk(OfOutline{tree.growth->forks.data()}, tree.root, outline.own[t],
                     [&](std::int32_t f) { used[f] |= restricted[f]; });
    tree.growth = &outline.own[t];
    if (patience.ends(tree.growth->forks.size())) return false;
  }
  return true;
}

// Walked with a stack of its own: trees may be deeper than a thread's stack allows.
template <typename Source, typename Decide>
std::int32_t Outliner::walk(const Source& source, std::int32_t at, Outline::Growth& out, const Decide& decides) {
  const Node* const nodes = forest_.nodes.data();
  const std::uint8_t* const ordered = forest_.ordered.data();
  const Cell *const low = box_.low.data(), *const high = box_.high.data();
  out.forks.clear();
  Open* top = path_.data();  // behind the last split of the path
  std::int32_t value = 0;
  for (;;) {
    const std::int32_t node = source.node(at), f = nodes[node].feature;
    if (f >= 0) {
      Side side;
      if (ordered[f]) {
        side = high[f] <= nodes[node].cut ? Side::left : low[f] > nodes[node].cut ? Side::right : Side::both;
      } else {
        side = box_.side(forest_, node);
      }
      if (side == Side::both) {
        enter(*top++, at, node);
        at = source.left(at);
      } else {
        decides(f);
        at = side == Side::left ? source.left(at) : source.right(at);
      }
      continue;
    }
    value = ~node;
    while (top != path_.data() && top[-1].has_left) {
      --top;
      restore(*top);
      if (!ordered[nodes[top->node].feature]) saved_.resize(top->saved);
      value = join(*top, value, out.forks);
    }
    if (top == path_.data()) break;
    top[-1].left = value;
    top[-1].has_left = true;
    turn_right(top[-1]);
    at = source.right(top[-1].at);
  }
  number_gates(out);
  return value;
}

// Go to the left side of a node.
void Outliner::enter(Open& open, std::int32_t at, std::int32_t node) {
  const std::int32_t f = forest_.nodes[node].feature;
  open = {at, node, 0, above_[f], below_[f], box_.low[f], box_.high[f], 0, false, saved_.size()};
  if (forest_.ordered[f]) {
    above_[f] = forest_.gate[node];
    box_.high[f] = forest_.nodes[node].cut;
    return;
  }
  if (chains(f)) above_[f] = forest_.gate[node];
  if (forest_.gapped[f]) open.missing = box_.missing[f];
  saved_.insert(saved_.end(), box_.sets.begin() + static_cast<std::ptrdiff_t>(forest_.words_begin[f]),
                box_.sets.begin() + static_cast<std::ptrdiff_t>(forest_.words_begin[f + 1]));
  box_.restrict(forest_, node, Side::left);
}

// Go from the left side of a node to its right side.
void Outliner::turn_right(const Open& open) {
  restore(open);
  const std::int32_t f = forest_.nodes[open.node].feature;
  if (chains(f)) below_[f] = forest_.gate[open.node];
  box_.restrict(forest_, open.node, Side::right);
}

// Give the box the cells that it had at a node.
void Outliner::restore(const Open& open) {
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

// A fork with both its sides, or the leaf that both have in common: under majority vote, one with the same vote.
std::int32_t Outliner::join(const Open& open, std::int32_t right, std::vector<Outline::Fork>& out) const {
  const bool votes = open.left < 0 && right < 0 && !forest_.leaf_class.empty();
  if (votes && forest_.leaf_class[~open.left] == forest_.leaf_class[~right]) return right;
  out.push_back({open.left, right, open.node, forest_.gate[open.node], open.above, open.below});
  return static_cast<std::int32_t>(out.size()) - 1;
}

// Find the gates of a tree, whose forks have those of the forest so far.
void Outliner::number_gates(Outline::Growth& growth) {
  growth.gates.clear();
  if (growth.forks.empty()) return;
  const auto gate_of = [&](std::int32_t gate) {
    const std::int32_t node = forest_.gate_node[gate];
    return Outline::Gate{gate, node, static_cast<std::int32_t>(forest_.split(node))};
  };
  if (growth.forks.size() == 1) {
    Outline::Fork& fork = growth.forks.front();
    growth.gates.push_back(gate_of(fork.gate));
    fork.gate = fork.right_begin = 0;
    fork.left_end = 1;
    return;
  }
  std::size_t low = gates_.size(), high = 0;
  for (const Outline::Fork& fork : growth.forks) {
    const auto gate = static_cast<std::size_t>(fork.gate);
    gates_[gate / 64] |= Word{1} << (gate % 64);
    low = std::min(low, gate / 64);
    high = std::max(high, gate / 64);
  }
  chain_begin_.clear();
  int feature = -1;  // of the chain that goes on
  for (std::size_t w = low; w <= high; ++w) {
    for (Word rest = gates_[w]; rest != 0; rest &= rest - 1) {
      const auto gate = static_cast<std::int32_t>(w * 64) + std::countr_zero(rest);
      const auto place = static_cast<std::int32_t>(growth.gates.size());
      place_[gate] = place;
      growth.gates.push_back(gate_of(gate));
      const std::int32_t f = forest_.nodes[growth.gates.back().node].feature;
      chain_begin_.push_back(f == feature ? chain_begin_.back() : place);
      feature = chains(f) ? f : -1;
    }
    gates_[w] = 0;
  }
  const auto n_gates = static_cast<std::int32_t>(growth.gates.size());
  chain_end_.resize(growth.gates.size());
  for (std::int32_t g = n_gates - 1, end = n_gates; g >= 0; --g) {
    chain_end_[g] = end;
    if (chain_begin_[g] == g) end = g;
  }
  for (Outline::Fork& fork : growth.forks) {
    fork.gate = place_[fork.gate];
    fork.left_end = fork.left_end < 0 ? chain_end_[fork.gate] : place_[fork.left_end];
    fork.right_begin = fork.right_begin < 0 ? chain_begin_[fork.gate] : place_[fork.right_begin] + 1;
  }
}

// Note the features whose cells differ; returns how many.
int Outliner::find_changes(const Box& from, const Box& to, std::vector<Word>& changes) const {
  changes.assign(n_words_, 0);
  const auto same = [](const auto& one, const auto& other, std::size_t begin, std::size_t end) {
    return std::equal(one.data() + begin, one.data() + end, other.data() + begin);
  };
  int n = 0;
  const auto n_features = static_cast<std::size_t>(forest_.n_features);
  for (std::size_t begin = 0; begin < n_features; begin += 64) {
    // Most features are as they were, so many are compared at once first.
    const std::size_t end = std::min(begin + 64, n_features);
    if (same(from.low, to.low, begin, end) && same(from.high, to.high, begin, end) &&
        same(from.missing, to.missing, begin, end) &&
        same(from.sets, to.sets, forest_.words_begin[begin], forest_.words_begin[end]))
      continue;
    for (std::size_t f = begin; f < end; ++f) {
      bool differs = from.low[f] != to.low[f] || from.high[f] != to.high[f] || from.missing[f] != to.missing[f];
      for (std::size_t w = forest_.words_begin[f]; w < forest_.words_begin[f + 1]; ++w)
        differs = differs || from.sets[w] != to.sets[w];
      if (!differs) continue;
      add(changes.data(), static_cast<int>(f));
      ++n;
    }
  }
  return n;
}

// Whether one of the features has changed.
bool Outliner::meets(const Word* features, const std::vector<Word>& changes) const {
  Word both = 0;
  for (std::size_t w = 0; w < n_words_; ++w) both |= features[w] & changes[w];
  return both != 0;
}

}  // namespace treeproof
