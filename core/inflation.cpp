#include "inflation.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "clauses.hpp"

namespace treeproof {
namespace {

constexpr std::size_t kShifted = 10;  // earlier witnesses that are moved beside the box and tried again
constexpr int kMostPatience = 1 << 20;
constexpr int kUnlimited = std::numeric_limits<int>::max();

// The cells of a feature above the box (1), those below it (-1), or the values that are not in it (0).
struct Step {
  std::int32_t feature;
  int direction;
};

// A witness is found soon, if there is one, and a proof takes long. So a step takes all cells for which a short search
// finds no witness, and one proof then serves many steps: if the whole guess entails the claim, every part of it does,
// and each cell that a step left out has a witness beside what the steps before had taken, so each step took just what
// it would have taken with a proof of its own. If the guess is refuted, the last step that the witness needs was wrong,
// or one before it; that step and the later ones are taken again, with the witness known.
class Inflater {
 public:
  Inflater(Searcher& searcher, const Forest& forest, const std::vector<Cell>& home, Claim claim, Box box,
           const std::vector<std::int32_t>& order, const Poll& must_stop, Guessing guessing)
      : searcher_(searcher),
        forest_(forest),
        home_(home),
        claim_(claim),
        must_stop_(must_stop),
        most_unproved_(guessing.most_unproved),
        guess_(std::move(box)) {
    for (const std::int32_t f : order) {
      if (forest.ordered[f]) {
        steps_.push_back({f, 1});
        steps_.push_back({f, -1});
      } else {
        steps_.push_back({f, 0});
      }
    }
    witnesses_of_.resize(steps_.size());
    believed_.resize(steps_.size());
    patience_.assign(steps_.size(), guessing.patience);
    result_.box = guess_;
    result_.used_clauses.assign(forest.clauses.size(), 0);
  }

  Inflation run() {
    for (std::size_t next = 0;;) {
      while (next < steps_.size() && unproved_ < most_unproved_) {
        if (!take(next)) return std::move(result_);
        ++next;
      }
      if (unproved_ == 0) return std::move(result_);
      Outcome outcome = ask(guess_, kUnlimited);
      if (over_) return std::move(result_);
      if (outcome.status == Status::entailed) {
        unproved_ = 0;
        result_.box = guess_;
        continue;
      }
      ++result_.retaken;
      next = last_step_of(outcome.witness);
      for (std::size_t i = next; i < steps_.size(); ++i) take_back(steps_[i]);
      unproved_ = static_cast<int>(
          std::count_if(steps_.begin(), steps_.end(), [&](Step step) { return !within(step, guess_, result_.box); }));
      approach(steps_[next], outcome.witness);
      remember(next, outcome.witness);
      believed_[next].reset();
      patience_[next] = std::min(2 * patience_[next] + 1, kMostPatience);
    }
  }

 private:
  // Let the guess take the cells of a step that no witness excludes; false when the time is up.
  bool take(std::size_t i) {
    const Step step = steps_[i];
    Box beside = cells_beside(step);
    for (const std::vector<Cell>& witness : witnesses_of_[i])
      if (contains(beside, witness, step.feature)) exclude(step, beside, witness[step.feature]);
    shift_witnesses(i, beside);
    while (any(step, beside)) {
      if (believed_[i] && within(step, beside, *believed_[i])) {  // by an earlier guess; it will be proved anyway
        ++unproved_;
        break;
      }
      Outcome outcome = ask(beside, patience_[i]);
      if (over_) return false;
      if (outcome.status == Status::refuted) {
        approach(step, outcome.witness);
        exclude(step, beside, outcome.witness[step.feature]);
        remember(i, outcome.witness);
        continue;
      }
      unproved_ += outcome.status == Status::stopped;
      break;
    }
    join(step, beside);
    believed_[i] = guess_;
    if (unproved_ == 0) result_.box = guess_;
    return true;
  }

