#include "search.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "clauses.hpp"
#include "rounding.hpp"

namespace treeproof {
namespace {

// Iterations of the bound before the box is split: at most so many, more at the root of the search, whose prices all
// boxes below inherit. At each check, at the root after the first ones: split at once if at the present rate the gap
// would not close soon.
constexpr int kMostAtRoot = 100;
constexpr int kMost = 32;
constexpr int kFirstAtRoot = 24;
constexpr int kSoonAtRoot = 32;
constexpr int kSoon = 16;
constexpr std::size_t kMostPricesKept = 1U << 22;  // entries of 12 bytes that an idle Searcher holds on to
// Local searches for a witness, at the root: from the last witness, and every so many iterations from the features'
// best cells. They end after some steps without improvement.
constexpr int kEarlierWitnessAt = 1;
constexpr int kEarlierWitnessPatience = 3;
constexpr int kSuggestionPatience = 8;  // from a point that was suggested, at once
constexpr int kLocalInterval = 10;
constexpr int kLocalPatience = 10;
// Below it, in all of the query's box, once the query has taken so many boxes: in turns from random cells and from the
// best cells of the box at hand. A search takes about so much work for each node of the box's residual forest, and all
// of them together a small part of the query's: one in kLocalShare.
constexpr std::uint64_t kLocalAfter = 12;
constexpr int kLocalPatienceBelow = 60;
constexpr std::uint64_t kWorkOfLocal = 20, kLocalShare = 16;
// A new box costs about as much as so many iterations, and a query about so many nodes of each tree.
constexpr std::uint64_t kWorkOfBox = 8, kWorkOfTree = 2;
constexpr std::uint64_t kWorkOfLanes = 2;  // what an evaluation of all parts costs, in evaluations of one

Side other(Side side) { return side == Side::left ? Side::right : Side::left; }

}  // namespace

Searcher::Searcher(const Forest& forest, const Table* table)
    : forest_(forest),
      table_(table),
      outliner_(forest),
      builder_(forest),
      local_(forest),
      trail_(forest),
      rival_rank_(forest.n_classes, 0) {}

Outcome Searcher::decide(const Box& box, Claim claim, const std::vector<Cell>& home, const Poll& must_stop,
                         Recorder* recorder) {
  claim_ = claim;
  recorder_ = recorder;
  home_ = &home;
  must_stop_ = &must_stop;
  next_local_ = 0;
  scatters_ = false;
  whole_pair_ = {-1, -1};
  outcome_ = Outcome{};
  outcome_.work = kWorkOfTree * forest_.roots.size();
  outcome_.used.assign(forest_.n_features, 0);
  outcome_.used_clauses.assign(forest_.clauses.size(), 0);
  restricted_.resize(forest_.n_features);
  for (int f = 0; f < forest_.n_features; ++f) restricted_[f] = !box.is_full(forest_, f);
  if (must_stop()) {
    outcome_.status = Status::stopped;
    return std::move(outcome_);
  }
  if (table_ != nullptr && recorder == nullptr) return table_->decide(box, claim, home);
  const bool moved = claim.kind == ClaimKind::stays && recorder == nullptr && moves_witness(box);
  last_box_ = box;
  if (moved) return std::move(outcome_);
  if (!outliner_.follow(outline_, box, &must_stop)) {
    outcome_.status = Status::stopped;
    return std::move(outcome_);
  }
  outliner_.mark(outline_, restricted_, outcome_.used);
  if (claim.kind == ClaimKind::stays) {
    const std::vector<int> rivals = possible_rivals(claim.label, recorder != nullptr);
    for (int k = 0; recorder != nullptr && k < forest_.n_classes; ++k) {
      if (k == claim.label || std::find(rivals.begin(), rivals.end(), k) != rivals.end()) continue;
      recorder->rival(k);  // the naive bound, one without prices, excludes it
      recorder->prices({k, claim.label}, recorder->table({}));
    }
    for (const int rival : rivals) {
      if (recorder != nullptr) recorder->rival(rival);
      if (close(box, {{rival, claim.label}}, 0)) continue;
      if (outcome_.status == Status::refuted)
        rival_rank_[rival] = 1 + *std::max_element(rival_rank_.begin(), rival_rank_.end());
      break;
    }
  } else {
    std::vector<Pair> pairs;
    for (int k = 0; k < forest_.n_classes; ++k)
      if (k != claim.label && forest_.are_rivals(k, claim.label)) pairs.push_back({claim.label, k});
    if (recorder != nullptr) recorder->rival(claim.label);
    close(box, pairs, 0);
  }
  return std::move(outcome_);
}

// The last witness moved into the box, with the best cell of the only feature that became free since then: true if it
// is one of this query, too.
bool Searcher::moves_witness(const Box& box) {
  if (last_witness_.empty() || last_winner_ < 0 || last_winner_ == claim_.label) return false;
  int freed = -1;
  for (int f = 0; f < forest_.n_features; ++f) {
    if (box.low[f] >= last_box_.low[f] && box.high[f] <= last_box_.high[f]) continue;
    if (freed >= 0) return false;
    freed = f;
  }
  if (freed < 0) return false;
  const Pair pair{last_winner_, claim_.label};
  std::vector<Cell> point = nearest_in(box, last_witness_);
  trail_.go(point, pair);
  const std::int64_t lead = trail_.best_lead(box, freed, point[freed]), least = forest_.least(pair.winner, pair.loser);
  if (lead < least - forest_.band) return false;
  if (lead >= least + forest_.band && forest_.n_classes == 2 && forest_.vote != Vote::exact) {
    // No rounding changes who wins: nobody has to go there.
    if (!keeps_clauses(forest_, point)) return false;
    witness(std::move(point), pair.winner, true);
    return true;
  }
  trail_.go(point, pair);
  return refutes(std::move(point), trail_.leaves());
}

// Rivals that the naive bound does not exclude, the most promising first; of `all` classes, as a proof has them, or of
// those that matter.
std::vector<int> Searcher::possible_rivals(int label, bool all) {
  const int n_classes = forest_.n_classes;
  if (n_classes == 2) return {1 - label};  // its residual forest is needed anyway, and bounds it as well
  std::vector<int> rivals;
  for (int k = 0; k < n_classes; ++k)
    if (k != label && (all || forest_.are_rivals(k, label))) rivals.push_back(k);
  std::vector<std::int64_t> upper(n_classes, 0);
  if (!forest_.leaf_class.empty()) {
    // Per tree only the set of classes it can vote for matters.
    const Word own = Word{1} << label;
    for (const std::size_t state : outline_.state) {
      const Word votes = outline_.votes[state];
      const std::int64_t otherwise = votes == own ? -1 : 0;
      for (std::int64_t& sum : upper) sum += otherwise;
      for (Word rest = votes & ~own; rest != 0; rest &= rest - 1) ++upper[std::countr_zero(rest)];
    }
  } else {
    // Per tree, kept until it changes: the most that it can give a class more than the label.
    most_.resize(outline_.trees.size() * static_cast<std::size_t>(n_classes));
    const std::uint64_t known = label == most_label_ ? most_when_ : 0;
    for (std::size_t t = 0; t < outline_.trees.size(); ++t) {
      std::int64_t* const most = &most_[t * static_cast<std::size_t>(n_classes)];
      if (outline_.changed[t] > known) {
        std::fill_n(most, n_classes, std::numeric_limits<std::int64_t>::min());
        const auto meet = [&](std::int32_t at) {
          if (at >= 0) return;
          const std::int64_t* score = forest_.scores_of(~at);
          for (int k = 0; k < n_classes; ++k) most[k] = std::max(most[k], score[k] - score[label]);
        };
        meet(outline_.trees[t].root);
        for (const Outline::Fork& fork : outline_.trees[t].growth->forks) {
          meet(fork.left);
          meet(fork.right);
        }
      }
      for (const int k : rivals) upper[k] += most[k];
    }
    most_label_ = label;
    most_when_ = outline_.now;
  }
  std::erase_if(rivals, [&](int k) { return upper[k] < forest_.least(k, label) - forest_.band; });
  std::stable_sort(rivals.begin(), rivals.end(), [&](int a, int b) {
    return std::pair(rival_rank_[a], upper[a]) > std::pair(rival_rank_[b], upper[b]);
  });
  return rivals;
}

// True if no point of the box wins all pairs; otherwise the outcome says why not. If its prices have been `improved`
// already, they are the ones kept, and the box is to be split there.
bool Searcher::close(Box box, const std::vector<Pair>& pairs, std::size_t depth, const Branches* improved) {
  Level& here = level(depth);
  for (bool again = false;; again = true) {
    if ((*must_stop_)()) {
      outcome_.status = Status::stopped;
      return false;
    }
    ++outcome_.boxes;
    if (!propagate(forest_, box, restricted_, outcome_.used, outcome_.used_clauses, recorder_)) return true;
    Pair pair{};
    bool closed = false;
    if (!choose_pair(box, pairs, depth, again, pair, closed))
      return closed || (outcome_.status != Status::stopped && decide_exactly(outline_of(here, box), pairs));
    std::int64_t target = scale().target(forest_, pair);
    closed = optimise(here, box, pair, target, depth, improved != nullptr);
    if (outcome_.status != Status::entailed) return false;
    if (closed) return true;
    if (depth > 0 && outcome_.boxes >= kLocalAfter && outcome_.work >= next_local_ &&
        finds_witness_around(here, box, pair, target))
      return false;

    const bool in_lanes = narrows(pairs) && Lanes::takes(forest_, here.residual);
    Branches branches = improved ? *improved : here.lagrangian.branches(in_lanes ? Parts::kSplits : 1);
    improved = nullptr;
    bool empty = false;
    const bool narrowed = target > scale().target(forest_, pair);
    if (here.lagrangian.fix(box, target, empty, recorder_, pair) || empty) outcome_.near_tie |= narrowed;
    if (empty) return true;
    here.lagrangian.save(prices(pair));
    std::erase_if(branches, [&](const Branch& branch) { return box.side(forest_, branch.node) != Side::both; });
    if (branches.empty()) continue;
    if (in_lanes) return close_parts(box, branches, pair, target, depth);
    const auto [node, side] = branches.front();
    Box first = box;
    first.restrict(forest_, node, side);
    if (recorder_ != nullptr) recorder_->split(first, forest_.nodes[node].feature);
    if (!close(std::move(first), pairs, depth + 1)) return false;
    here.lagrangian.save(prices(pair));
    box.restrict(forest_, node, other(side));
  }
}

// Split a box by several features at once, and close its parts: side by side as far as that goes, then each for itself.
bool Searcher::close_parts(const Box& box, const Branches& branches, Pair pair, std::int64_t target,
                           std::size_t depth) {
  Level& here = level(depth);
  here.parts.start(here.residual, box, branches, here.lagrangian,
                   {target, scale().target(forest_, pair), exact_target(pair)});
  while (here.parts.any()) {
    if ((*must_stop_)()) {
      outcome_.status = Status::stopped;
      return false;
    }
    outcome_.work += kWorkOfLanes * here.residual.nodes.size();
    here.parts.step(outcome_);
  }
  for (const Parts::Open& part : here.parts.left()) {
    prices(pair).store(here.residual, part.alpha, part.beta);
    if (!close(part.box, {pair}, depth + 1, &part.branches)) return false;
  }
  return true;
}

// The pair to bound: the only one, or the one that looks hardest to win. False if no pair has an undecided tree left,
// or one is lost (then `closed`), or if it must stop.
bool Searcher::choose_pair(const Box& box, const std::vector<Pair>& pairs, std::size_t depth, bool again, Pair& chosen,
                           bool& closed) {
  Level& level = this->level(depth);
  const bool is_within = narrows(pairs) && (depth > 0 || again);
  level.outlined = !is_within;
  if (!is_within && !outliner_.follow(level.outline, box, depth == 0 ? outline_ : this->level(depth - 1).outline,
                                      restricted_, outcome_.used, must_stop_)) {
    outcome_.status = Status::stopped;
    return false;
  }
  const auto build = [&](Pair pair) {
    if (is_within) {
      if (again) std::swap(level.residual, level.around);
      builder_.narrow(level.residual, again ? level.around : this->level(depth - 1).residual, box, restricted_,
                      outcome_.used);
    } else if (!builder_.build(level.residual, level.outline, pair, must_stop_, recorder_ == nullptr,
                               recorder_ == nullptr)) {  // a proof has no absorbed trees
      outcome_.status = Status::stopped;
      return false;
    }
    // A bound takes the best of the values that the box allows, and so relies on the others being excluded.
    for (const std::int32_t f : level.residual.features)
      if (!forest_.ordered[f]) outcome_.used[f] |= restricted_[f];
    return true;
  };
  if (pairs.size() == 1) {
    chosen = pairs[0];
    if (!build(chosen)) return false;
    if (!level.residual.slot_node.empty()) return true;
    closed = level.residual.offset <
             (level.residual.offset_inexact ? scale().target(forest_, chosen) : exact_target(chosen));
    if (closed && recorder_ != nullptr) recorder_->prices(chosen, recorder_->table({}));
    return false;
  }
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  bool found = false;
  for (const Pair pair : pairs) {
    if (!build(pair)) return false;
    level.lagrangian.start(level.residual, box, prices(pair));
    const std::int64_t target = scale().target(forest_, pair);
    const std::int64_t room = level.lagrangian.evaluate() - target;
    if (level.lagrangian.closes(target, exact_target(pair))) {
      closed = true;
      if (recorder_ != nullptr) recorder_->prices(pair, recorder_->table(level.lagrangian.nonzero_prices()));
      return false;
    }
    if (!level.residual.slot_node.empty() && room < least) {
      least = room;
      chosen = pair;
      found = true;
    }
  }
  return found && build(chosen);
}

// Lower the bound until it closes the box (then true), a witness is found or time is up (the status tells), or it
// stalls. The target rises where a narrower band matters. Prices that have been `improved` are only looked at.
bool Searcher::optimise(Level& level, const Box& box, Pair pair, std::int64_t& target, std::size_t depth,
                        bool improved) {
  Lagrangian& lagrangian = level.lagrangian;
  lagrangian.start(level.residual, box, prices(pair));
  outcome_.work += kWorkOfBox * level.residual.nodes.size();
  const std::int64_t wide_target = target, exact_target = this->exact_target(pair);
  const int most = improved ? 1 : depth == 0 ? kMostAtRoot : kMost, unchecked = depth == 0 ? kFirstAtRoot : 0;
  const int soon = depth == 0 ? kSoonAtRoot : kSoon;
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  std::int64_t best_at_check = std::int64_t{1} << 50;  // large, so that the first check never ends it
  double scale = kFirstStep;
  int waited = 0;
  const bool suggested = last_winner_ < 0;
  bool narrowed = recorder_ != nullptr;  // a proof has one band
  const auto narrow = [&](std::int64_t bound) {  // once, and only if the band is more than half of what is missing
    if (narrowed || bound - exact_target >= exact_target - target) return;
    narrowed = true;
    target = std::max(target, this->scale().target_in(forest_, level.outlined ? level.outline : outline_, pair));
  };
  for (int i = 0; i < most; ++i) {
    if ((*must_stop_)()) {
      // The next query of one who asks for a short search only is much like it; in the largest forests it takes too
      // long.
      if (level.residual.gate_slot.size() < Patience::kInterval) lagrangian.save(prices(pair));
      outcome_.status = Status::stopped;
      return false;
    }
    outcome_.work += level.residual.nodes.size();
    const std::int64_t bound = lagrangian.evaluate();
    bool closed = lagrangian.closes(wide_target, exact_target);
    if (!closed && bound < exact_target) {
      narrow(bound);
      closed = lagrangian.closes(target, exact_target);
      outcome_.near_tie |= closed;
    }
    if (closed) {
      lagrangian.save(prices(pair));
      if (recorder_ != nullptr) recorder_->prices(pair, recorder_->table(lagrangian.nonzero_prices()));
      return true;
    }
    if ((i < 4 || i % 3 == 0) && lagrangian.value_of_best_cells() >= target) {
      std::vector<Cell> point = nearest_in(box, *home_);
      lagrangian.place_best_cells(point);
      if (refutes(std::move(point))) {
        lagrangian.save(prices(pair));
        return false;
      }
    }
    if (depth == 0 && i == (suggested ? 0 : kEarlierWitnessAt) && !last_witness_.empty() &&
        finds_witness(level.residual, box, nearest_in(box, last_witness_), target,
                      suggested ? kSuggestionPatience : kEarlierWitnessPatience)) {
      lagrangian.save(prices(pair));
      return false;
    }
    if (depth == 0 && i % kLocalInterval == kLocalInterval - 1) {
      std::vector<Cell> point = nearest_in(box, *home_);
      lagrangian.place_best_cells(point);
      if (finds_witness(level.residual, box, std::move(point), target, kLocalPatience)) {
        lagrangian.save(prices(pair));
        return false;
      }
    }
    if (bound < best) {
      best = bound;
      lagrangian.keep_prices();
      waited = 0;
    } else if (++waited >= kPatience) {
      scale *= 0.5;
      waited = 0;
    }
    if (i >= unchecked && i % kCheckInterval == kCheckInterval - 1) {
      if ((best_at_check - best) * soon < (best - target) * kCheckInterval) break;
      best_at_check = best;
    }
    if (improved) {
      narrow(bound);
      return false;
    }
    // Below the exact target, leaves that need the band keep the box open: these have to come below the other one.
    const std::int64_t aim = (bound < exact_target ? target : exact_target) - this->scale().typical();
    if (!lagrangian.step(aim, scale)) break;
  }
  lagrangian.restore_prices();
  narrow(lagrangian.evaluate());
  return false;  // it stalls
}

// Local search from a point of the residual forest's box: true if it ends the query, with a witness or because it must
// stop.
bool Searcher::finds_witness(const Residual& residual, const Box& box, std::vector<Cell> point, std::int64_t target,
                             int patience) {
  local_.start(residual, box, point);
  if (local_.run(target, patience, *must_stop_) < target) {
    if (local_.stopped()) outcome_.status = Status::stopped;
    return local_.stopped();
  }
  local_.place(point);
  return refutes(std::move(point));
}

// Local search in all of the query's box: from the best cells of a part of it, or from random ones in turn with that.
bool Searcher::finds_witness_around(const Level& level, const Box& part, Pair pair, std::int64_t target) {
  if (pair.winner != whole_pair_.winner || pair.loser != whole_pair_.loser) {
    whole_pair_ = {-1, -1};
    if (!builder_.build(whole_, outline_, pair, must_stop_, true, true)) {
      outcome_.status = Status::stopped;
      return true;
    }
    whole_pair_ = pair;
  }
  std::vector<Cell> point = nearest_in(part, *home_);
  scatters_ = !scatters_;
  if (scatters_) {
    local_.scatter(whole_, outline_.box, point);
  } else {
    level.lagrangian.place_best_cells(point);
  }
  const std::uint64_t work = kWorkOfLocal * whole_.nodes.size();
  outcome_.work += work;
  next_local_ = outcome_.work + kLocalShare * work;
  return finds_witness(whole_, outline_.box, std::move(point), target, kLocalPatienceBelow);
}

// Evaluate the model itself at a point of the query's box; one that violates the claim becomes the witness.
bool Searcher::refutes(std::vector<Cell> point) {
  find_leaves(forest_, outline_, point, leaves_);
  return refutes(std::move(point), leaves_);
}

bool Searcher::refutes(std::vector<Cell> point, const std::vector<std::int32_t>& leaves) {
  const int label = forest_.label_of_leaves(leaves);
  if (!claim_.violated_by(label) || !keeps_clauses(forest_, point)) return false;
  witness(std::move(point), label, is_certain(leaves));
  return true;
}

// The query ends with a point that has this label; `certain` if sums of scores alone show it.
void Searcher::witness(std::vector<Cell> point, int label, bool certain) {
  outcome_.status = Status::refuted;
  outcome_.witness = std::move(point);
  outcome_.label = label;
  last_witness_ = outcome_.witness;
  last_winner_ = label;
  outcome_.near_tie = !certain;
}

// Whether sums of scores alone show that a point with these leaves violates the claim, outside the rounding band.
bool Searcher::is_certain(const std::vector<std::int32_t>& leaves) const {
  if (forest_.band == 0) return true;
  const bool exact =
      std::all_of(leaves.begin(), leaves.end(), [&](std::int32_t leaf) { return forest_.is_exact(leaf); });
  const std::int64_t band = exact ? 0 : forest_.band;
  const std::vector<std::int64_t> sums = forest_.total_scores_of(leaves);
  const auto beats = [&](int k, int j) { return sums[k] - sums[j] >= forest_.least(k, j) + band; };
  for (int k = 0; k < forest_.n_classes; ++k) {
    if (k == claim_.label) continue;
    if (claim_.kind == ClaimKind::stays && beats(k, claim_.label)) return true;
    if (claim_.kind == ClaimKind::never && !beats(claim_.label, k)) return false;
  }
  return claim_.kind == ClaimKind::never;
}

// No bound tells the leaves of this box apart any more: enumerate what is left exactly.
bool Searcher::decide_exactly(const Outline& outline, const std::vector<Pair>& pairs) {
  if (refutes(nearest_in(outline.box, *home_))) return false;
  return close_plainly(forest_, outline.box, pairs, claim_, restricted_, *must_stop_, outcome_, recorder_);
}

// What a bound must stay below where all trees reach exact leaves. Not in a proof: its checker knows models that are
// exact as a whole, and one band for all others; near ties are split until they can be evaluated.
std::int64_t Searcher::exact_target(Pair pair) const {
  const bool banded = recorder_ != nullptr && forest_.band > 0;
  return banded ? scale().target(forest_, pair) : scale().exact_target(forest_, pair);
}

// That of the box at hand, which is not needed before where residual forests are made from others.
const Outline& Searcher::outline_of(Level& level, const Box& box) {
  if (!level.outlined) outliner_.follow(level.outline, box, outline_, restricted_, outcome_.used);
  level.outlined = true;
  return level.outline;
}

Prices& Searcher::prices(Pair pair) {
  std::unique_ptr<Prices>& known = prices_[{pair.winner, pair.loser}];
  if (!known) known = std::make_unique<Prices>(forest_.gate_node.size());
  return *known;
}

void Searcher::forget() {
  std::size_t kept = 0;
  for (auto& [pair, known] : prices_) {
    if (!known) continue;
    kept += forest_.gate_node.size();
    if (kept > kMostPricesKept) {
      known.reset();
    } else {
      known->forget();
    }
  }
  std::fill(rival_rank_.begin(), rival_rank_.end(), 0);
  last_witness_.clear();
  trail_.forget();
  local_.forget();
}

void Searcher::suggest(const std::vector<Cell>& point) {
  last_witness_ = point;
  last_winner_ = -1;  // the last box is not one in which it was found
}

Searcher::Level& Searcher::level(std::size_t depth) {
  while (levels_.size() <= depth)
    levels_.emplace_back(new Level{{}, {}, {}, false, Lagrangian(forest_), Parts(forest_)});
  return *levels_[depth];
}

// The point of the box that has the cells of `point` where the box allows them, and the closest ones elsewhere.
std::vector<Cell> Searcher::nearest_in(const Box& box, const std::vector<Cell>& point) const {
  std::vector<Cell> nearest = box.first_point(forest_);
  for (int f = 0; f < forest_.n_features; ++f) {
    if (forest_.ordered[f] || (forest_.gapped[f] && box.has_numbers(f) && point[f] < forest_.missing_cell(f))) {
      nearest[f] = std::clamp(point[f], box.low[f], box.high[f]);
    } else if (box.has(forest_, f, point[f])) {
      nearest[f] = point[f];
    }
  }
  return nearest;
}

}  // namespace treeproof
