#include "bench/parts/runner.h"

#include <cstdio>
#include <exception>

#include "bench/parts/checker.h"
#include "bench/parts/device.h"
#include "bench/parts/error.h"
#include "bench/parts/report.h"
#include "bench/parts/timing.h"
#include "bench/parts/types.h"

namespace hccl::bench {
namespace {

class Bench {
 public:
  Bench(const Launch& launch, const Options& options, Operation& operation)
      : launch_(launch),
        options_(options),
        operation_(operation),
        session_(launch, options),
        buffers_(options),
        checker_(operation, options.check),
        report_(options, operation, launch.ranks()) {
    job_.rank = launch.rank();
    job_.ranks = launch.ranks();
    job_.root = options.root;
    job_.type = options.type;
    job_.op = options.op;
    job_.comm = session_.comm();
    job_.stream = session_.stream();
  }

  // False when a check of this rank failed.
  bool run() {
    print(report_.head());
    if (!operation_.movesData()) {
      runSize(0);
    } else {
      place(options_.maxBytes);  // allocates for the largest size at once
      SizeSequence sizes(options_);
      for (uint64_t bytes = 0; sizes.next(&bytes);) runSize(bytes);
    }
    if (isPrinter()) report_.save();
    return good_;
  }

 private:
  bool isPrinter() const { return launch_.rank() == options_.root; }

  void print(const std::string& text) const {
    if (!isPrinter()) return;
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }

  Buffers place(uint64_t bytes) {
    job_.count = bytes / typeInfo(job_.type).bytes;
    if (operation_.divides()) job_.count = job_.count / job_.ranks * job_.ranks;
    return buffers_.place(operation_, job_, typeInfo(job_.type).bytes);
  }

  void call(const Buffers& buffers) const {
    require(operation_.call(job_, buffers), "the operation");
  }

  void runSize(uint64_t bytes) {
    const Buffers buffers = place(bytes);
    operation_.arrange(job_);
    checker_.prepare(job_, buffers);
    launch_.barrier();
    Row row;
    row.bytes = job_.count * typeInfo(job_.type).bytes;
    row.timing = measure(session_, options_, [&] { call(buffers); });
    if (options_.check != CheckMode::Off) {
      const bool mine = check(buffers);
      good_ = good_ && mine;
      row.good = !launch_.any(!mine);
    }
    if (!options_.repeatsForEver()) report_.add(row);
    print(report_.line(row));
  }

  bool check(const Buffers& buffers) {
    if (!operation_.movesData()) return operation_.checkEffect(job_, launch_);
    // No rank may write here any more for the calls that were measured.
    checker_.prepare(job_, buffers);
    call(buffers);
    session_.synchronise();
    return checker_.isRight(job_, buffers);
  }

  const Launch& launch_;
  const Options& options_;
  Operation& operation_;
  Session session_;
  BufferPair buffers_;
  Checker checker_;
  Report report_;
  Job job_;
  bool good_ = true;
};

// Why these options cannot be had with so many ranks; empty when they can.
std::string objection(const Operation& operation, const Options& options, uint32_t ranks) {
  if (options.root >= ranks) return "there is no rank " + std::to_string(options.root);
  if (ranks < operation.leastRanks()) {
    return "needs " + std::to_string(operation.leastRanks()) + " ranks or more";
  }
  if (options.inPlace && !operation.inPlace(Job{})) return "this operation is never in place";
  return "";
}

}  // namespace

int run(int argc, char** argv, Operation& operation) {
  const Launch launch(&argc, &argv);
  try {
    Parsed parsed = parseOptions(argc, argv, operation.program(), operation.purpose());
    if (parsed.proceed) {
      const std::string reason = objection(operation, parsed.options, launch.ranks());
      if (!reason.empty()) {
        parsed = {{}, false, 2, std::string(operation.program()) + ": " + reason + "\n"};
      }
    }
    if (!parsed.proceed) {
      if (launch.rank() == 0) {
        std::fputs(parsed.text.c_str(), parsed.exitCode == 0 ? stdout : stderr);
      }
      return parsed.exitCode;
    }
    Bench bench(launch, parsed.options, operation);
    return bench.run() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: rank %u: %s\n", operation.program(), launch.rank(), error.what());
    launch.abort(1);
  }
}

}  // namespace hccl::bench
