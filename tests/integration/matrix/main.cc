// The test matrix: cases over collective x type x op x place x count x root x ranks x launch x
// transport x algorithm x memory x offset, each compared element by element with a serial
// reference. By default a pairwise selection runs, with HCCL_TEST_FULL=1 the whole product.
//   collective_matrix [--ranks N] [--launch threads|processes] [--transport shm|tcp] [--case
//   "TEXT"]
//                     [--repeat N] [--environment NAME=VALUE] [--list]
#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <map>
#include <optional>

#include "tests/integration/matrix/run_case.h"
#include "tests/integration/matrix/selection.h"
#include "tests/integration/support/job.h"

namespace hccl::multirank {
namespace {

constexpr int kMostFailures = 3;  // that a rank tells
// Of all jobs of the selection together; sanitizers get more.
constexpr std::chrono::seconds kMostTime{540};

// The cases of one job: of all cases those with its ranks, launch and transport.
void forEachOf(uint32_t ranks, Launch launch, uint8_t transport,
               const std::function<void(const TestCase&)>& visit) {
  uint64_t number = 0;
  const auto every = [&](const TestCase& c) {
    if (number++ % divisor() == 0) visit(c);
  };
  if (fullProduct()) return forEachCase(ranks, launch, transport, every);
  static const std::vector<TestCase> all = pairwiseCases();
  for (const TestCase& c : all) {
    if (c.ranks() == ranks && c.launch() == launch && c.factor[kTransport] == transport) every(c);
  }
}

std::string commandLine(const TestCase& c) {
  return "collective_matrix --case \"" + c.text() + "\"";
}

void runCases(Rank& rank) {
  const auto launch = static_cast<Launch>(std::stoi(rank.argument("launch")));
  const auto transport = static_cast<uint8_t>(std::stoi(rank.argument("transport")));
  CaseRunner runner(rank);
  int failures = 0;
  const auto run = [&](const TestCase& c) {
    rank.note(c.text());
    std::string wrong;
    try {
      wrong = runner.run(c);
    } catch (const RankFailure& failure) {
      throw RankFailure(c.text() + ": " + failure.what() + "\n  again: " + commandLine(c));
    }
    if (wrong.empty()) return;
    // It goes on: the others count on it.
    if (++failures <= kMostFailures)
      rank.fail(c.text() + ": " + wrong + "\n  again: " + commandLine(c));
  };
  const std::string text = rank.argument("case");
  const int repeat = std::stoi(rank.argument("repeat", "1"));
  for (int i = 0; i < repeat; ++i) {
    if (text.empty()) {
      forEachOf(rank.ranks(), launch, transport, run);
    } else {
      run(*TestCase::parse(text));
    }
  }
  runner.close();
}

const RegisterBody cases("cases", runCases);

struct Options {
  uint32_t ranks = 0;  // 0: 1 to 8
  std::optional<Launch> launch;
  std::optional<uint8_t> transport;
  std::optional<TestCase> single;
  int repeat = 1;
  bool list = false;
  std::map<std::string, std::string> environment;  // over what the job sets
};

std::optional<Options> parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--list") {
      o.list = true;
      continue;
    }
    if (i + 1 == argc) return std::nullopt;
    const std::string value = argv[++i];
    if (name == "--ranks") {
      o.ranks = static_cast<uint32_t>(std::stoul(value));
    } else if (name == "--launch") {
      o.launch = value == "threads" ? Launch::kThreads : Launch::kProcesses;
    } else if (name == "--transport") {
      o.transport = value == "shm" ? 0 : 1;
    } else if (name == "--repeat") {
      o.repeat = std::stoi(value);
    } else if (name == "--environment" && value.find('=') != std::string::npos) {
      o.environment[value.substr(0, value.find('='))] = value.substr(value.find('=') + 1);
    } else if (name == "--case") {
      o.single = TestCase::parse(value);
      if (!o.single || !o.single->legal()) return std::nullopt;
      o.ranks = o.single->ranks();
      o.launch = o.single->launch();
      o.transport = o.single->factor[kTransport];
    } else {
      return std::nullopt;
    }
  }
  return o;
}

// How many cases the job ran; its failures go to standard output.
uint64_t runJobOf(const Options& o, uint32_t ranks, Launch launch, uint8_t transport, bool& good) {
  uint64_t count = 0;
  if (o.single) {
    count = 1;
  } else {
    forEachOf(ranks, launch, transport, [&](const TestCase& c) {
      ++count;
      if (o.list) std::cout << c.text() << "\n";
    });
  }
  if (o.list || count == 0) return count;
  const char* transportName = transport == 0 ? "shm" : "tcp";
  JobSpec spec;
  spec.body = "cases";
  spec.ranks = ranks;
  spec.launch = launch;
  spec.environment["HCCL_TRANSPORT"] = transportName;
  for (const auto& [variable, value] : o.environment) spec.environment[variable] = value;
  spec.arguments = {"launch=" + std::to_string(static_cast<int>(launch)),
                    "transport=" + std::to_string(transport), "repeat=" + std::to_string(o.repeat)};
  if (o.single) spec.arguments.push_back("case=" + o.single->text());
  spec.limit = std::chrono::seconds(fullProduct() ? 6 * 3600 : 240);
  const auto begin = std::chrono::steady_clock::now();
  const JobResult result = runJob(spec);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begin);
  std::cout << ranks << " " << nameOf(launch) << ", " << transportName << ": " << count
            << " cases, " << ms.count() << " ms" << (result.ok() ? "" : ", FAILED") << std::endl;
  if (!result.ok()) std::cout << result.text() << std::flush;
  good &= result.ok();
  return count;
}

int runAll(const Options& o) {
  bool good = true;
  std::map<std::string, uint64_t> summary;
  const auto end = std::chrono::steady_clock::now() + kMostTime * (divisor() > 1 ? 3 : 1);
  for (uint32_t ranks = 1; ranks <= 8; ++ranks) {
    if (o.ranks != 0 && o.ranks != ranks) continue;
    for (const Launch launch : {Launch::kThreads, Launch::kProcesses}) {
      if (o.launch && *o.launch != launch) continue;
      for (uint8_t transport = 0; transport < 2; ++transport) {
        if (o.transport && *o.transport != transport) continue;
        if (!fullProduct() && std::chrono::steady_clock::now() > end) {
          std::cout << "the time is over: the rest was not run" << std::endl;
          return 1;
        }
        const uint64_t count =
            runJobOf(o, ranks, launch, transport, good) * static_cast<uint64_t>(o.repeat);
        summary[std::string(nameOf(launch)) + ", " + (transport == 0 ? "shm" : "tcp")] += count;
      }
    }
  }
  uint64_t all = 0;
  for (const auto& [name, count] : summary) {
    std::cout << name << ": " << count << " cases\n";
    all += count;
  }
  std::cout << "all: " << all << " cases"
            << (fullProduct() && divisor() == 1 ? " (the whole product)" : "")
            << (good ? "" : ", with FAILURES") << std::endl;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace hccl::multirank

int main(int argc, char** argv) {
  hccl::multirank::runIfPartOfJob(argc, argv);
  const auto options = hccl::multirank::parse(argc, argv);
  if (!options) {
    std::cerr << "usage: collective_matrix [--ranks N] [--launch threads|processes] [--transport "
                 "shm|tcp]\n"
                 "                         [--case \"TEXT\"] [--repeat N] [--environment "
                 "NAME=VALUE] [--list]\n";
    return 2;
  }
  return hccl::multirank::runAll(*options);
}
