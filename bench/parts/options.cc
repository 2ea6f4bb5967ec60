#include "bench/parts/options.h"

#include <CLI/CLI.hpp>
#include <cctype>
#include <cmath>
#include <sstream>

#include "bench/parts/error.h"
#include "bench/parts/types.h"

namespace hccl::bench {
namespace {

constexpr const char* kFooter =
    "Sizes are bytes of the operation's whole vector. The device of a rank is rank mod npus. When\n"
    "HCCL_HOST_DEVICES is not set, the program sets it to npus (-p), else to the largest number "
    "of\n"
    "ranks that share a host, so that there may be more ranks than cores.";

std::string usageError(const std::string& program, const std::string& what) {
  return program + ": " + what + "\nRun with --help for more information.\n";
}

// What the parser cannot say about single options. Empty when all is well.
std::string contradiction(const Options& options) {
  if (options.minBytes > options.maxBytes) return "--minbytes is larger than --maxbytes";
  if (options.stepFactor == 1) return "--stepfactor must be larger than 1";
  if (options.stepFactor > 1 && options.minBytes == 0 && options.maxBytes > 0) {
    return "--stepfactor leads nowhere from --minbytes 0";
  }
  return "";
}

// The texts of options whose values are not plain numbers.
struct Words {
  std::string minBytes;
  std::string maxBytes;
  std::string stepBytes;
  std::string offset;
  int check = 1;
  CLI::Option* onlyDeviceTime = nullptr;
  int onlyDeviceTimeValue = 1;  // -t without a value turns it on
};

// "a | b | c"
template <typename Value>
std::string alternatives(const std::vector<std::pair<std::string, Value>>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : " | ") + name.first;
  return text;
}

void addHcclOptions(CLI::App& app, Options& options, Words& words) {
  app.add_option("-b,--minbytes", words.minBytes, "smallest size; suffix K, M, G (64M)")
      ->option_text("SIZE");
  app.add_option("-e,--maxbytes", words.maxBytes, "largest size; suffix K, M, G (64M)")
      ->option_text("SIZE");
  app.add_option("-i,--stepbytes", words.stepBytes,
                 "bytes between sizes; 0 repeats --minbytes for ever ((max - min) / 10)")
      ->option_text("SIZE");
  app.add_option("-f,--stepfactor", options.stepFactor,
                 "factor between sizes, larger than 1; wins over --stepbytes")
      ->option_text("N");
  app.add_option("-n,--iters", options.iterations, "measured calls for each size (20)")
      ->check(CLI::Range(1U, 100000000U))
      ->option_text("N");
  app.add_option("-w,--warmup_iters", options.warmUps, "calls before the measured ones (10)")
      ->option_text("N");
  app.add_option("-o,--op", options.op, "reduction (sum)")
      ->transform(CLI::CheckedTransformer(reductionNames(), CLI::ignore_case))
      ->option_text(alternatives(reductionNames()));
  app.add_option("-d,--datatype", options.type, "data type (fp32)")
      ->transform(CLI::CheckedTransformer(typeNames(), CLI::ignore_case))
      ->option_text(alternatives(typeNames()));
  app.add_option("-r,--root", options.root, "root rank, which also prints the results (0)")
      ->option_text("RANK");
  app.add_option("-c,--check", words.check, "check results: 0 off, 1 on, 2 verbose (1)")
      ->check(CLI::Range(0, 2))
      ->option_text("0 | 1 | 2");
  app.add_option("-p,--npus", options.devicesPerNode,
                 "devices of each node (as many as the runtime offers)")
      ->check(CLI::Range(1U, 1024U))
      ->option_text("N");
  words.onlyDeviceTime =
      app.add_option("-t,--onlydevicetime", words.onlyDeviceTimeValue,
                     "1: measure without the time that calls take to be enqueued (0)")
          ->expected(0, 1)
          ->check(CLI::Range(0, 1))
          ->option_text("0 | 1");
}

void addOwnOptions(CLI::App& app, Options& options, Words& words) {
  const std::vector<std::pair<std::string, MemoryKind>> memories = {{"device", MemoryKind::Device},
                                                                    {"malloc", MemoryKind::Malloc}};
  app.add_flag("--busbw", options.busBandwidth, "add a column with the bus bandwidth")
      ->group("Additions");
  app.add_flag("--sync", options.synchronous,
               "synchronise after every call; add columns with p50 (median), p99 and minimum")
      ->group("Additions");
  app.add_option("--memory", options.memory, "buffers: device (aclrtMalloc) or malloc (device)")
      ->transform(CLI::CheckedTransformer(memories, CLI::ignore_case))
      ->group("Additions")
      ->option_text("device | malloc");
  app.add_flag("--in_place", options.inPlace, "send and receive in one buffer")->group("Additions");
  app.add_option("--offset", words.offset, "bytes by which buffers miss their alignment (0)")
      ->group("Additions")
      ->option_text("BYTES");
  app.add_option("--json", options.json, "the printing rank also writes its results to this file")
      ->group("Additions")
      ->option_text("FILE");
}

void applyWords(const Words& words, Options& options) {
  if (!words.minBytes.empty()) options.minBytes = parseBytes(words.minBytes);
  if (!words.maxBytes.empty()) options.maxBytes = parseBytes(words.maxBytes);
  if (!words.offset.empty()) options.offset = parseBytes(words.offset);
  options.stepGiven = !words.stepBytes.empty();
  options.stepBytes =
      options.stepGiven ? parseBytes(words.stepBytes) : (options.maxBytes - options.minBytes) / 10;
  options.check = static_cast<CheckMode>(words.check);
  const CLI::Option& only = *words.onlyDeviceTime;
  const bool hasValue = only.count() > 0 && !only.results().empty() && !only.results()[0].empty();
  options.onlyDeviceTime = only.count() > 0 && (!hasValue || words.onlyDeviceTimeValue != 0);
}

}  // namespace