  // Earlier witnesses, moved into the guess but for the feature of the step, are often witnesses again.
  void shift_witnesses(std::size_t i, Box& beside) {
    const Step step = steps_[i];
    const int f = step.feature;
    const std::size_t n = std::min(kShifted, witnesses_.size());
    for (std::size_t k = 0; k < n && any(step, beside); ++k) {
      const std::vector<Cell>& witness = witnesses_[witnesses_.size() - 1 - k];
      std::vector<Cell> point = witness;
      for (int g = 0; g < forest_.n_features; ++g) point[g] = nearest(guess_, g, witness[g]);
      std::vector<Cell> tried{witness[f]};
      if (!has(beside, f, witness[f])) {
        tried = step.direction == 0 ? std::vector<Cell>{beside.first_point(forest_)[f]}
                                    : std::vector<Cell>{far_end(step, beside), near_end(step, beside)};
      }
      for (const Cell cell : tried) {
        point[f] = cell;
        if (!violates(point)) continue;
        approach(step, point);
        exclude(step, beside, point[f]);
        witnesses_of_[i].push_back(point);
        ++result_.tally.remembered;
        break;
      }
    }
  }

  // Move a witness towards the box, so that it excludes more. Halving may miss the nearest one, but takes few steps.
  void approach(Step step, std::vector<Cell>& witness) {
    if (step.direction == 0) return;
    Cell& cell = witness[step.feature];
    Cell good = cell;
    Cell inside = step.direction > 0 ? guess_.high[step.feature] : guess_.low[step.feature];
    cell = inside + step.direction;  // first: many ends cannot move at all
    while (std::abs(good - inside) > 1) {
      (violates(witness) ? good : inside) = cell;
      cell = inside + (good - inside) / 2;
    }
    cell = good;
  }

  // The last step without which the witness would not be in the guess.
  std::size_t last_step_of(const std::vector<Cell>& witness) const {
    for (std::size_t i = steps_.size(); i-- > 0;) {
      const auto [f, direction] = steps_[i];
      const Cell cell = witness[f];
      if (direction > 0   ? cell > result_.box.high[f]
          : direction < 0 ? cell < result_.box.low[f]
                          : !has(result_.box, f, cell))
        return i;
    }
    return 0;  // not reached: the box without any step was proved
  }

  void remember(std::size_t i, const std::vector<Cell>& witness) {
    witnesses_of_[i].push_back(witness);
    witnesses_.push_back(witness);
  }

  Outcome ask(const Box& box, int patience) {
    int polls = 0;
    const Poll must_stop = [&] {
      over_ = over_ || must_stop_();  // asked only until it says so: an interrupt is seen once
      return over_ || ++polls > patience;
    };
    const auto began = std::chrono::steady_clock::now();
    Outcome outcome = searcher_.decide(box, claim_, home_, must_stop);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (over_) {
      ++result_.tally.unknown;
      result_.widest = false;
      return outcome;
    }
    result_.tally.count(outcome, seconds);
    if (outcome.status == Status::entailed)
      for (std::size_t c = 0; c < forest_.clauses.size(); ++c) result_.used_clauses[c] |= outcome.used_clauses[c];
    return outcome;
  }

  bool violates(const std::vector<Cell>& point) const {
    return claim_.violated_by(forest_.label(point)) && keeps_clauses(forest_, point);
  }

  bool has(const Box& box, int f, Cell cell) const {
    if (forest_.ordered[f]) return box.low[f] <= cell && cell <= box.high[f];
    return (box.sets[forest_.words_begin[f] + cell / 64] >> (cell % 64)) & 1U;
  }

  // Whether the box has all cells of the point but perhaps that of one feature.
  bool contains(const Box& box, const std::vector<Cell>& point, int but) const {
    for (int f = 0; f < forest_.n_features; ++f)
      if (f != but && !has(box, f, point[f])) return false;
    return true;
  }

  Cell nearest(const Box& box, int f, Cell cell) const {
    if (forest_.ordered[f]) return std::clamp(cell, box.low[f], box.high[f]);
    return has(box, f, cell) ? cell : home_[f];
  }

