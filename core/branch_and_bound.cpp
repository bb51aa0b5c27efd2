#include "branch_and_bound.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "clauses.hpp"
#include "rounding.hpp"

namespace treeproof {
namespace {

// What one tree can still contribute to one pair within a box.
struct Range {
  std::int64_t most, least;
};

class Search {
 public:
  Search(const Forest& forest, const Box& box, Claim claim, const std::vector<std::uint8_t>& restricted,
         const Poll& must_stop, Outcome& outcome, Recorder* recorder)
      : forest_(forest),
        start_(box),
        claim_(claim),
        restricted_(restricted),
        must_stop_(must_stop),
        outcome_(outcome),
        recorder_(recorder) {}

  // True if no point of the start box reaches the goal; otherwise the outcome says why not.
  bool closes(const std::vector<Pair>& goal) {
    std::vector<Box> open{start_};
    while (!open.empty()) {
      if (must_stop_()) {
        outcome_.status = Status::stopped;
        return false;
      }
      Box box = std::move(open.back());
      open.pop_back();
      ++outcome_.boxes;
      outcome_.work += forest_.roots.size();  // at least: it walks every tree
      if (!examine(goal, std::move(box), open)) return false;
    }
    return true;
  }

 private:
  // Close the box, or split it into `open`; false if it was refuted.
  bool examine(const std::vector<Pair>& goal, Box box, std::vector<Box>& open) {
    if (!propagate(forest_, box, restricted_, outcome_.used, outcome_.used_clauses, recorder_)) return true;
    pair_only_ = pair_decides(goal);
    if (pair_only_) pair_ = goal[0];
    return examine_rest(goal, std::move(box), open);
  }

  // Whether the float sums of two classes can close a box, whatever those of the others are. A record states the values
  // of all classes.
  bool pair_decides(const std::vector<Pair>& goal) const {
    return goal.size() == 1 && recorder_ == nullptr && forest_.n_classes > 2 && forest_.band > 0 && !forest_.sums.cut &&
           forest_.sums.sigmoid == 0;
  }

  bool examine_rest(const std::vector<Pair>& goal, Box box, std::vector<Box>& open) {
    const std::size_t n_pairs = goal.size();
    upper_.assign(n_pairs, 0);
    lower_.assign(n_pairs, 0);
    std::int32_t branch_node = -1;
    Side branch_side = Side::left;
    std::int64_t widest = -1;
    all_exact_ = true;
    const bool adds = adds_floats(goal);
    if (adds) terms_.start(forest_, goal[0]);
    for (std::size_t t = 0; t < forest_.roots.size(); ++t) {
      const std::int32_t top = descend(forest_, box, forest_.roots[t], restricted_, outcome_.used);
      range_.assign(n_pairs, {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()});
      best_leaf_ = -1;
      one_value_ = true;
      first_leaf_ = -1;
      walk(goal, box, top, adds ? static_cast<std::int64_t>(t) : -1);
      std::int64_t width = 0;
      for (std::size_t p = 0; p < n_pairs; ++p) {
        upper_[p] += range_[p].most;
        lower_[p] += range_[p].least;
        width = std::max(width, range_[p].most - range_[p].least);
      }
      if (!one_value_ && width > widest) {
        widest = width;
        branch_node = top;
        branch_side = best_leaf_ < forest_.nodes[top].right ? Side::left : Side::right;
      }
    }
    const std::int64_t band = all_exact_ && recorder_ == nullptr ? 0 : forest_.band;  // a proof has one band
    bool wins = true;
    for (std::size_t p = 0; p < n_pairs; ++p) {
      const std::int64_t least = forest_.least(goal[p].winner, goal[p].loser);
      if (upper_[p] < least - band) {
        if (recorder_ != nullptr) recorder_->prices(goal[p], recorder_->table({}));
        return true;
      }
      if (adds && upper_[p] < least + band && terms_.never_wins(goal[p])) {
        outcome_.near_tie = true;
        return true;
      }
      wins = wins && lower_[p] >= least + band;
    }
    if (wins || branch_node < 0) {
      std::vector<Cell> point = box.first_point(forest_);
      const int label = forest_.label(point);
      if (claim_.violated_by(label) && !keeps_clauses(forest_, point)) {
        const Literal& literal = open_literal(forest_, box, point);
        for (const bool truth : {false, true}) {
          open.push_back(box);
          restrict(forest_, open.back(), literal, truth);
        }
        if (recorder_ != nullptr) recorder_->split(open.back(), literal.feature);
        return true;
      }
      if (claim_.violated_by(label)) {
        outcome_.status = Status::refuted;
        outcome_.witness = std::move(point);
        outcome_.label = label;
        outcome_.near_tie = !wins;
        return false;
      }
      if (pair_only_) {  // these two sums do not decide, or the box would be closed: a softmax may make them equal
        pair_only_ = false;
        return examine_rest(goal, std::move(box), open);
      }
      outcome_.near_tie = true;  // every tree has one value left, so no point of the box has another label (or wins)
      if (recorder_ != nullptr) recorder_->evaluated();
      return true;
    }
    const Side other = branch_side == Side::left ? Side::right : Side::left;
    for (const Side side : {other, branch_side}) {  // the promising side is on top of the stack
      open.push_back(box);
      open.back().restrict(forest_, branch_node, side);
    }
    if (recorder_ != nullptr) recorder_->split(open.back(), forest_.nodes[branch_node].feature);
    return true;
  }

