// Translates between Python and the core, and nothing else. Searches run without the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "branch_and_bound.hpp"
#include "change.hpp"
#include "deletion.hpp"
#include "hitting.hpp"
#include "inflation.hpp"
#include "search.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace treeproof;

namespace {

template <typename T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename T>
std::vector<T> copy(const Array<T>& array) {
  return {array.data(), array.data() + array.size()};
}

// The array itself, which lives as long as it is in use: nobody may change it.
template <typename T>
Shared<T> share(Array<T> array) {
  const auto owner = std::make_shared<const Array<T>>(std::move(array));
  return {owner, {owner->data(), owner->size()}};
}

// The places that are set, as a list.
nb::list places(const std::vector<std::uint8_t>& flags) {
  nb::list list;
  for (std::size_t i = 0; i < flags.size(); ++i)
    if (flags[i]) list.append(i);
  return list;
}

constexpr int kDeepest = 19000;  // splits; no walk recurses, but prices get coarser with depth

struct TooDeepError : std::invalid_argument {
  TooDeepError()
      : std::invalid_argument("The native oracle takes trees of depth up to " + std::to_string(kDeepest) +
                              ". Got a deeper one.") {}
};

// Remembers about which instance its prices are; none if it was asked about several.
struct Worker : Searcher {
  using Searcher::Searcher;
  std::vector<Cell> instance;
};

// A forest, and searchers that wait for the next call: their buffers are worth keeping.
class Core {
 public:
  Core(Forest forest, bool tabulate) : forest_(std::move(forest)), table_(tabulate ? Table::make(forest_) : nullptr) {}

  const Forest& forest() const { return forest_; }

  // Ask for other leads from now on. Not while a search runs: only owners who share the forest with nobody may.
  void require(const std::vector<std::int64_t>& theta) {
    if (theta.size() != forest_.theta.size()) throw std::invalid_argument("the leads do not fit the forest");
    forest_.theta = theta;
  }

