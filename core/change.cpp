#include "change.hpp"

#include <chrono>
#include <utility>

#include "clauses.hpp"

namespace treeproof {
namespace {

// Whether sums of scores alone, outside the rounding band, show that a point violates the claim.
bool violates_surely(const Forest& forest, Claim claim, const std::vector<Cell>& point) {
  if (forest.band == 0) return claim.violated_by(forest.label(point));
  if (claim.kind != ClaimKind::stays) return false;
  const std::vector<std::int64_t> sums = forest.total_scores(point);
  for (int k = 0; k < forest.n_classes; ++k)
    if (k != claim.label && sums[k] - sums[claim.label] >= forest.least(k, claim.label) + forest.band) return true;
  return false;
}

}  // namespace

Change change_features(Searcher& searcher, const Forest& forest, const std::vector<Cell>& point, Claim claim,
                       const std::vector<std::int32_t>& order, const std::vector<std::uint8_t>& start,
                       const std::vector<std::uint8_t>& unasked, const std::vector<Cell>& witness,
                       const Poll& must_stop) {
  Change result;
  result.freed = start;
  result.witness = witness;
  result.label = forest.label(witness);
  Box box = Box::full(forest);
  for (int f = 0; f < forest.n_features; ++f)
    if (!start[f]) box.fix(forest, f, point[f]);

  // Whether the witness with a feature put back is one too. Sums closer than rounding would go unnoticed.
  const auto does_without = [&](std::int32_t f) {
    if (result.witness[f] == point[f]) return true;
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
    if (unasked[f]) {
      box.free(forest, f);
      continue;
    }
    const auto began = std::chrono::steady_clock::now();
    Outcome outcome = searcher.decide(box, claim, point, must_stop);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    result.tally.count(outcome, seconds);
    if (outcome.status == Status::refuted) {
      result.freed[f] = 0;
      result.witness = std::move(outcome.witness);
      result.label = outcome.label;
      continue;
    }
    box.free(forest, f);
    if (outcome.status == Status::stopped) {
      ++result.tally.unknown;
      result.minimal = false;
      for (int g = 0; g < forest.n_features; ++g) result.freed[g] = result.witness[g] != point[g];
      return result;
    }
  }
  for (int g = 0; g < forest.n_features; ++g)  // a later witness may do without a feature that was not asked about
    if (unasked[g] && result.witness[g] == point[g]) result.freed[g] = 0;
  return result;
}

}  // namespace treeproof
