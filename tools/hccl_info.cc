// hccl_info: which algorithms an operation would run with, and why (docs/simulator.md).
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "src/base/algo_table.h"
#include "src/plan/chooser.h"
#include "tools/common_options.h"
#include "tools/tool_words.h"

namespace hccl::tools {
namespace {

struct Options {
  OperationOptions operation{.sizes = "1K,64K,1M,64M"};
  std::string servers = "8";
  std::string algo;
  std::string table;
  std::string inside = "shared";
  std::string between = "rdma";
  uint32_t processors = 0;
  bool strict = false;
};

void addOptions(CLI::App& app, Options& o) {
  addOperationOptions(app, o.operation);
  app.add_option("--servers", o.servers, "ranks of each server; list (8)");
  app.add_option("--algo", o.algo, "as HCCL_ALGO");
  app.add_option("--table", o.table, "as HCCL_ALGO_TABLE");
  app.add_flag("--strict", o.strict, "HCCL_DETERMINISTIC=strict");
  app.add_option("--inside", o.inside, "links inside of servers: shared, rdma, tcp (shared)");
  app.add_option("--between", o.between, "links between servers (rdma)");
  app.add_option("--processors", o.processors, "of each server; 0: one for each rank (0)");
}

std::string chunkText(const plan::Choice& choice) {
  return choice.chunkBytes == 0 ? "" : ", chunk " + sizeText(choice.chunkBytes);
}

class Report {
 public:
  explicit Report(const Options& o) : o_(o) {}

  // Empty, or what is wrong.
  std::string run() {
    const auto type = parseOp(o_.operation.op);
    if (!type) return "no operation " + o_.operation.op;
    plan::Policy policy;
    if (std::string wrong = readPolicy(policy); !wrong.empty()) return wrong;
    std::vector<uint32_t> serverOf;
    uint32_t server = 0;
    uint32_t most = 0;
    for (const std::string& part : parts(o_.servers)) {
      const auto ranks = parseSize(part);
      if (!ranks || *ranks == 0 || *ranks > 4096) return "no number of ranks: " + part;
      most = std::max(most, static_cast<uint32_t>(*ranks));
      serverOf.insert(serverOf.end(), *ranks, server++);
    }
    if (serverOf.empty()) return "no servers";
    if (o_.processors != 0) {
      policy.links.crowding = std::max(1.0, static_cast<double>(most) / o_.processors);
    }
    const plan::Topology topology = plan::Topology::fromServers(serverOf);
    plan::Chooser chooser(topology, policy);
    for (const std::string& sizeName : parts(o_.operation.sizes)) {
      const auto bytes = parseSize(sizeName);
      if (!bytes) return "no size: " + sizeName;
      one(*type, topology, chooser, *bytes);
    }
    return {};
  }

 private:
  std::string readPolicy(plan::Policy& policy) const {
    const auto inside = plan::costClassOf(o_.inside);
    const auto between = plan::costClassOf(o_.between);
    if (!inside || !between) return "links are shared, rdma or tcp";
    policy.links = {*inside, *between, 1};
    policy.strict = o_.strict;
    if (!o_.algo.empty()) {
      const auto parsed = parseAlgoConfig(o_.algo);
      if (!parsed) return "HCCL_ALGO has another form: " + o_.algo;
      policy.config = *parsed;
    }
    if (!o_.table.empty()) {
      auto table = AlgoTable::load(o_.table);
      if (!table) return table.status().text();
      policy.table = *table;
    }
    return {};
  }

  void one(HcclCMDType type, const plan::Topology& topology, plan::Chooser& chooser,
           uint64_t bytes) const {
    plan::OpDesc op;
    op.type = type;
    op.count = bytes;
    const plan::Choice choice = chooser.choose(op, bytes);
    fmt::print("{} of {} on {} ranks: {}{}\n  because: {}\n", o_.operation.op, sizeText(bytes),
               topology.rankCount, choice.text(), chunkText(choice), choice.why);
    if (!choice.note.empty()) fmt::print("  note: {}\n", choice.note);
    for (const std::string& note : chooser.takeNotes()) fmt::print("  note: {}\n", note);
    std::vector<std::pair<double, std::string>> lines;
    for (const plan::Candidate& candidate : chooser.candidates(type)) {
      lines.emplace_back(candidate.terms.seconds(bytes) * 1e6, candidate.choice.text());
    }
    std::stable_sort(lines.begin(), lines.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (!lines.empty()) fmt::print("  the cost model expects:\n");
    for (const auto& [us, name] : lines) {
      fmt::print("    {:>12.1f} us  {}{}\n", us, name, name == choice.text() ? "  <- chosen" : "");
    }
  }

  const Options& o_;
};

}  // namespace
}  // namespace hccl::tools

int main(int argc, char** argv) {
  namespace tools = hccl::tools;
  tools::Options options;
  return tools::runTool(
      "hccl_info", "Prints which algorithms an operation would run with, and why.", argc, argv,
      [&](CLI::App& app) { tools::addOptions(app, options); },
      [&] { return tools::Report(options).run(); });
}
