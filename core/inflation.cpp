#include "inflation.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "sweep.hpp"

namespace treeproof {
namespace {

constexpr std::size_t kShifted = 10;  // earlier witnesses that are moved beside the box and tried again
constexpr int kShares = 64;
constexpr std::uint64_t kQueriesOfBalance = 4;  // that may take the work of all, if it is limited
constexpr int kMostPatience = 1 << 20;
constexpr int kUnlimited = std::numeric_limits<int>::max();

// Which cells of a feature may join the box: those above it, those below it, the values that are not in it; of a gapped
// feature also missing values, and the lowest number that can join where there was none.
enum class Move { up, down, value, missing, number };

struct Step {
  std::int32_t feature;
  Move move;
};

// A witness is found soon, if there is one, and a proof takes long. So a step takes all cells for which a short search
// finds no witness, and one proof then serves many steps: if the whole guess entails the claim, every part of it does,
// and each cell that a step left out has a witness beside what the steps before had taken, so each step took just what
// it would have taken with a proof of its own. If the guess is refuted, the last step that the witness needs was wrong,
// or one before it; that step and the later ones are taken again, with the witness known.
class Inflater {
 public:
  Inflater(Searcher& searcher, const Forest& forest, const std::vector<Cell>& home, Claim claim, Box box,
           const std::vector<std::int32_t>& order, const Poll& must_stop, std::uint64_t most_work, Guessing guessing)
      : searcher_(searcher),
        forest_(forest),
        home_(home),
        claim_(claim),
        must_stop_(must_stop),
        most_work_(most_work),
        most_unproved_(guessing.most_unproved),
        sweep_(forest, claim),
        shifted_(kShifted, sweep_),
        shifted_from_(kShifted, 0),
        guess_(std::move(box)) {
    for (const std::int32_t f : order) {
      if (!forest.ordered[f] && !forest.gapped[f]) {
        steps_.push_back({f, Move::value});
        continue;
      }
      if (!guess_.has_numbers(f)) steps_.push_back({f, Move::number});
      steps_.push_back({f, Move::up});
      steps_.push_back({f, Move::down});
      if (forest.gapped[f]) steps_.push_back({f, Move::missing});
    }
    witnesses_of_.resize(steps_.size());
    believed_.resize(steps_.size());
    known_.resize(steps_.size());
    patience_.assign(steps_.size(), guessing.patience);
    first_number_.assign(forest.n_features, 0);
    result_.box = guess_;
    result_.used_clauses.assign(forest.clauses.size(), 0);
  }

