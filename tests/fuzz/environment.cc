// The environment: lines NAME=VALUE. Refused with the variable's name, or parsed. Values that name
// files are left out: what lies there is not the input.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "src/base/env.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::map<std::string, std::string> variables;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos || line.find('\0') != std::string_view::npos) continue;
    const std::string value(line.substr(equals + 1));
    if (value.find('/') != std::string::npos) continue;
    variables[std::string(line.substr(0, equals))] = value;
  }
  std::vector<hccl::EnvLogLine> lines;
  const auto parsed = hccl::parseEnvironment(
      [&](const char* name) -> const char* {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      &lines);
  if (!parsed.isOk() && parsed.status().text().find("HCCL_") == std::string::npos &&
      parsed.status().text().find("ASCEND_") == std::string::npos &&
      parsed.status().text().find("RANK_TABLE") == std::string::npos) {
    std::abort();
  }
  return 0;
}