  // The guess with all cells on the other side of its end, or all other values, in place of its own.
  Box cells_beside(Step step) const {
    const int f = step.feature;
    Box beside = guess_;
    beside.free(forest_, f);
    if (step.direction > 0) {
      beside.low[f] = guess_.high[f] + 1;
    } else if (step.direction < 0) {
      beside.high[f] = guess_.low[f] - 1;
    } else {
      for (std::size_t w = forest_.words_begin[f]; w < forest_.words_begin[f + 1]; ++w)
        beside.sets[w] &= ~guess_.sets[w];
    }
    return beside;
  }

  static Cell far_end(Step step, const Box& box) {
    return step.direction > 0 ? box.high[step.feature] : box.low[step.feature];
  }
  static Cell near_end(Step step, const Box& box) {
    return step.direction > 0 ? box.low[step.feature] : box.high[step.feature];
  }

  bool any(Step step, const Box& beside) const {
    const int f = step.feature;
    if (step.direction != 0) return beside.low[f] <= beside.high[f];
    return std::any_of(beside.sets.begin() + forest_.words_begin[f], beside.sets.begin() + forest_.words_begin[f + 1],
                       [](Word word) { return word != 0; });
  }

  // A cell with a witness cannot be taken, nor those beyond it.
  void exclude(Step step, Box& beside, Cell cell) const {
    const int f = step.feature;
    if (step.direction > 0) {
      beside.high[f] = std::min(beside.high[f], cell - 1);
    } else if (step.direction < 0) {
      beside.low[f] = std::max(beside.low[f], cell + 1);
    } else {
      beside.sets[forest_.words_begin[f] + cell / 64] &= ~(Word{1} << (cell % 64));
    }
  }

  // Whether the cells of a step are all in the box.
  bool within(Step step, const Box& beside, const Box& box) const {
    const int f = step.feature;
    if (step.direction > 0) return beside.high[f] <= box.high[f];
    if (step.direction < 0) return beside.low[f] >= box.low[f];
    for (std::size_t w = forest_.words_begin[f]; w < forest_.words_begin[f + 1]; ++w)
      if ((beside.sets[w] & ~box.sets[w]) != 0) return false;
    return true;
  }

  void join(Step step, const Box& beside) {
    const int f = step.feature;
    if (step.direction > 0) {
      guess_.high[f] = std::max(guess_.high[f], beside.high[f]);
    } else if (step.direction < 0) {
      guess_.low[f] = std::min(guess_.low[f], beside.low[f]);
    } else {
      for (std::size_t w = forest_.words_begin[f]; w < forest_.words_begin[f + 1]; ++w)
        guess_.sets[w] |= beside.sets[w];
    }
  }

  void take_back(Step step) {
    const int f = step.feature;
    const Box& proved = result_.box;
    if (step.direction > 0) {
      guess_.high[f] = proved.high[f];
    } else if (step.direction < 0) {
      guess_.low[f] = proved.low[f];
    } else {
      std::copy(proved.sets.begin() + forest_.words_begin[f], proved.sets.begin() + forest_.words_begin[f + 1],
                guess_.sets.begin() + forest_.words_begin[f]);
    }
  }

  Searcher& searcher_;
  const Forest& forest_;
  const std::vector<Cell>& home_;
  const Claim claim_;
  const Poll& must_stop_;
  const int most_unproved_;
  std::vector<Step> steps_;
  Box guess_;
  int unproved_ = 0;  // guesses since the last proof
  bool over_ = false;
  std::vector<std::vector<Cell>> witnesses_;                  // the oracle's, in order
  std::vector<std::vector<std::vector<Cell>>> witnesses_of_;  // per step: points beside the box that ended it
  std::vector<std::optional<Box>> believed_;                  // per step: the guess when it was last taken
  std::vector<int> patience_;                                 // per step
  Inflation result_;
};

}  // namespace

Inflation inflate(Searcher& searcher, const Forest& forest, const std::vector<Cell>& home, Claim claim, Box box,
                  const std::vector<std::int32_t>& order, const Poll& must_stop, Guessing guessing) {
  return Inflater(searcher, forest, home, claim, std::move(box), order, must_stop, guessing).run();
}

}  // namespace treeproof
