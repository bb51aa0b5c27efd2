#include "change.hpp"

#include <chrono>
#include <utility>

#include "clauses.hpp"
#include "sweep.hpp"

namespace treeproof {
namespace {

using Flags = std::vector<std::uint8_t>;  // per feature

// Whether sums of scores alone, outside a rounding band, show that a point violates the claim.
bool violates_surely(const Forest& forest, Claim claim, const std::vector<Cell>& point) {
  if (claim.kind != ClaimKind::stays) return false;
  const std::vector<std::int64_t> sums = forest.total_scores(point);
  for (int k = 0; k < forest.n_classes; ++k)
    if (k != claim.label && sums[k] - sums[claim.label] >= forest.least(k, claim.label) + forest.band) return true;
  return false;
}

}  // namespace

Change change_features(Searcher& searcher, const Forest& forest, const std::vector<Cell>& point, Claim claim,
                       const Box& free, const std::vector<std::int32_t>& order, const std::vector<std::uint8_t>& start,
                       const std::vector<Cell>& witness, const Thrift& thrift, const Poll& must_stop) {
  Change result;
  result.freed = start;
  result.witness = witness;
  Box box = free;
  for (int f = 0; f < forest.n_features; ++f)
    if (!start[f]) box.fix(forest, f, point[f]);

  // Ask whether the claim holds in the box; a witness that says no is kept.
  const auto ask = [&](const Poll& must_give_up) {
    const auto began = std::chrono::steady_clock::now();
    Outcome outcome = searcher.decide(box, claim, point, must_give_up);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    result.tally.count(outcome, seconds);
    if (outcome.status == Status::stopped) ++result.tally.unknown;
    if (outcome.status == Status::refuted) {
      result.witness = std::move(outcome.witness);
      result.label = outcome.label;
    }
    return outcome.status;
  };
  int steps = 0;
  bool stopped = false;
  const Poll must_give_up = [&] { return (stopped = must_stop()) || (thrift.effort > 0 && ++steps > thrift.effort); };
  // Whether the features that are not worth a question refute the claim without the others: then these are put back.
  const auto refute_alone = [&] {
    Flags alone = start;
    for (int f = 0; f < forest.n_features; ++f) alone[f] = start[f] && thrift.unasked[f];
    if (alone == start || alone == Flags(alone.size(), 0)) return false;
    const Box whole = box;
    for (int f = 0; f < forest.n_features; ++f)
      if (!alone[f]) box.fix(forest, f, point[f]);
    if (ask(must_give_up) == Status::refuted) {
      result.freed = std::move(alone);
      return true;
    }
    box = whole;
    return false;
  };
  if (witness.empty()) {
    if (!thrift.hint.empty()) searcher.suggest(thrift.hint);
    if (!refute_alone()) {
      const Status status = ask(must_stop);
      result.finished = status != Status::stopped;
      if (status != Status::refuted) return result;
    }
  } else {
    result.label = forest.label(witness);
  }

  // Whether the witness with a feature put back is one too. Sums closer than rounding would go unnoticed.
  Sweep sweep(forest, claim);
  const auto does_without = [&](std::int32_t f) {
    if (result.witness[f] == point[f]) return true;
    if (forest.band == 0) {
      if (sweep.point() != result.witness) sweep.start(result.witness);
      sweep.move(f, point[f]);
      if (!sweep.violates()) {
        sweep.move_back();
        return false;
      }
      result.witness[f] = point[f];
      result.label = sweep.label();
      return true;
    }
    const Cell now = std::exchange(result.witness[f], point[f]);
    if (violates_surely(forest, claim, result.witness) && keeps_clauses(forest, result.witness)) {
      result.label = forest.label(result.witness);
      return true;
    }
    result.witness[f] = now;
    return false;
  };

  for (const std::int32_t f : order) {
    if (!result.freed[f]) continue;
    box.fix(forest, f, point[f]);
    if (does_without(f)) {
      ++result.tally.remembered;
      result.freed[f] = 0;
      continue;
    }
    if (!thrift.unasked[f]) {
      steps = 0;
      if (ask(must_give_up) == Status::refuted) {
        result.freed[f] = 0;
        continue;
      }
    }
    box.take(forest, f, free);
    if (stopped) {
      result.finished = false;
      break;
    }
  }
  // A later witness may do without a feature that was not put back, for want of an answer.
  for (int f = 0; f < forest.n_features; ++f)
    if (result.witness[f] == point[f]) result.freed[f] = 0;
  return result;
}

}  // namespace treeproof