  Inflation run() {
    if (!steps_.empty() && !balance()) return std::move(result_);
    for (std::size_t next = 0;;) {
      while (next < steps_.size() && unproved_ < std::min(at_once_, most_unproved_)) {
        if (!take(next)) return std::move(result_);
        ++next;
      }
      if (unproved_ == 0) return std::move(result_);
      Outcome outcome = ask(guess_, kUnlimited);
      if (over_) return std::move(result_);
      if (outcome.status == Status::entailed) {
        unproved_ = 0;
        at_once_ = std::min(2 * at_once_, most_unproved_);
        result_.box = guess_;
        continue;
      }
      ++result_.retaken;
      put_back(outcome.witness);
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
  // Move all ends outward by the largest share of what lies beyond them that is found to hold; false when it is over.
  bool balance() {
    const Box start = guess_;
    int share = 0;
    for (int more = kShares / 2; more > 0; more /= 2) {
      Box wider = start;
      for (const auto [f, move] : steps_) {
        if ((move != Move::up && move != Move::down) || !start.has_numbers(f)) continue;
        const Cell last = forest_.gapped[f] ? forest_.missing_cell(f) - 1 : forest_.n_cells[f] - 1;
        wider.low[f] = start.low[f] - part(start.low[f], share + more);
        wider.high[f] = start.high[f] + part(last - start.high[f], share + more);
      }
      if (wider.low != guess_.low || wider.high != guess_.high) {
        if (std::any_of(witnesses_.begin(), witnesses_.end(),
                        [&](const std::vector<Cell>& witness) { return contains(wider, witness); }))
          continue;
        Outcome outcome = ask(wider, kUnlimited, most_work_ / kQueriesOfBalance);
        if (over_) return false;
        if (outcome.status == Status::refuted) witnesses_.push_back(std::move(outcome.witness));
        if (outcome.status != Status::entailed) continue;
        result_.box = guess_ = wider;
      }
      share += more;
    }
    return true;
  }

  static Cell part(Cell cells, int share) { return static_cast<Cell>(std::int64_t{cells} * share / kShares); }

  // Let the guess take the cells of a step that no witness excludes; false when the time is up.
  bool take(std::size_t i) {
    const Step step = steps_[i];
    Cell number = 0;
    Box beside = cells_beside(step, number);
    if (!narrow(i, beside)) return false;
    while (step.move == Move::number && !any(step, beside) && ++number < forest_.missing_cell(step.feature)) {
      beside = cells_beside(step, number);
      if (!narrow(i, beside)) return false;
    }
    join(step, beside);
    believed_[i] = guess_;
    known_[i] = witnesses_.size();
    if (unproved_ == 0) result_.box = guess_;
    return true;
  }

  // Leave the cells that no witness excludes; false when the time is up.
  bool narrow(std::size_t i, Box& beside) {
    const Step step = steps_[i];
    for (const std::vector<Cell>& witness : witnesses_of_[i])
      if (contains(beside, witness)) exclude(step, beside, witness[step.feature]);
    const bool believed = believed_[i] && within(step, beside, *believed_[i]);
    shift_witnesses(i, believed ? known_[i] : 0, beside);
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
    return true;
  }

  // Earlier witnesses, the last ones of those from the `first` on, moved into the guess but for the feature of the
  // step, are often witnesses again.
  void shift_witnesses(std::size_t i, std::size_t first, Box& beside) {
    const Step step = steps_[i];
    const int f = step.feature;
    first = std::max(first, witnesses_.size() - std::min(witnesses_.size(), kShifted));
    for (std::size_t k = witnesses_.size(); k-- > first && any(step, beside);) {
      const std::vector<Cell>& witness = witnesses_[k];
      Sweep& shifted = shift(k);
      std::optional<Cell> cell;
      if (step.move == Move::up || step.move == Move::down) {
        const bool up = step.move == Move::up;
        cell = shifted.nearest_violation(f, up ? beside.low[f] : beside.high[f], up ? beside.high[f] : beside.low[f]);
      } else {
        shifted.move(f, beside.has(forest_, f, witness[f]) ? witness[f] : beside.first_point(forest_)[f]);
        if (shifted.violates()) cell = shifted.point()[f];
      }
      if (!cell) continue;
      exclude(step, beside, *cell);
      witnesses_of_[i].push_back(shifted.point());
      witnesses_of_[i].back()[f] = *cell;
      ++result_.tally.remembered;
    }
  }

  // A witness moved into the guess. What was moved there before is moved on from there: guesses differ by little.
  Sweep& shift(std::size_t k) {
    const std::size_t place = k % kShifted;
    Sweep& shifted = shifted_[place];
    if (std::exchange(shifted_from_[place], k + 1) != k + 1) {
      std::vector<Cell> point(witnesses_[k]);
      for (int f = 0; f < forest_.n_features; ++f) point[f] = nearest(guess_, f, point[f]);
      shifted.start(std::move(point));
      return shifted;
    }
    for (int f = 0; f < forest_.n_features; ++f) {
      const Cell cell = nearest(guess_, f, witnesses_[k][f]);
      if (cell != shifted.point()[f]) shifted.move(f, cell);
    }
    return shifted;
  }

  // Move a witness towards the box as far as it stays one, so that it excludes more.
  void approach(Step step, std::vector<Cell>& witness) {
    if (step.move != Move::up && step.move != Move::down) return;
    const int f = step.feature;
    sweep_.start(witness);
    const Cell first = step.move == Move::up ? guess_.high[f] + 1 : guess_.low[f] - 1;
    witness[f] = *sweep_.nearest_violation(f, first, witness[f]);
  }

  // Put the features of a witness back into the proved box, those of the last steps first, as far as it stays one: what
  // is left shows the earliest wrong step, and stays true when later ones are taken again.
  void put_back(std::vector<Cell>& witness) {
    sweep_.start(std::move(witness));
    for (std::size_t i = steps_.size(); i-- > 0;) {
      const int f = steps_[i].feature;
      const Cell now = sweep_.point()[f], proved = nearest(result_.box, f, now);
      if (now == proved) continue;
      sweep_.move(f, proved);
      if (!sweep_.violates()) sweep_.move_back();
    }
    witness = sweep_.point();
  }

  // The last step without which the witness would not be in the guess.
  std::size_t last_step_of(const std::vector<Cell>& witness) const {
    for (std::size_t i = steps_.size(); i-- > 0;) {
      const auto [f, move] = steps_[i];
      const Cell cell = witness[f];
      const bool missing = forest_.gapped[f] && cell == forest_.missing_cell(f);
      const bool needed = move == Move::up     ? !missing && cell > top(result_.box, f)
                          : move == Move::down ? !missing && cell < bottom(result_.box, f)
                          : move == Move::number
                              ? !missing && !result_.box.has_numbers(f)
                              : missing == (move == Move::missing) && !result_.box.has(forest_, f, cell);
      if (needed) return i;
    }
    return 0;  // not reached: the box without any step was proved
  }

  void remember(std::size_t i, const std::vector<Cell>& witness) {
    witnesses_of_[i].push_back(witness);
    witnesses_.push_back(witness);
  }

  Outcome ask(const Box& box, int patience, std::uint64_t most_work = kAnyWork) {
    int polls = 0;
    const Poll must_stop = [&] {
      result_.stopped = result_.stopped || must_stop_();  // asked only until it says so: an interrupt is seen once
      over_ = over_ || result_.stopped || result_.tally.work + searcher_.work() >= most_work_;
      return over_ || ++polls > patience || searcher_.work() >= most_work;
    };
    const auto began = std::chrono::steady_clock::now();
    Outcome outcome = searcher_.decide(box, claim_, home_, must_stop);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    result_.tally.count(outcome, seconds);
    if (over_) {
      result_.tally.unknown += result_.stopped;
      result_.widest = false;
      return outcome;
    }
    if (outcome.status == Status::entailed)
      for (std::size_t c = 0; c < forest_.clauses.size(); ++c) result_.used_clauses[c] |= outcome.used_clauses[c];
    return outcome;
  }

  bool contains(const Box& box, const std::vector<Cell>& point) const {
    for (int f = 0; f < forest_.n_features; ++f)
      if (!box.has(forest_, f, point[f])) return false;
    return true;
  }

  Cell nearest(const Box& box, int f, Cell cell) const {
    if (box.has(forest_, f, cell)) return cell;
    const bool number = forest_.ordered[f] || (forest_.gapped[f] && cell < forest_.missing_cell(f));
    return number && box.has_numbers(f) ? std::clamp(cell, box.low[f], box.high[f]) : home_[f];
  }

  // The guess with the cells that a step may take, in place of its own; of a first number, the one at hand.
  Box cells_beside(Step step, Cell number) const {
    const int f = step.feature;
    Box beside = guess_;
    beside.free(forest_, f);
    beside.missing[f] = step.move == Move::missing && !guess_.missing[f];
    if (step.move == Move::missing || (forest_.gapped[f] && guess_.has_numbers(f) == (step.move == Move::number))) {
      beside.remove_numbers(f);
    } else if (step.move == Move::number) {
      beside.low[f] = beside.high[f] = number;
    } else if (step.move == Move::up) {
      beside.low[f] = guess_.high[f] + 1;
    } else if (step.move == Move::down) {
      beside.high[f] = guess_.low[f] - 1;
    } else {
      for (std::size_t w = forest_.words_begin[f]; w < forest_.words_begin[f + 1]; ++w)
        beside.sets[w] &= ~guess_.sets[w];
    }
    return beside;
  }

  // The ends of the numbers in a box, or of the first number that the guess took.
  Cell top(const Box& box, int f) const { return box.has_numbers(f) ? box.high[f] : first_number_[f]; }
  Cell bottom(const Box& box, int f) const { return box.has_numbers(f) ? box.low[f] : first_number_[f]; }

  bool any(Step step, const Box& beside) const {
    const int f = step.feature;
    if (step.move == Move::missing) return beside.missing[f];
    if (step.move != Move::value) return beside.has_numbers(f);
    return std::any_of(beside.sets.begin() + forest_.words_begin[f], beside.sets.begin() + forest_.words_begin[f + 1],
                       [](Word word) { return word != 0; });
  }

  // A cell with a witness cannot be taken, nor those beyond it.
  void exclude(Step step, Box& beside, Cell cell) const {
    const int f = step.feature;
    switch (step.move) {
      case Move::up:
        beside.high[f] = std::min(beside.high[f], cell - 1);
        break;
      case Move::number:
        if (beside.low[f] == cell) beside.remove_numbers(f);
        break;
      case Move::down:
        beside.low[f] = std::max(beside.low[f], cell + 1);
        break;
      case Move::missing:
        beside.missing[f] = 0;
        break;
      case Move::value:
        beside.sets[forest_.words_begin[f] + cell / 64] &= ~(Word{1} << (cell % 64));
    }
  }

  // Whether what a step took of one box is all in another.
  bool within(Step step, const Box& taken, const Box& box) const {
    const int f = step.feature;
    switch (step.move) {
      case Move::up:
        return !taken.has_numbers(f) || taken.high[f] <= top(box, f);
      case Move::down:
        return !taken.has_numbers(f) || taken.low[f] >= bottom(box, f);
      case Move::number:
        return !taken.has_numbers(f) || box.has_numbers(f);
      case Move::missing:
        return !taken.missing[f] || box.missing[f];
      case Move::value:
        break;
    }
    for (std::size_t w = forest_.words_begin[f]; w < forest_.words_begin[f + 1]; ++w)
      if ((taken.sets[w] & ~box.sets[w]) != 0) return false;
    return true;
  }

  void join(Step step, const Box& beside) {
    const int f = step.feature;
    if (!any(step, beside)) return;
    switch (step.move) {
      case Move::up:
        guess_.high[f] = beside.high[f];
        break;
      case Move::down:
        guess_.low[f] = beside.low[f];
        break;
      case Move::number:
        guess_.low[f] = guess_.high[f] = first_number_[f] = beside.low[f];
        break;
      case Move::missing:
        guess_.missing[f] = 1;
        break;
      case Move::value:
        for (std::size_t w = forest_.words_begin[f]; w < forest_.words_begin[f + 1]; ++w)
          guess_.sets[w] |= beside.sets[w];
    }
  }

  void take_back(Step step) {
    const int f = step.feature;
    const Box& proved = result_.box;
    switch (step.move) {
      case Move::up:
        if (guess_.has_numbers(f)) guess_.high[f] = top(proved, f);
        break;
      case Move::down:
        if (guess_.has_numbers(f)) guess_.low[f] = bottom(proved, f);
        break;
      case Move::number:
        if (!proved.has_numbers(f)) guess_.remove_numbers(f);
        break;
      case Move::missing:
        guess_.missing[f] = proved.missing[f];
        break;
      case Move::value:
        std::copy(proved.sets.begin() + forest_.words_begin[f], proved.sets.begin() + forest_.words_begin[f + 1],
                  guess_.sets.begin() + forest_.words_begin[f]);
    }
  }

  Searcher& searcher_;
  const Forest& forest_;
  const std::vector<Cell>& home_;
  const Claim claim_;
  const Poll& must_stop_;
  const std::uint64_t most_work_;
  const int most_unproved_;
  std::vector<Step> steps_;
  Sweep sweep_;
  std::vector<Sweep> shifted_;  // the last witnesses, each moved into the guess,
  std::vector<std::size_t> shifted_from_;  // and which they are, from 1 on
  Box guess_;
  int unproved_ = 0;  // guesses since the last proof
  int at_once_ = 4;   // guesses after which they are proved; early proofs are easy, and kept when the time is up
  bool over_ = false;
  std::vector<std::vector<Cell>> witnesses_;                  // the oracle's, in order
  std::vector<std::vector<std::vector<Cell>>> witnesses_of_;  // per step: points beside the box that ended it
  std::vector<std::optional<Box>> believed_;                  // per step: the guess when it was last taken
  std::vector<std::size_t> known_;                            // per step: how many witnesses there were then
  std::vector<int> patience_;                                 // per step
  std::vector<Cell> first_number_;                            // per gapped feature: where numbers began to join
  Inflation result_;
};

}  // namespace

Inflation inflate(Searcher& searcher, const Forest& forest, const std::vector<Cell>& home, Claim claim, Box box,
                  const std::vector<std::int32_t>& order, const Poll& must_stop, std::uint64_t most_work,
                  Guessing guessing) {
  return Inflater(searcher, forest, home, claim, std::move(box), order, must_stop, most_work, guessing).run();
}

}  // namespace treeproof
