// What the command lines of the tools about plans share.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <string>

namespace hccl::tools {

// Which operation, on how many bytes.
struct OperationOptions {
  std::string op = "AllReduce";
  std::string sizes;
};

inline void addOperationOptions(CLI::App& app, OperationOptions& o) {
  app.add_option("--op", o.op, "AllReduce, Broadcast, ... (" + o.op + ")");
  app.add_option("--sizes", o.sizes, "bytes of the whole operation; list (" + o.sizes + ")");
}

// A tool's main(): `add(app)` declares the options, `run()` returns nothing or what is wrong.
template <typename Add, typename Run>
int runTool(const char* name, const char* purpose, int argc, char** argv, Add add, Run run) noexcept
    try {
  CLI::App app(purpose, name);
  add(app);
  CLI11_PARSE(app, argc, argv);
  const std::string wrong = run();
  if (!wrong.empty()) std::fprintf(stderr, "%s: %s\n", name, wrong.c_str());
  return wrong.empty() ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s: %s\n", name, error.what());
  return 1;
}

}  // namespace hccl::tools