  // A searcher for one call; it goes back to the others afterwards. Safe to call from several threads. If it is to
  // `remember`, prices stay those of the last call; if that was about this very `instance`, too.
  auto borrow(bool remember = false, const std::vector<Cell>& instance = {}) {
    std::unique_ptr<Worker> worker;
    {
      const std::lock_guard lock(mutex_);
      auto chosen = std::find_if(idle_.begin(), idle_.end(),
                                 [&](const auto& idle) { return !instance.empty() && idle->instance == instance; });
      remember = remember || chosen != idle_.end();
      if (!idle_.empty()) {
        if (chosen != idle_.end()) std::swap(*chosen, idle_.back());
        worker = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (!worker) worker = std::make_unique<Worker>(forest_, table_.get());
    if (!remember) worker->forget();
    worker->instance = instance;
    const auto give_back = [this](Worker* used) {
      const std::lock_guard lock(mutex_);
      idle_.emplace_back(used);
    };
    return std::unique_ptr<Worker, decltype(give_back)>(worker.release(), give_back);
  }

 private:
  Forest forest_;
  const std::unique_ptr<const Table> table_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> idle_;
};

std::unique_ptr<Core> make_forest(
    Array<std::int32_t> n_cells, Array<std::uint8_t> ordered, Array<std::uint8_t> gapped, int n_classes,
    Array<std::int32_t> roots, Array<std::int32_t> feature, Array<std::int32_t> cut, Array<std::int32_t> left,
    Array<std::int32_t> right, Array<std::int64_t> scores, Array<std::int64_t> theta, Array<double> values,
    const std::vector<std::vector<Word>>& left_sets,
    const std::vector<std::vector<std::tuple<int, Cell, Cell, bool, std::vector<Word>>>>& clauses,
    Array<std::uint8_t> exact, std::int64_t band, int exponent, std::int64_t unit, const std::string& vote,
    const std::vector<double>& start, bool single, double divisor, const std::optional<std::vector<double>>& cuts,
    bool softmax, double sigmoid,
    const std::vector<std::tuple<int, int, std::vector<double>, double, double, bool>>& members, bool tabulate) {
  Forest forest;
  forest.n_features = static_cast<int>(n_cells.size());
  forest.n_classes = n_classes;
  forest.n_cells = copy(n_cells);
  forest.ordered = copy(ordered);
  forest.gapped = copy(gapped);
  forest.roots = copy(roots);
  forest.nodes.resize(feature.size());
  for (std::size_t n = 0; n < forest.nodes.size(); ++n) forest.nodes[n] = {feature(n), cut(n), left(n), right(n)};
  forest.scores = share(std::move(scores));
  forest.theta = copy(theta);
  forest.vote = vote == "majority" ? Vote::majority
                : vote == "mean"   ? Vote::mean
                : vote == "exact"  ? Vote::exact
                                   : Vote::sum;
  if (forest.vote == Vote::mean || forest.vote == Vote::sum) forest.values = share(std::move(values));
  if (forest.vote == Vote::sum)
    forest.sums = {start, cuts.value_or(std::vector<double>{}), divisor, single, softmax, cuts.has_value(), sigmoid, {},
                   {}};
  for (const auto& [first, last, own_start, own_divisor, weight, own_single] : members)
    forest.sums.members.push_back({first, last, own_start, own_divisor, weight, own_single});
  for (const std::vector<Word>& set : left_sets) {
    forest.set_begin.push_back(forest.left_sets.size());
    forest.left_sets.insert(forest.left_sets.end(), set.begin(), set.end());
  }
  for (const auto& literals : clauses) {
    forest.clauses.emplace_back();
    for (const auto& [f, low, high, missing, words] : literals) {
      forest.clauses.back().push_back({f, low, high, missing, forest.literal_sets.size()});
      forest.literal_sets.insert(forest.literal_sets.end(), words.begin(), words.end());
    }
  }
  forest.exact = copy(exact);
  forest.band = band;
  forest.exponent = exponent;
  forest.unit = unit;
  forest.derive();
  if (forest.depth > kDeepest + 1) throw TooDeepError();  // nodes are one more than splits
  return std::make_unique<Core>(std::move(forest), tabulate);
}

// Set from one thread to stop searches that run in others.
struct Cancel {
  std::atomic<bool> is_set = false;
};

// Python's ContextVar with the Cancel, if any, that stops every question that is asked meanwhile; the module owns it.
PyObject* current_cancel = nullptr;

// What current_cancel holds, borrowed: the context keeps it for as long as the call runs.
const Cancel* ambient_cancel() {
  PyObject* found = nullptr;
  if (PyContextVar_Get(current_cancel, nullptr, &found) != 0) throw nb::python_error();
  const nb::object held = nb::steal(found);
  return held.is_valid() && !held.is_none() ? nb::cast<const Cancel*>(held) : nullptr;
}

// Stops at the deadline, when cancelled, and on a pending Python signal such as Ctrl-C, which is looked for every 20
// ms, until there is one: Python tells of it once, and only its main thread, so that no other has to wait for the GIL.
// What current_cancel stops is interrupted as by Ctrl-C.
class Stopper {
  using Clock = std::chrono::steady_clock;

 public:
  explicit Stopper(double seconds, const Cancel* cancel = nullptr) : cancel_(cancel), ambient_(ambient_cancel()) {
    const auto now = Clock::now();
    next_signal_check_ = now + kSignalInterval;
    set_deadline(seconds, now);
  }

  bool operator()() {
    const auto now = Clock::now();
    if (interrupted_ || now >= deadline_ || (cancel_ != nullptr && cancel_->is_set)) return true;
    if (ambient_ != nullptr && ambient_->is_set) {
      nb::gil_scoped_acquire gil;
      PyErr_SetNone(nb::module_::import_("treeproof.errors").attr("Cancelled").ptr());
      interrupted_ = true;
    } else if (now >= next_signal_check_) {
      next_signal_check_ = now + kSignalInterval;
      if (hears_signals_.value_or(true)) {
        nb::gil_scoped_acquire gil;
        if (!hears_signals_) hears_signals_ = is_main_thread();
        interrupted_ = PyErr_CheckSignals() != 0;
      }
    }
    return interrupted_;
  }

  bool interrupted() const { return interrupted_; }

  // Look for a reason to stop, and give what comes next so many seconds; false if there is nothing to come.
  bool start_again(double seconds) {
    deadline_ = Clock::time_point::max();
    if ((*this)()) return false;
    set_deadline(seconds, Clock::now());
    return true;
  }

 private:
  void set_deadline(double seconds, Clock::time_point now) {
    // Beyond a year nobody waits; it keeps the conversion to clock ticks from overflowing.
    if (seconds < 3e7)
      deadline_ = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  static bool is_main_thread() {
    const nb::object main = nb::module_::import_("threading").attr("main_thread")();
    return nb::cast<unsigned long>(main.attr("ident")) == PyThread_get_thread_ident();
  }

  static constexpr auto kSignalInterval = std::chrono::milliseconds(20);
  const Cancel* const cancel_;
  const Cancel* const ambient_;
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point next_signal_check_;
  std::optional<bool> hears_signals_;  // not known before the first check
  bool interrupted_ = false;
};

int label_of(const Core& core, const std::vector<Cell>& point) {
  if (point.size() != static_cast<std::size_t>(core.forest().n_features))
    throw std::invalid_argument("the point does not fit the forest");
  return core.forest().label(point);
}

// The cells of a box, as Python has them.
using Arrays = std::tuple<Array<std::int32_t>, Array<std::int32_t>, Array<std::uint8_t>, Array<Word>>;

Box make_box(const Forest& forest, const Arrays& arrays) {
  const auto& [low, high, missing, sets] = arrays;
  Box box{copy(low), copy(high), copy(missing), copy(sets)};
  if (box.low.size() != static_cast<std::size_t>(forest.n_features) || box.high.size() != box.low.size() ||
      box.missing.size() != box.low.size() || box.sets.size() != forest.words_begin.back())
    throw std::invalid_argument("the box does not fit the forest");
  return box;
}

std::vector<int> softmax_labels(nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> sums,
                                bool single) {
  std::vector<int> labels;
  const std::size_t n = sums.shape(1);
  if (n == 0) throw std::invalid_argument("there must be at least one sum");
  for (std::size_t row = 0; row < sums.shape(0); ++row) {
    const double* const begin = sums.data() + row * n;
    labels.push_back(single ? softmax_label(std::vector<float>(begin, begin + n))
                            : softmax_label(std::vector<double>(begin, begin + n)));
  }
  return labels;
}

std::vector<int> sigmoid_labels(nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> sums,
                                double steepness) {
  std::vector<int> labels;
  const std::size_t n = sums.shape(1);
  if (n == 0) throw std::invalid_argument("there must be at least one sum");
  for (std::size_t row = 0; row < sums.shape(0); ++row) {
    const double* const begin = sums.data() + row * n;
    labels.push_back(sigmoid_label({begin, begin + n}, steepness));
  }
  return labels;
}

Outcome decide_query(Core& core, const Arrays& arrays, bool stays, int label, std::optional<std::vector<Cell>> home,
                     double seconds, bool plain) {
  const Forest& forest = core.forest();
  const Box box = make_box(forest, arrays);
  if (home && home->size() != box.low.size()) throw std::invalid_argument("the point does not fit the forest");
  Stopper stopper(seconds);
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    const Claim claim{stays ? ClaimKind::stays : ClaimKind::never, label};
    const Poll must_stop = [&] { return stopper(); };
    outcome = plain ? decide_plainly(forest, box, claim, must_stop)
                    : core.borrow(forest.vote == Vote::exact)
                          ->decide(box, claim, home.value_or(box.first_point(forest)), must_stop);
  }
  if (stopper.interrupted()) throw nb::python_error();
  return outcome;
}

// As record.hpp describes it.
struct Proof {
  std::vector<std::int32_t> steps;
  std::vector<std::vector<std::int32_t>> tables;
};

std::optional<Proof> prove_query(Core& core, const Arrays& arrays, bool stays, int label, const std::vector<Cell>& home,
                                 double seconds, const Cancel* cancel, std::size_t most) {
  const Forest& forest = core.forest();
  const Box box = make_box(forest, arrays);
  if (home.size() != box.low.size()) throw std::invalid_argument("the point does not fit the forest");
  Stopper stopper(seconds, cancel);
  Recorder recorder(forest);
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    const Claim claim{stays ? ClaimKind::stays : ClaimKind::never, label};
    outcome = core.borrow()->decide(box, claim, home, [&] { return recorder.size() > most || stopper(); }, &recorder);
  }
  if (stopper.interrupted()) throw nb::python_error();
  if (recorder.size() > most) throw std::overflow_error("the record is too large");
  if (outcome.status != Status::entailed) return std::nullopt;
  return Proof{recorder.steps(), recorder.tables()};
}

// For each of the features, a point of the box with this feature freed that violates the claim; empty if there is none.
std::vector<std::vector<Cell>> find_witnesses(Core& core, const Arrays& arrays, int label,
                                              const std::vector<Cell>& home, const std::vector<std::int32_t>& features,
                                              double seconds, const Cancel* cancel) {
  const Forest& forest = core.forest();
  const Box box = make_box(forest, arrays);
  if (home.size() != box.low.size()) throw std::invalid_argument("the point does not fit the forest");
  Stopper stopper(seconds, cancel);
  std::vector<std::vector<Cell>> witnesses;
  {
    nb::gil_scoped_release release;
    const auto searcher = core.borrow();
    for (const std::int32_t f : features) {
      Box freed = box;
      freed.free(forest, f);
      witnesses.push_back(searcher->decide(freed, {ClaimKind::stays, label}, home, [&] { return stopper(); }).witness);
    }
  }
  if (stopper.interrupted()) throw nb::python_error();
  return witnesses;
}

Deletion delete_features_at(Core& core, const std::vector<Cell>& point, int label,
                            const std::vector<std::int32_t>& order, const std::vector<std::uint8_t>& start,
                            double seconds, const Cancel* cancel, const std::optional<Arrays>& free) {
  const Forest& forest = core.forest();
  const Box freed = free ? make_box(forest, *free) : Box::full(forest);
  if (point.size() != static_cast<std::size_t>(forest.n_features) || start.size() != point.size())
    throw std::invalid_argument("the point does not fit the forest");
  Stopper stopper(seconds, cancel);
  Deletion found;
  {
    nb::gil_scoped_release release;
    const auto searcher = core.borrow();
    searcher->instance = point;  // its prices are worth keeping when the features are widened
    found = delete_features(*searcher, forest, point, {ClaimKind::stays, label}, freed, order, start,
                            [&] { return stopper(); });
  }
  if (stopper.interrupted()) throw nb::python_error();
  return found;
}

// A table with a line for each row, as an array of numpy.
template <typename T>
nb::ndarray<nb::numpy, T> as_table(std::vector<T>&& numbers, std::size_t rows, std::size_t columns) {
  auto owned = std::make_unique<std::vector<T>>(std::move(numbers));
  const nb::capsule owner(owned.get(), [](void* held) noexcept { delete static_cast<std::vector<T>*>(held); });
  return {owned.release()->data(), {rows, columns}, owner};
}

// For each of many points its label, the sum that decided, and what delete_features finds from all features on; each in
// so many seconds, and all without the GIL. Tables have a line for each point.
nb::tuple delete_features_of_many(Core& core,
                                  nb::ndarray<const Cell, nb::ndim<2>, nb::c_contig, nb::device::cpu> points,
                                  const std::vector<std::int32_t>& order, double seconds, const Cancel* cancel) {
  const Forest& forest = core.forest();
  const std::size_t n = points.shape(0), n_features = points.shape(1), n_clauses = forest.clauses.size();
  if (n_features != static_cast<std::size_t>(forest.n_features))
    throw std::invalid_argument("the points do not fit the forest");
  Stopper stopper(seconds, cancel);
  std::vector<std::int32_t> labels(n);
  std::vector<std::uint8_t> kept, used_clauses, minimal(n);
  std::vector<std::uint64_t> counts;
  std::vector<double> scores(n), times;
  kept.reserve(n * n_features);
  {
    nb::gil_scoped_release release;
    const auto searcher = core.borrow();
    const Box free = Box::full(forest);
    const std::vector<std::uint8_t> all(n_features, 1);
    for (std::size_t i = 0; i < n && !stopper.interrupted(); ++i) {
      const auto began = std::chrono::steady_clock::now();
      const std::vector<Cell> point(points.data() + i * n_features, points.data() + (i + 1) * n_features);
      if (forest.vote == Vote::majority) {
        const std::vector<std::int64_t> votes = forest.total_scores(point);
        labels[i] = static_cast<std::int32_t>(std::max_element(votes.begin(), votes.end()) - votes.begin());
        scores[i] = static_cast<double>(votes[static_cast<std::size_t>(labels[i])]);
      } else {
        const std::vector<double> sums = forest.float_sums(point);
        labels[i] = forest.label_of_sums(sums);
        scores[i] = sums[sums.size() == 1 ? 0 : static_cast<std::size_t>(labels[i])];
      }
      const Claim claim{ClaimKind::stays, labels[i]};
      const Poll must_stop = [&] { return stopper(); };
      Deletion found{all, false, std::vector<std::uint8_t>(n_clauses, 0), {}};
      if (stopper.start_again(seconds)) {
        searcher->forget();  // what is found must not depend on the points before
        found = delete_features(*searcher, forest, point, claim, free, order, all, must_stop);
        if (forest.band > 0 && found.minimal && found.kept == all) {
          // All rests on the point itself, whose own sums may be closer than rounding.
          Box own = free;
          for (std::size_t f = 0; f < n_features; ++f) own.fix(forest, static_cast<int>(f), point[f]);
          const auto asked = std::chrono::steady_clock::now();
          const Outcome outcome = searcher->decide(own, claim, point, must_stop);
          found.tally.count(outcome, std::chrono::duration<double>(std::chrono::steady_clock::now() - asked).count());
          found.tally.unknown += outcome.status == Status::stopped;
        }
      } else {
        ++found.tally.unknown;
      }
      kept.insert(kept.end(), found.kept.begin(), found.kept.end());
      used_clauses.insert(used_clauses.end(), found.used_clauses.begin(), found.used_clauses.end());
      minimal[i] = found.minimal;
      const Tally& tally = found.tally;
      counts.insert(counts.end(),
                    {tally.entailed, tally.refuted, tally.unknown, tally.remembered, tally.near_ties, tally.work});
      times.insert(times.end(), {std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(),
                                 tally.longest_entailed, tally.longest_refuted});
    }
  }
  if (stopper.interrupted()) throw nb::python_error();
  return nb::make_tuple(as_table(std::move(labels), n, 1), as_table(std::move(scores), n, 1),
                        as_table(std::move(kept), n, n_features), as_table(std::move(used_clauses), n, n_clauses),
                        as_table(std::move(minimal), n, 1), as_table(std::move(counts), n, 6),
                        as_table(std::move(times), n, 3));
}

Change change_features_at(Core& core, const std::vector<Cell>& point, bool stays, int label,
                          const std::vector<std::int32_t>& order, const std::vector<std::uint8_t>& start,
                          const std::vector<Cell>& witness, const std::vector<std::uint8_t>& unasked, int effort,
                          const std::vector<Cell>& hint, double seconds, const Cancel* cancel,
                          const std::optional<Arrays>& free) {
  const Forest& forest = core.forest();
  const Box freed = free ? make_box(forest, *free) : Box::full(forest);
  if (point.size() != static_cast<std::size_t>(forest.n_features) || start.size() != point.size() ||
      unasked.size() != point.size() || (!witness.empty() && witness.size() != point.size()) ||
      (!hint.empty() && hint.size() != point.size()))
    throw std::invalid_argument("the point does not fit the forest");
  Stopper stopper(seconds, cancel);
  Change found;
  {
    nb::gil_scoped_release release;
    const auto searcher = core.borrow();
    const Claim claim{stays ? ClaimKind::stays : ClaimKind::never, label};
    found = change_features(*searcher, forest, point, claim, freed, order, start, witness, {unasked, effort, hint},
                            [&] { return stopper(); });
  }
  if (stopper.interrupted()) throw nb::python_error();
  return found;
}

Inflation inflate_box(Core& core, const Arrays& arrays, const std::vector<Cell>& point, int label,
                      const std::vector<std::int32_t>& order, double seconds, const Cancel* cancel,
                      std::optional<std::uint64_t> most_work) {
  const Forest& forest = core.forest();
  Box box = make_box(forest, arrays);
  if (point.size() != box.low.size()) throw std::invalid_argument("the point does not fit the forest");
  Stopper stopper(seconds, cancel);
  Inflation found;
  {
    nb::gil_scoped_release release;
    // What limited work finds depends on the prices, so it has none from before.
    const auto searcher = most_work ? core.borrow() : core.borrow(false, point);
    found = inflate(
        *searcher, forest, point, {ClaimKind::stays, label}, std::move(box), order, [&] { return stopper(); },
        most_work.value_or(kAnyWork));
  }
  if (stopper.interrupted()) throw nb::python_error();
  return found;
}

// Whether there is such a set; nothing if the time is up.
std::optional<bool> next_hitting_set(HittingSets& sets, int most, double seconds) {
  Stopper stopper(seconds);
  HittingSets::Answer answer{};
  {
    nb::gil_scoped_release release;
    answer = sets.next(most, [&] { return stopper(); });
  }
  if (stopper.interrupted()) throw nb::python_error();
  if (answer == HittingSets::Answer::stopped) return std::nullopt;
  return answer == HittingSets::Answer::found;
}

}  // namespace

NB_MODULE(_core, module) {
  module.doc() = "The C++ core of treeproof: exact search over boxes of cells.";
  // At exit, others may still hold our objects: joblib those of a worker process that was killed.
  nb::set_leak_warnings(false);
  nb::exception<TooDeepError>(module, "TooDeepError", PyExc_ValueError);
  nb::class_<Cancel>(module, "Cancel",
                     R"(Set in one thread, it ends the questions of others: see `treeproof.cancelling`.

Examples
--------
>>> import treeproof as tp
>>> cancel = tp.Cancel()
>>> cancel.set()
>>> cancel.is_set
True
)")
      .def(nb::init<>())
      .def(
          "set", [](Cancel& cancel) { cancel.is_set = true; }, "Stop the searches that were given this object.")
      .def_prop_ro("is_set", [](const Cancel& cancel) { return cancel.is_set.load(); }, "Whether it was set.");
  current_cancel = PyContextVar_New("current_cancel", nullptr);
  if (current_cancel == nullptr) throw nb::python_error();
  module.attr("current_cancel") = nb::borrow(current_cancel);
  nb::class_<Tally>(module, "Tally")
      .def(nb::init<>())
      .def_rw("entailed", &Tally::entailed)
      .def_rw("refuted", &Tally::refuted)
      .def_rw("unknown", &Tally::unknown)
      .def_rw("remembered", &Tally::remembered)
      .def_rw("near_ties", &Tally::near_ties)
      .def_rw("work", &Tally::work)
      .def_rw("longest_entailed", &Tally::longest_entailed)
      .def_rw("longest_refuted", &Tally::longest_refuted)
      .def("add", &Tally::add, "other"_a, "Count what another search asked.");
  nb::class_<Outcome>(module, "Outcome")
      .def_prop_ro("entailed", [](const Outcome& outcome) { return outcome.status == Status::entailed; })
      .def_prop_ro("refuted", [](const Outcome& outcome) { return outcome.status == Status::refuted; })
      .def_prop_ro("core", [](const Outcome& outcome) { return places(outcome.used); })
      .def_prop_ro("clauses", [](const Outcome& outcome) { return places(outcome.used_clauses); })
      .def_ro("witness", &Outcome::witness)
      .def_ro("label", &Outcome::label)
      .def_ro("near_tie", &Outcome::near_tie);
  nb::class_<Proof>(module, "Proof").def_ro("steps", &Proof::steps).def_ro("tables", &Proof::tables);
  nb::class_<Deletion>(module, "Deletion")
      .def_prop_ro("features", [](const Deletion& found) { return places(found.kept); })
      .def_prop_ro("clauses", [](const Deletion& found) { return places(found.used_clauses); })
      .def_ro("minimal", &Deletion::minimal)
      .def_ro("tally", &Deletion::tally);
  nb::class_<Change>(module, "Change")
      .def_prop_ro("features", [](const Change& found) { return places(found.freed); })
      .def_ro("witness", &Change::witness)
      .def_ro("label", &Change::label)
      .def_ro("finished", &Change::finished)
      .def_ro("tally", &Change::tally);
  nb::class_<Inflation>(module, "Inflation")
      .def_prop_ro("low", [](const Inflation& found) { return found.box.low; })
      .def_prop_ro("high", [](const Inflation& found) { return found.box.high; })
      .def_prop_ro("missing", [](const Inflation& found) { return found.box.missing; })
      .def_prop_ro("sets", [](const Inflation& found) { return found.box.sets; })
      .def_prop_ro("clauses", [](const Inflation& found) { return places(found.used_clauses); })
      .def_ro("widest", &Inflation::widest)
      .def_ro("stopped", &Inflation::stopped)
      .def_ro("tally", &Inflation::tally);
  nb::class_<Core>(module, "Forest")
      .def("label", &label_of, "point"_a, "Class index that the model's own predict gives at a point of cells.")
      .def(
          "totals", [](const Core& core, const std::vector<Cell>& point) { return core.forest().total_scores(point); },
          "point"_a, "Sums of scores at a point, per class.")
      .def("require", &Core::require, "theta"_a, "Ask for other leads from now on; not while a search runs.")
      .def("decide", &decide_query, "box"_a, "stays"_a, "label"_a, "home"_a.none(), "seconds"_a, "plain"_a,
           "Decide a claim over a box.")
      .def(
          "prove", &prove_query, "box"_a, "stays"_a, "label"_a, "home"_a, "seconds"_a, "cancel"_a.none(), "most"_a,
          "The proof of a claim over a box, as core/record.hpp describes it, if there is one; OverflowError if it has\n"
          "more than `most` numbers.")
      .def("witnesses", &find_witnesses, "box"_a, "label"_a, "home"_a, "features"_a, "seconds"_a, "cancel"_a.none(),
           "For each feature, a point of the box with it freed that has another label, or none.")
      .def_prop_ro(
          "price_shift", [](const Core& core) { return core.forest().scale.shift(); },
          "Prices are in units of 2**this scores.")
      .def("delete_features", &delete_features_at, "point"_a, "label"_a, "order"_a, "start"_a, "seconds"_a,
           "cancel"_a.none(), "free"_a.none() = nb::none(),
           "Subset-minimal features that keep the label while the others stay in a box.")
      .def("delete_features_of_many", &delete_features_of_many, "points"_a, "order"_a, "seconds"_a, "cancel"_a.none(),
           "The same for many points, each with its own time: tables of labels, scores, kept features, used clauses, "
           "whether minimal, counts and seconds.")
      .def("change_features", &change_features_at, "point"_a, "stays"_a, "label"_a, "order"_a, "start"_a, "witness"_a,
           "unasked"_a, "effort"_a, "hint"_a, "seconds"_a, "cancel"_a.none(), "free"_a.none() = nb::none(),
           "Subset-minimal features whose change within a box violates the claim.")
      .def("inflate", &inflate_box, "box"_a, "point"_a, "label"_a, "order"_a, "seconds"_a, "cancel"_a.none(),
           "most_work"_a.none(), "The widest box around one that keeps the label, as far as the work allows.");
  nb::class_<HittingSets>(module, "HittingSets")
      .def(nb::init<int>(), "n_features"_a)
      .def("add", &HittingSets::add, "features"_a, "Ask that these features be hit too; at least one.")
      .def("next", &next_hitting_set, "most"_a, "seconds"_a,
           "Whether so many features can hit all sets; None if the time is up.")
      .def_prop_ro("chosen", &HittingSets::chosen, "The features that `next` found.")
      .def_prop_ro("excluded", &HittingSets::excluded, "The features that were tried before it, the first ones first.");
  module.def("make_forest", &make_forest, "n_cells"_a, "ordered"_a, "gapped"_a, "n_classes"_a, "roots"_a, "feature"_a,
             "cut"_a, "left"_a, "right"_a, "scores"_a, "theta"_a, "values"_a, "left_sets"_a, "clauses"_a, "exact"_a,
             "band"_a, "exponent"_a, "unit"_a, "vote"_a, "start"_a, "single"_a, "divisor"_a, "cuts"_a.none(),
             "softmax"_a, "sigmoid"_a, "members"_a, "tabulate"_a);
  module.def("softmax_labels", &softmax_labels, "sums"_a, "single"_a,
             "Per row the first maximum of the softmax, in float or double, as XGBoost and LightGBM compute it.");
  module.def("sigmoid_labels", &sigmoid_labels, "sums"_a, "steepness"_a,
             "Per row the first maximum of the sigmoids, in double, as LightGBM computes it.");
}
