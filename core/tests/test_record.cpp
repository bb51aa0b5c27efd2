// Records of proofs, read back and checked step by step.
#include "../clauses.hpp"
#include "../lagrangian.hpp"
#include "../record.hpp"
#include "checks.hpp"

namespace treeproof::testing {

// Reads the record of a proof back: the parts must make up the box, and each must be closed as the record says.
class Record {
 public:
  Record(const Case& c, const Forest& forest, const Recorder& recorder, Claim claim)
      : c_(c), forest_(forest), recorder_(recorder), claim_(claim) {}

  void check(const Allowed& allowed) {
    std::vector<int> rivals;
    while (at_ < recorder_.steps().size()) {
      CHECK(next() == Recorder::kRival, "a part of the record starts with the class that it excludes");
      rival_ = next();
      CHECK(violates(claim_, rival_), "a class is excluded that violates the claim");
      rivals.push_back(rival_);
      check_part(allowed);
    }
    std::sort(rivals.begin(), rivals.end());
    std::vector<int> expected;
    for (int k = 0; k < forest_.n_classes; ++k)
      if (violates(claim_, k)) expected.push_back(k);
    CHECK(rivals == expected, "every class that violates the claim is excluded once");
    ++counts.records;
  }

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

  std::int32_t next() {
    CHECK(at_ < recorder_.steps().size(), "a record does not end before the box is closed");
    return recorder_.steps()[at_++];
  }

  void check_part(const Allowed& allowed) {
    ++counts.record_parts;
    switch (next()) {
      case Recorder::kOrdered: {
        const int f = next();
        const Cell low = next(), high = next();
        check_split(allowed, f, [&](Cell cell) { return low <= cell && cell <= high; });
        break;
      }
      case Recorder::kSet: {
        const int f = next();
        std::vector<std::uint32_t> halves(2 * ((static_cast<std::size_t>(forest_.n_cells[f]) + 63) / 64));
        for (std::uint32_t& half : halves) half = static_cast<std::uint32_t>(next());
        check_split(allowed, f, [&](Cell cell) { return (halves[cell / 32] >> (cell % 32)) & 1U; });
        break;
      }
      case Recorder::kPrices: {
        const int winner = next(), loser = next();
        const auto& table = recorder_.tables().at(next());
        CHECK(winner == rival_ && loser != rival_, "a bound is on the class that is excluded");
        CHECK(claim_.kind == ClaimKind::never || loser == claim_.label, "and on the label, if that shall stay");
        CHECK(loses_by_prices(allowed, {winner, loser}, table) || loses_by_sums(allowed, {winner, loser}),
              "a part said to be closed by prices is closed by them");
        break;
      }
      case Recorder::kEvaluated: {
        const std::vector<std::size_t> inside = c_.inside(allowed);  // once: it may be the whole space
        for (const std::size_t x : inside) {
          CHECK(!violates(claim_, c_.labels[x]), "a part that was evaluated keeps the claim");
          for (std::size_t t = 0; t < c_.leaves[x].size(); ++t) {
            const TwinNode &leaf = *c_.leaves[x][t], &first = *c_.leaves[inside[0]][t];
            CHECK(c_.model.band > 0 ? leaf.values == first.values : leaf.scores == first.scores,
                  "every tree has one value left in a part that was evaluated");
          }
        }
        break;
      }
      case Recorder::kBroken: {
        const Clause& clause = forest_.clauses.at(next());
        for (const std::size_t x : c_.inside(allowed))
          CHECK(!keeps(forest_, clause, c_.points[x]), "every point of a part said to break a clause breaks it");
        break;
      }
      default:
        CHECK(false, "a step of the record is known");
    }
  }

  template <typename Inside>
  void check_split(const Allowed& allowed, int f, const Inside& inside) {
    Allowed first = allowed, rest = allowed;
    std::erase_if(first[f], [&](Cell cell) { return !inside(cell); });
    std::erase_if(rest[f], inside);
    CHECK(!first[f].empty() && !rest[f].empty(), "a split has two parts");
    check_part(first);
    check_part(rest);
  }

  // What a leaf pays that only points with these cells reach: for each split of its tree the side that all of them
  // take.
  std::int64_t paid(const Allowed& allowed, const PlainPrices& prices, std::size_t t) const {
    std::int64_t sum = 0;
    for (std::size_t n = 0; n < c_.model.trees[t].size(); ++n) {
      const TwinNode& node = c_.model.trees[t][n];
      if (node.feature < 0) continue;
      const std::vector<Cell>& cells = allowed[node.feature];
      const auto lefts = std::count_if(cells.begin(), cells.end(), [&](Cell cell) { return node.goes_left[cell]; });
      if (lefts == static_cast<std::ptrdiff_t>(cells.size())) sum += prices.alpha[forest_.roots[t] + n];
      if (lefts == 0) sum += prices.beta[forest_.roots[t] + n];
    }
    return sum;
  }