  // Whether the model's own sums of the least and the most that trees can add may close a box. A record does not state
  // such a step.
  bool adds_floats(const std::vector<Pair>& goal) const {
    return recorder_ == nullptr && forest_.band > 0 && forest_.sums.sigmoid == 0 &&
           (goal.size() == 1 || (forest_.sums.cut && !goal.empty()));
  }

  // Collect the range of every pair over the leaves below `node` that the box reaches; of a tree, unless that is -1,
  // the range of its terms as well.
  void walk(const std::vector<Pair>& goal, const Box& box, std::int32_t node, std::int64_t tree) {
    pending_.assign(1, node);
    while (!pending_.empty()) {
      node = descend(forest_, box, pending_.back(), restricted_, outcome_.used);
      pending_.pop_back();
      if (forest_.nodes[node].feature >= 0) {
        pending_.push_back(forest_.nodes[node].right);
        pending_.push_back(forest_.nodes[node].left);
      } else {
        meet(goal, node);
        if (tree >= 0) terms_.meet(static_cast<std::size_t>(tree), node);
      }
    }
  }

  void meet(const std::vector<Pair>& goal, std::int32_t node) {
    all_exact_ = all_exact_ && forest_.is_exact(node);
    if (first_leaf_ < 0) first_leaf_ = node;
    one_value_ = one_value_ && same_values(first_leaf_, node);
    const std::int64_t* score = forest_.scores_of(node);
    for (std::size_t p = 0; p < goal.size(); ++p) {
      const std::int64_t difference = score[goal[p].winner] - score[goal[p].loser];
      if (p == 0 && difference > range_[p].most) best_leaf_ = node;
      range_[p].most = std::max(range_[p].most, difference);
      range_[p].least = std::min(range_[p].least, difference);
    }
  }

  // Whether the model adds the same numbers at both leaves, those of the pair if these decide; without a band only
  // scores matter.
  bool same_values(std::int32_t one, std::int32_t other) const {
    if (pair_only_) {
      const std::size_t n_sums = forest_.sums.start.size();
      const double *const a = &forest_.values[static_cast<std::size_t>(one) * n_sums],
                          *const b = &forest_.values[static_cast<std::size_t>(other) * n_sums];
      return a[pair_.winner] == b[pair_.winner] && a[pair_.loser] == b[pair_.loser];
    }
    if (forest_.band > 0) return forest_.value_id[one] == forest_.value_id[other];
    return std::equal(forest_.scores_of(one), forest_.scores_of(one) + forest_.n_classes, forest_.scores_of(other));
  }

  const Forest& forest_;
  const Box& start_;
  const Claim claim_;
  const std::vector<std::uint8_t>& restricted_;
  const Poll& must_stop_;
  Outcome& outcome_;
  Recorder* const recorder_;
  std::vector<std::int64_t> upper_, lower_;
  std::vector<Range> range_;
  Terms terms_;
  std::vector<std::int32_t> pending_;
  std::int32_t best_leaf_ = -1, first_leaf_ = -1;
  bool one_value_ = true, all_exact_ = true;  // the tree at hand; all trees
  bool pair_only_ = false;  // values of the goal's pair alone are looked at
  Pair pair_{};
};

// The goals of which one must be reached to violate the claim.
std::vector<std::vector<Pair>> goals_of(const Forest& forest, Claim claim) {
  std::vector<std::vector<Pair>> beats_label;
  std::vector<Pair> label_beats_all;
  for (int k = 0; k < forest.n_classes; ++k) {
    if (k == claim.label || !forest.are_rivals(k, claim.label)) continue;
    beats_label.push_back({{k, claim.label}});
    label_beats_all.push_back({claim.label, k});
  }
  if (claim.kind == ClaimKind::never) return {label_beats_all};
  return beats_label;
}

}  // namespace

Outcome decide_plainly(const Forest& forest, const Box& box, Claim claim, const Poll& must_stop) {
  Outcome outcome;
  outcome.used.assign(forest.n_features, 0);
  outcome.used_clauses.assign(forest.clauses.size(), 0);
  std::vector<std::uint8_t> restricted(forest.n_features);
  for (int f = 0; f < forest.n_features; ++f) restricted[f] = !box.is_full(forest, f);
  for (const std::vector<Pair>& goal : goals_of(forest, claim))
    if (!close_plainly(forest, box, goal, claim, restricted, must_stop, outcome)) break;
  return outcome;
}

bool close_plainly(const Forest& forest, const Box& box, const std::vector<Pair>& goal, Claim claim,
                   const std::vector<std::uint8_t>& restricted, const Poll& must_stop, Outcome& outcome,
                   Recorder* recorder) {
  return Search(forest, box, claim, restricted, must_stop, outcome, recorder).closes(goal);
}

}  // namespace treeproof
