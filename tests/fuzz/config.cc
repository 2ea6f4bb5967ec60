// HcclCommConfig as a caller may hand it over: any bytes, of which the first say how many count.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "hccl/hccl.h"
#include "src/communicator/config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const hccl::Environment environment =
      *hccl::parseEnvironment([](const char*) -> const char* { return nullptr; });
  // The size it states is the caller's promise, so it is kept: memory ends just there, behind the
  // header at least.
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  std::memcpy(&config, data, std::min(size, sizeof(config)));
  uint64_t stated = 0;
  std::memcpy(&stated, &config, sizeof(stated));
  const size_t room = std::min<uint64_t>(stated, sizeof(config));
  if (stated > sizeof(config)) {
    stated = sizeof(config);
    std::memcpy(&config, &stated, sizeof(stated));
  }
  const size_t bytes = std::max<size_t>(room, sizeof(config.reserved));
  const std::unique_ptr<void, decltype(&std::free)> memory(std::malloc(bytes), &std::free);
  std::memcpy(memory.get(), &config, bytes);
  const auto loaded =
      hccl::loadConfig(static_cast<const HcclCommConfig*>(memory.get()), environment, "Fuzz");
  if (!loaded.isOk()) {
    if (loaded.status().code() == HCCL_SUCCESS || loaded.status().text().empty()) std::abort();
    return 0;
  }
  (void)hccl::agreedFacts(loaded->settings);
  return 0;
}
