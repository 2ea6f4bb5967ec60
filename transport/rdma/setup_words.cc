#include "transport/rdma/setup_words.h"

#include <nlohmann/json.hpp>

namespace hccl::transport::rdma {
namespace {

using Json = nlohmann::json;

template <typename T>
bool read(const Json& json, const char* name, T* value) {
  const auto it = json.find(name);
  if (it == json.end() || !it->is_number_unsigned()) return false;
  const auto wide = it->get<uint64_t>();
  *value = static_cast<T>(wide);
  return static_cast<uint64_t>(*value) == wide;
}

std::string readText(const Json& json, const char* name) {
  const auto it = json.find(name);
  return it == json.end() || !it->is_string() ? std::string() : it->get<std::string>();
}

std::optional<SetupWords::End> parseEnd(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  const auto address = IpAddress::parse(readText(json, "address"));
  SetupWords::End end;
  uint32_t mtu = 0;
  if (!address || !read(json, "port", &end.port) || !read(json, "key", &end.key) ||
      !read(json, "mtu", &mtu) || mtu < IBV_MTU_256 || mtu > IBV_MTU_4096) {
    return std::nullopt;
  }
  end.address = *address;
  end.mtu = static_cast<ibv_mtu>(mtu);
  return end;
}

}  // namespace

std::string SetupWords::text() const {
  auto ends = Json::array();
  for (const End& end : rails) {
    ends.push_back({{"address", end.address.toString()},
                    {"port", end.port},
                    {"key", end.key},
                    {"mtu", static_cast<int>(end.mtu)}});
  }
  return Json{{"kind", kind},
              {"token", token},
              {"ring", ring},
              {"depth", shape.depth},
              {"cell", shape.cellBytes},
              {"qps", shape.queuePairs},
              {"flags", flags},
              {"rails", ends}}
      .dump();
}

std::optional<SetupWords> SetupWords::parse(const std::string& text) {
  const auto json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  SetupWords words;
  words.kind = readText(json, "kind");
  if (!read(json, "token", &words.token) || !read(json, "ring", &words.ring) ||
      !read(json, "depth", &words.shape.depth) || !read(json, "cell", &words.shape.cellBytes) ||
      !read(json, "qps", &words.shape.queuePairs) || !isLegal(words.shape)) {
    return std::nullopt;
  }
  const auto flags = json.find("flags");
  words.flags = flags != json.end() && flags->is_boolean() && flags->get<bool>();
  const auto rails = json.find("rails");
  if (rails == json.end() || !rails->is_array() || rails->empty() || rails->size() > kMaxRails) {
    return std::nullopt;
  }
  for (const auto& rail : *rails) {
    const auto end = parseEnd(rail);
    if (!end) return std::nullopt;
    words.rails.push_back(*end);
  }
  return words;
}

}  // namespace hccl::transport::rdma