  // The best of a tree's leaves in scaled scores, payments deducted.
  std::int64_t best(const Allowed& allowed, Pair pair, const PlainPrices& prices, std::size_t t, int n) const {
    const TwinNode& node = c_.model.trees[t][n];
    if (node.feature < 0) {
      const std::int64_t lead = node.scores[pair.winner] - node.scores[pair.loser];
      return forest_.scale.value(lead) - paid(allowed, prices, t);
    }
    std::int64_t most = kNone;
    for (const bool left : {true, false}) {
      Allowed part = allowed;
      std::erase_if(part[node.feature], [&](Cell cell) { return node.goes_left[cell] != left; });
      if (part[node.feature].empty()) continue;
      most = std::max(most, best(part, pair, prices, t, left ? node.left : node.right));
    }
    return most;
  }

  bool loses_by_prices(const Allowed& allowed, Pair pair, const std::vector<std::int32_t>& table) const {
    PlainPrices prices(c_);
    for (std::size_t i = 0; i < table.size(); i += 3) {
      CHECK(table[i + 1] != 0 || table[i + 2] != 0, "a record has no prices of 0");
      prices.alpha[table[i]] = table[i + 1];
      prices.beta[table[i]] = table[i + 2];
    }
    std::int64_t bound = 0;
    for (std::size_t t = 0; t < c_.model.trees.size(); ++t) bound += best(allowed, pair, prices, t, 0);
    for (std::size_t f = 0; f < allowed.size(); ++f) {
      std::int64_t most = 0;
      for (const Cell cell : allowed[f]) {
        std::int64_t earned = 0;
        for (std::size_t i = 0; i < table.size(); i += 3) {
          const TwinNode& node = *c_.twins[table[i]];
          if (node.feature == static_cast<int>(f)) earned += node.goes_left[cell] ? table[i + 1] : table[i + 2];
        }
        most = std::max(most, earned);
      }
      bound += most;
    }
    return bound <
           (c_.model.band > 0 ? forest_.scale.target(forest_, pair) : forest_.scale.exact_target(forest_, pair));
  }

  // In the scores themselves, each tree by itself.
  bool loses_by_sums(const Allowed& allowed, Pair pair) const {
    std::int64_t most = 0;
    const std::vector<std::size_t> inside = c_.inside(allowed);
    for (std::size_t t = 0; t < c_.model.trees.size(); ++t) {
      std::int64_t of_tree = std::numeric_limits<std::int64_t>::min();
      for (const std::size_t x : inside) {
        const TwinNode& leaf = *c_.leaves[x][t];
        of_tree = std::max(of_tree, leaf.scores[pair.winner] - leaf.scores[pair.loser]);
      }
      most += of_tree;
    }
    return most < c_.model.least(pair.winner, pair.loser) - c_.model.band;
  }

  const Case& c_;
  const Forest& forest_;
  const Recorder& recorder_;
  const Claim claim_;
  std::size_t at_ = 0;
  int rival_ = -1;
};

// Whether a search that takes one box absorbs trees there.
bool absorbs(const Case& c, const Forest& forest, Box box, Claim claim) {
  Flags used(c.model.n_cells.size(), 0), used_clauses(forest.clauses.size(), 0);
  propagate(forest, box, used, used, used_clauses);
  for (const std::vector<Pair>& pairs : goals(c, claim))
    for (const Pair pair : pairs)
      if (residual_of(c, box, pair, true).roots.size() < residual_of(c, box, pair).roots.size()) return true;
  return false;
}

// A search that writes its proof down: the same answer as without, and the record of an entailed claim proves it. With
// a band it makes no use of exact leaves, and so splits further.
void check_record(const Case& c, const Forest& forest, const Table* table, const Allowed& allowed, Claim claim,
                  const Point& home, const Outcome& expected) {
  Recorder recorder(forest);
  Searcher searcher(forest, table);
  const Outcome outcome = searcher.decide(box_of(c, allowed), claim, home, never_stop, &recorder);
  // With cuts, a record names all other classes, and a search without it the neighbours alone. In a band, a record has
  // neither exact leaves nor pairs of classes that decide by themselves. It has no absorbed trees, and makes no
  // residual forest from the one around, as a search without it does after the first box. Other boxes, other cores.
  const bool same_search = (!forest.sums.cut || forest.n_classes <= 2) && forest.band == 0 && expected.boxes <= 1 &&
                           !absorbs(c, forest, box_of(c, allowed), claim);
  CHECK(outcome.status == expected.status &&
            (!same_search || (outcome.witness == expected.witness && outcome.used == expected.used &&
                              outcome.used_clauses == expected.used_clauses && outcome.boxes == expected.boxes)),
        "a search that writes its proof down gives the same answer");
  if (outcome.status == Status::entailed) Record(c, forest, recorder, claim).check(allowed);
}

}  // namespace treeproof::testing
