// hccl_tune: measures the legal algorithms of each operation and writes the table that
// HCCL_ALGO_TABLE names; or compares the library's own choice with the best (docs/algorithms.md).
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>

#include "tools/tool_words.h"
#include "tools/tune/job.h"
#include "tools/tune/launch.h"
#include "tools/tune/report.h"

namespace hccl::tune {
namespace {

using Json = nlohmann::json;

struct Options {
  std::string ops;
  std::string sizes = "8,64,512,4K,32K,256K,2M,16M";
  std::string ranks = "2,4";
  std::string transports = "shm";
  std::string links;
  std::string chunks = "512K,8M";
  std::string output;
  std::string json;
  uint32_t turns = 9;
  double turnMs = 4;
  bool sync = false;
  bool compare = false;
};

void addOptions(CLI::App& app, Options& o) {
  app.add_option("--op", o.ops, "operations; list (all)");
  app.add_option("--sizes", o.sizes, "bytes of the whole operation; list (" + o.sizes + ")");
  app.add_option("--ranks", o.ranks, "numbers of ranks, as processes of this host; list (2,4)");
  app.add_option("--transport", o.transports, "shm, tcp or rdma; list (shm)");
  app.add_option("--links", o.links,
                 "under mpirun: class of the slowest links: shared, rdma or tcp (shared)");
  app.add_option("--chunks", o.chunks, "chunks to try with large data; list (512K,8M)");
  app.add_option("--turns", o.turns, "turns of each contender (9)")->check(CLI::Range(3, 1000));
  app.add_option("--turn-ms", o.turnMs, "length of a turn (4)")->check(CLI::Range(0.1, 10000.0));
  app.add_flag("--sync", o.sync, "synchronise after each call");
  app.add_flag("--compare", o.compare, "the library's own choice against the best, no table");
  app.add_option("--output", o.output, "file for the table");
  app.add_option("--json", o.json, "file for the cells of --compare");
}

std::vector<uint64_t> sizesOf(const std::string& list) {
  std::vector<uint64_t> sizes;
  for (const std::string& part : tools::parts(list)) {
    const auto size = tools::parseSize(part);
    if (!size || *size == 0) giveUp("no size: " + part);
    sizes.push_back(*size);
  }
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

JobSpec specOf(const Options& o) {
  JobSpec spec;
  for (const std::string& name : tools::parts(o.ops)) {
    const auto op = findOperation(name);
    if (!op) giveUp("no operation " + name);
    spec.ops.push_back(*op);
  }
  if (spec.ops.empty()) spec.ops = allOperations();
  spec.sizes = sizesOf(o.sizes);
  if (spec.sizes.empty()) giveUp("no sizes");
  spec.chunks = sizesOf(o.chunks);
  spec.effort.turns = o.turns;
  spec.effort.turnSeconds = o.turnMs * 1e-3;
  spec.effort.sync = o.sync;
  spec.compare = o.compare;
  return spec;
}

void append(Json& all, const Json& part) {
  for (const char* name : {"rows", "cells"}) {
    for (const Json& item : part[name]) all[name].push_back(item);
  }
}

// Rank 0 hands its results over in a file.
Json runHere(uint32_t ranks, const std::string& transport, JobSpec spec) {
  spec.links = transport == "shm" ? "shared" : transport;
  char path[] = "/tmp/hccl_tune_XXXXXX";
  const int fd = ::mkstemp(path);
  if (fd < 0) giveUp("cannot make a file in /tmp");
  ::close(fd);
  const std::map<std::string, std::string> environment = {
      {"HCCL_TRANSPORT", transport}, {"HCCL_HOST_DEVICES", std::to_string(ranks)}};
  const bool good = runLocally(ranks, environment, [&](Invitation& invitation) {
    Team team(invitation);
    const Json result = runJob(team, spec);
    if (team.rank() == 0) std::ofstream(path) << result;
  });
  std::ifstream in(path);
  Json result = good ? Json::parse(in, nullptr, false) : Json();
  ::unlink(path);
  if (!result.is_object()) giveUp("the ranks have failed");
  return result;
}

int write(const std::string& path, const Json& json) {
  if (path.empty()) return 0;
  std::ofstream out(path);
  out << json.dump(1) << "\n";
  if (out.good()) return 0;
  std::cerr << "hccl_tune: cannot write " << path << "\n";
  return 1;
}

int finish(const Options& o, const Json& all) {
  std::vector<Cell> cells;
  for (const Json& cell : all["cells"]) cells.push_back(cellOf(cell));
  if (o.compare) fmt::print("\n{}\n", summary(cells));
  if (o.compare) return write(o.json, all["cells"]);
  if (o.output.empty()) fmt::print("{}\n", tableOf(all["rows"]).dump(1));
  return write(o.output, tableOf(all["rows"]));
}

int runMpi(const Options& o, int argc, char** argv) {
  int code = 0;
  JobSpec spec = specOf(o);
  spec.links = o.links.empty() ? "shared" : o.links;
  const bool could = runUnderMpi(&argc, &argv, [&](Invitation& invitation) {
    Team team(invitation);
    if (o.compare && team.rank() == 0) printHead();
    const Json result = runJob(team, spec);
    if (team.rank() == 0) code = finish(o, result);
  });
  if (!could) giveUp("this hccl_tune was built without MPI: use --ranks without mpirun");
  return code;
}

int run(const Options& o, int argc, char** argv) {
  if (startedByMpi()) return runMpi(o, argc, argv);
  // What is measured is set for each contender.
  ::unsetenv("HCCL_ALGO");
  if (!o.compare) ::unsetenv("HCCL_ALGO_TABLE");
  const JobSpec spec = specOf(o);
  Json all = {{"rows", Json::array()}, {"cells", Json::array()}};
  if (o.compare) printHead();
  for (const std::string& transport : tools::parts(o.transports)) {
    for (const uint64_t ranks : sizesOf(o.ranks)) {
      if (ranks < 2 || ranks > 1024) giveUp("ranks are 2 to 1024");
      append(all, runHere(static_cast<uint32_t>(ranks), transport, spec));
    }
  }
  return finish(o, all);
}

}  // namespace
}  // namespace hccl::tune

int main(int argc, char** argv) try {
  CLI::App app("Measures algorithms, and writes the table that HCCL_ALGO_TABLE names.");
  hccl::tune::Options options;
  hccl::tune::addOptions(app, options);
  CLI11_PARSE(app, argc, argv);
  return hccl::tune::run(options, argc, argv);
} catch (const std::exception& error) {
  std::fprintf(stderr, "hccl_tune: %s\n", error.what());
  return 1;
}
