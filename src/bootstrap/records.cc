#include "src/bootstrap/records.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace hccl::bootstrap {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 8;
constexpr size_t kMaxText = 4096;
constexpr size_t kMaxEndpoint = 1u << 20;
constexpr size_t kMaxErrorText = 1u << 16;
constexpr size_t kMaxItems = 64;

Json toJson(const RankInfo& info) {
  Json layers = Json::array();
  for (const RankLayer& layer : info.layers) {
    layers.push_back({{"layer", layer.layer}, {"id", layer.instanceId}, {"type", layer.type}});
  }
  return {{"rank", info.rank},
          {"server", info.serverId},
          {"superPod", info.superPodId},
          {"device", info.deviceId},
          {"hostIp", info.hostIp},
          {"deviceIps", info.deviceIps},
          {"devicePort", info.devicePort},
          {"hostPort", info.hostPort},
          {"superDevice", info.superDeviceId},
          {"hostNic", info.hostNic},
          {"protocol", info.protocol},
          {"layers", std::move(layers)},
          {"endpoint", info.endpoint}};
}

Json toJson(const std::vector<RankInfo>& ranks) {
  Json list = Json::array();
  for (const RankInfo& info : ranks) list.push_back(toJson(info));
  return list;
}

Json toJson(const Status& status) {
  return {{"code", static_cast<uint32_t>(status.code())},
          {"ei", status.eiCode()},
          {"culprit", status.culprit()},
          {"text", status.text()}};
}

Result<std::string> dump(const Json& json) {
  try {
    return json.dump();
  } catch (const std::exception&) {
    return Status(HCCL_E_PARA, "a description of this rank is not UTF-8 text");
  }
}

// Reads fields and remembers the first one that is wrong.
class Reader {
 public:
  explicit Reader(const Json& object) : object_(object) {}

  void text(const char* key, std::string* out, size_t limit = kMaxText) {
    const Json* value = find(key);
    if (value == nullptr || !value->is_string() ||
        value->get_ref<const std::string&>().size() > limit) {
      return fail(key);
    }
    *out = value->get_ref<const std::string&>();
  }

  template <typename T>
  void number(const char* key, T* out, uint64_t limit) {
    const Json* value = find(key);
    if (value == nullptr || !value->is_number_unsigned() || value->get<uint64_t>() > limit) {
      return fail(key);
    }
    *out = static_cast<T>(value->get<uint64_t>());
  }

  void signedNumber(const char* key, int* out) {
    const Json* value = find(key);
    if (value == nullptr || !value->is_number_integer()) return fail(key);
    const auto number = value->get<int64_t>();
    if (number < INT32_MIN || number > INT32_MAX) return fail(key);
    *out = static_cast<int>(number);
  }

  void boolean(const char* key, bool* out) {
    const Json* value = find(key);
    if (value == nullptr || !value->is_boolean()) return fail(key);
    *out = value->get<bool>();
  }

  const Json* array(const char* key, size_t limit = SIZE_MAX) {
    const Json* value = find(key);
    if (value != nullptr && value->is_array() && value->size() <= limit) return value;
    fail(key);
    return nullptr;
  }

  const Json* find(const char* key) const {
    if (!object_.is_object()) return nullptr;
    const auto it = object_.find(key);
    return it == object_.end() ? nullptr : &*it;
  }
  void fail(const char* key) {
    if (wrong_.empty()) wrong_ = key;
  }
  Status status() const {
    if (wrong_.empty()) return Status::ok();
    return Status(HCCL_E_PARA, fmt::format("the message's field {} is missing or wrong", wrong_));
  }

 private:
  const Json& object_;
  std::string wrong_;
};

Result<RankInfo> rankFrom(const Json& object) {
  Reader reader(object);
  RankInfo info;
  reader.number("rank", &info.rank, UINT32_MAX);
  reader.text("server", &info.serverId);
  reader.text("superPod", &info.superPodId);
  reader.number("device", &info.deviceId, UINT32_MAX);
  reader.text("hostIp", &info.hostIp);
  reader.number("devicePort", &info.devicePort, UINT16_MAX);
  reader.number("hostPort", &info.hostPort, UINT16_MAX);
  reader.text("superDevice", &info.superDeviceId);
  reader.boolean("hostNic", &info.hostNic);
  reader.text("protocol", &info.protocol);
  reader.text("endpoint", &info.endpoint, kMaxEndpoint);
  if (const Json* ips = reader.array("deviceIps", kMaxItems)) {
    for (const Json& ip : *ips) {
      if (!ip.is_string()) {
        reader.fail("deviceIps");
        break;
      }
      info.deviceIps.push_back(ip.get_ref<const std::string&>());
    }
  }
  if (const Json* layers = reader.array("layers", kMaxItems)) {
    for (const Json& item : *layers) {
      Reader layerReader(item);
      RankLayer layer;
      layerReader.number("layer", &layer.layer, UINT32_MAX);
      layerReader.text("id", &layer.instanceId);
      layerReader.text("type", &layer.type);
      HCCL_RETURN_IF_ERROR(layerReader.status());
      info.layers.push_back(std::move(layer));
    }
  }
  HCCL_RETURN_IF_ERROR(reader.status());
  return info;
}