bool Options::repeatsForEver() const {
  return stepFactor <= 1 && stepGiven && stepBytes == 0;
}

uint64_t parseBytes(const std::string& text) {
  size_t used = 0;
  double value = -1;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  std::string unit = text.substr(used);
  if (unit.size() > 1 && (unit.back() == 'B' || unit.back() == 'b')) unit.pop_back();
  const size_t power = unit.empty() ? 0
                                    : std::string("BKMG").find(static_cast<char>(
                                          std::toupper(static_cast<unsigned char>(unit.front()))));
  if (used == 0 || unit.size() > 1 || power == std::string::npos || !(value >= 0) || value > 1e15) {
    throw BenchError("'" + text + "' is no size");
  }
  return static_cast<uint64_t>(std::llround(std::ldexp(value, static_cast<int>(10 * power))));
}

Parsed parseOptions(int argc, const char* const* argv, const std::string& program,
                    const std::string& purpose) {
  Parsed parsed;
  Words words;
  CLI::App app(purpose, program);
  app.set_help_flag("-h,--help", "print this text and leave");
  app.footer(kFooter);
  addHcclOptions(app, parsed.options, words);
  addOwnOptions(app, parsed.options, words);
  std::string wrong;
  try {
    app.parse(argc, argv);
    applyWords(words, parsed.options);
    wrong = contradiction(parsed.options);
  } catch (const CLI::CallForHelp&) {
    parsed.proceed = false;
    parsed.text = app.help();
    return parsed;
  } catch (const CLI::ParseError& error) {
    wrong = error.what();
  } catch (const BenchError& error) {
    wrong = error.what();
  }
  if (!wrong.empty()) {
    parsed.proceed = false;
    parsed.exitCode = 2;
    parsed.text = usageError(program, wrong);
  }
  return parsed;
}

bool SizeSequence::next(uint64_t* bytes) {
  if (done_ || next_ > options_.maxBytes) return false;
  *bytes = next_;
  if (options_.repeatsForEver()) return true;
  const uint64_t left = options_.maxBytes - next_;
  if (options_.stepFactor > 1) {
    done_ = next_ == 0 || next_ > options_.maxBytes / options_.stepFactor;
    next_ *= options_.stepFactor;
  } else {
    done_ = options_.stepBytes == 0 || options_.stepBytes > left;
    next_ += options_.stepBytes;
  }
  return true;
}

}  // namespace hccl::bench
