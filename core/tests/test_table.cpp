// Which forests get a table.
#include "../table.hpp"
#include "checks.hpp"

namespace treeproof::testing {

// Tables of large spaces would take long to make.
void check_limits_of_tables() {
  const auto forest_of = [](int n_features, int n_trees, int n_clauses) {
    Forest forest;
    forest.n_features = n_features;
    forest.n_classes = 2;
    forest.n_cells.assign(n_features, 2);
    forest.ordered.assign(n_features, 1);
    std::vector<std::int64_t> scores;
    for (int t = 0; t < n_trees; ++t) {
      const std::int32_t root = 3 * t;
      forest.roots.push_back(root);
      forest.nodes.insert(forest.nodes.end(), {{0, 0, root + 1, root + 2}, {-1, -1, -1, -1}, {-1, -1, -1, -1}});
      scores.insert(scores.end(), {0, 0, 1, 0, 0, 1});
      forest.exact.insert(forest.exact.end(), {0, 1, 1});
    }
    for (int k = 0; k < n_clauses; ++k) forest.clauses.push_back({{0, 0, k == 0 ? 0 : 1, false, 0}});
    forest.scores = std::move(scores);
    forest.derive();
    return forest;
  };
  CHECK(Table::make(forest_of(13, 1, 0)) == nullptr, "no table of 8,192 points");
  CHECK(Table::make(forest_of(12, 129, 0)) == nullptr, "no table of 4,096 points and 129 trees");
  CHECK(Table::make(forest_of(12, 128, 0)) != nullptr, "a table of 4,096 points and 128 trees");
  CHECK(Table::make(forest_of(2, 1, 65)) == nullptr, "no table of 65 clauses");
  const Forest forest = forest_of(2, 1, 64);
  const Outcome outcome = Table::make(forest)->decide(Box::full(forest), {ClaimKind::stays, 0}, {0, 0});
  Flags only_the_first(64, 0);
  only_the_first[0] = 1;
  CHECK(outcome.status == Status::entailed && outcome.used_clauses == only_the_first, "one of 64 clauses is used");
  CHECK(outcome.boxes == 1, "a table looks at one box");
}

}  // namespace treeproof::testing