Result<std::vector<RankInfo>> ranksFrom(const Json* list) {
  if (list == nullptr) return Status(HCCL_E_PARA, "the message holds no list of ranks");
  std::vector<RankInfo> ranks;
  ranks.reserve(list->size());
  for (const Json& item : *list) {
    HCCL_ASSIGN_OR_RETURN(RankInfo info, rankFrom(item));
    ranks.push_back(std::move(info));
  }
  return ranks;
}

Status statusFrom(const Json* object, Status* out) {
  if (object == nullptr) return Status(HCCL_E_PARA, "the message holds no status");
  Reader reader(*object);
  uint32_t code = 0;
  int ei = 0;
  int culprit = kNoRank;
  std::string text;
  reader.number("code", &code, HCCL_E_RESERVED - 1);
  reader.signedNumber("ei", &ei);
  reader.signedNumber("culprit", &culprit);
  reader.text("text", &text, kMaxErrorText);
  HCCL_RETURN_IF_ERROR(reader.status());
  *out = Status(static_cast<HcclResult>(code), std::move(text), ei, culprit);
  return Status::ok();
}

// The parser does not recurse, but what walks over its result may.
bool isNestedTooDeep(std::string_view text) {
  int depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inString) {
      if (c == '\\') ++i;
      if (c == '"') inString = false;
      continue;
    }
    if (c == '"') inString = true;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth > kMaxDepth) return true;
  }
  return false;
}

Result<Json> parseBody(std::string_view body) {
  if (isNestedTooDeep(body)) return Status(HCCL_E_PARA, "the message is nested too deep");
  Json json = Json::parse(body, nullptr, false);
  if (json.is_discarded()) return Status(HCCL_E_PARA, "the message is not JSON");
  return json;
}

}  // namespace

Result<std::string> encodeJoin(const JoinRecord& record) {
  Json json{{"rankCount", record.rankCount}, {"rank", record.rank},
            {"rootCount", record.rootCount}, {"rootIndex", record.rootIndex},
            {"ranks", toJson(record.ranks)}, {"agreed", record.agreed},
            {"group", record.group}};
  if (!record.failure.isOk()) json["failure"] = toJson(record.failure);
  return dump(json);
}

Result<std::string> encodeVerdict(const Verdict& verdict) {
  return dump({{"status", toJson(verdict.status)},
               {"ranks", toJson(verdict.ranks)},
               {"faultInfo", verdict.faultInfo},
               {"connected", verdict.connected},
               {"rankCount", verdict.rankCount}});
}

Result<std::string> encodeRankList(const std::vector<RankInfo>& ranks) {
  return dump({{"ranks", toJson(ranks)}});
}

Result<JoinRecord> decodeJoin(std::string_view body) {
  HCCL_ASSIGN_OR_RETURN(const Json json, parseBody(body));
  Reader reader(json);
  JoinRecord record;
  reader.number("rankCount", &record.rankCount, UINT32_MAX);
  reader.number("rank", &record.rank, UINT32_MAX);
  reader.number("rootCount", &record.rootCount, UINT32_MAX);
  reader.number("rootIndex", &record.rootIndex, UINT32_MAX);
  reader.text("agreed", &record.agreed, kMaxErrorText);
  reader.text("group", &record.group);
  HCCL_ASSIGN_OR_RETURN(record.ranks, ranksFrom(reader.array("ranks")));
  if (const Json* failure = reader.find("failure")) {
    HCCL_RETURN_IF_ERROR(statusFrom(failure, &record.failure));
  }
  HCCL_RETURN_IF_ERROR(reader.status());
  return record;
}

Result<Verdict> decodeVerdict(std::string_view body) {
  HCCL_ASSIGN_OR_RETURN(const Json json, parseBody(body));
  Reader reader(json);
  Verdict verdict;
  HCCL_RETURN_IF_ERROR(statusFrom(reader.find("status"), &verdict.status));
  reader.text("faultInfo", &verdict.faultInfo, kMaxErrorText);
  reader.number("connected", &verdict.connected, UINT32_MAX);
  reader.number("rankCount", &verdict.rankCount, UINT32_MAX);
  HCCL_ASSIGN_OR_RETURN(verdict.ranks, ranksFrom(reader.array("ranks")));
  HCCL_RETURN_IF_ERROR(reader.status());
  return verdict;
}

Result<std::vector<RankInfo>> decodeRankList(std::string_view body) {
  HCCL_ASSIGN_OR_RETURN(const Json json, parseBody(body));
  Reader reader(json);
  return ranksFrom(reader.array("ranks"));
}

Result<std::map<std::string, std::string>> decodeAgreed(std::string_view agreed) {
  std::map<std::string, std::string> facts;
  if (agreed.empty()) return facts;
  HCCL_ASSIGN_OR_RETURN(const Json json, parseBody(agreed));
  if (!json.is_object()) return Status(HCCL_E_PARA, "the agreed facts are no JSON object");
  for (const auto& [key, value] : json.items()) {
    facts[key] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return facts;
}

}  // namespace hccl::bootstrap
