#include "clauses.hpp"

#include <algorithm>
#include <cassert>

namespace treeproof {
namespace {

enum class Truth { never, always, open };

bool holds_at(const Forest& forest, const Literal& literal, Cell cell) {
  const int f = literal.feature;
  if (forest.gapped[f] && cell == forest.missing_cell(f)) return literal.missing;
  if (forest.ordered[f] || forest.gapped[f]) return literal.low <= cell && cell <= literal.high;
  return (forest.literal_sets[literal.words + cell / 64] >> (cell % 64)) & 1U;
}

Truth truth_in(const Forest& forest, const Literal& literal, const Box& box) {
  const int f = literal.feature;
  bool some = false, all = true;
  if (forest.ordered[f]) {
    some = literal.low <= box.high[f] && box.low[f] <= literal.high;
    all = literal.low <= box.low[f] && box.high[f] <= literal.high;
  } else if (forest.gapped[f]) {
    if (box.has_numbers(f)) {
      some = literal.low <= std::min(literal.high, box.high[f]) && box.low[f] <= literal.high;
      all = literal.low <= box.low[f] && box.high[f] <= literal.high;
    }
    some = some || (box.missing[f] && literal.missing);
    all = all && (!box.missing[f] || literal.missing);
  } else {
    const Word* inside = &forest.literal_sets[literal.words];
    for (std::size_t w = forest.words_begin[f]; w < forest.words_begin[f + 1]; ++w, ++inside) {
      some = some || (box.sets[w] & *inside) != 0;
      all = all && (box.sets[w] & ~*inside) == 0;
    }
  }
  return all ? Truth::always : some ? Truth::open : Truth::never;
}

}  // namespace

bool propagate(const Forest& forest, Box& box, const std::vector<std::uint8_t>& restricted,
               std::vector<std::uint8_t>& used, std::vector<std::uint8_t>& used_clauses, Recorder* recorder) {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t c = 0; c < forest.clauses.size(); ++c) {
      const Literal* last = nullptr;
      int open = 0;
      bool satisfied = false;
      for (const Literal& literal : forest.clauses[c]) {
        const Truth truth = truth_in(forest, literal, box);
        satisfied = satisfied || truth == Truth::always;
        if (truth != Truth::open) continue;
        ++open;
        last = &literal;
      }
      if (satisfied || open > 1) continue;
      used_clauses[c] = 1;
      for (const Literal& literal : forest.clauses[c]) used[literal.feature] |= restricted[literal.feature];
      if (recorder != nullptr && open > 0) {
        Box outside = box;
        restrict(forest, outside, *last, false);
        recorder->split(outside, last->feature);
      }
      if (recorder != nullptr) recorder->broken(c);
      if (open == 0) return false;
      restrict(forest, box, *last, true);
      changed = true;
    }
  }
  return true;
}

bool keeps_clause(const Forest& forest, const Clause& clause, const std::vector<Cell>& point) {
  return std::any_of(clause.begin(), clause.end(),
                     [&](const Literal& literal) { return holds_at(forest, literal, point[literal.feature]); });
}

bool keeps_clauses(const Forest& forest, const std::vector<Cell>& point) {
  return std::all_of(forest.clauses.begin(), forest.clauses.end(),
                     [&](const Clause& clause) { return keeps_clause(forest, clause, point); });
}

const Literal& open_literal(const Forest& forest, const Box& box, const std::vector<Cell>& point) {
  const auto broken = std::find_if(forest.clauses.begin(), forest.clauses.end(),
                                   [&](const Clause& clause) { return !keeps_clause(forest, clause, point); });
  assert(broken != forest.clauses.end());
  const auto open = std::find_if(broken->begin(), broken->end(),
                                 [&](const Literal& literal) { return truth_in(forest, literal, box) == Truth::open; });
  assert(open != broken->end());
  return *open;
}

void restrict(const Forest& forest, Box& box, const Literal& literal, bool truth) {
  const int f = literal.feature;
  if (forest.gapped[f]) box.missing[f] = box.missing[f] && literal.missing == truth;
  if (forest.gapped[f] && literal.low > literal.high) {
    if (truth) box.remove_numbers(f);
    return;
  }
  if (forest.ordered[f] || forest.gapped[f]) {
    // One end of the interval is an end of the domain, so that what is outside it is an interval too.
    if (truth) {
      box.low[f] = std::max(box.low[f], literal.low);
      box.high[f] = std::min(box.high[f], literal.high);
    } else if (literal.low == 0) {
      box.low[f] = std::max(box.low[f], literal.high + 1);
    } else {
      box.high[f] = std::min(box.high[f], literal.low - 1);
    }
    return;
  }
  const Word* inside = &forest.literal_sets[literal.words];
  for (std::size_t w = forest.words_begin[f]; w < forest.words_begin[f + 1]; ++w, ++inside)
    box.sets[w] &= truth ? *inside : ~*inside;
}

}  // namespace treeproof
