#include "src/base/algo_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace hccl {
namespace {

constexpr std::pair<std::string_view, AlgoToken> kTokens[] = {
    {"null", AlgoToken::kNull},
    {"NA", AlgoToken::kNa},
    {"ring", AlgoToken::kRing},
    {"pipeline", AlgoToken::kPipeline},
    {"fullmesh", AlgoToken::kFullMesh},
    {"H-D_R", AlgoToken::kHalvingDoubling},
    {"pairwise", AlgoToken::kPairwise},
    {"NHR", AlgoToken::kNhr},
    {"NHR_V1", AlgoToken::kNhrV1},
    {"AHC", AlgoToken::kAhc},
    {"AHC_BROKE", AlgoToken::kAhcBroke},
    {"NB", AlgoToken::kNb},
    {"star", AlgoToken::kStar},
    {"doubling", AlgoToken::kDoubling},
    {"bruck", AlgoToken::kBruck},
    {"doubletree", AlgoToken::kDoubleTree},
    {"groupedmesh", AlgoToken::kGroupedMesh},
};

constexpr std::pair<std::string_view, AlgoOp> kOps[] = {
    {"allgather", AlgoOp::kAllGather}, {"reducescatter", AlgoOp::kReduceScatter},
    {"allreduce", AlgoOp::kAllReduce}, {"broadcast", AlgoOp::kBroadcast},
    {"reduce", AlgoOp::kReduce},       {"scatter", AlgoOp::kScatter},
    {"alltoall", AlgoOp::kAllToAll},   {"send", AlgoOp::kSend},
    {"receive", AlgoOp::kReceive},     {"gather", AlgoOp::kGather},
    {"sendrecv", AlgoOp::kSendRecv},
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

struct Part {
  AlgoLevels levels{};
  AlgoShape shape;
};

// "oneshot:yes", "chunk:512K": each at most once.
bool parseShape(std::string_view key, std::string_view value, AlgoShape* shape) {
  if (key == "oneshot") {
    if (shape->oneShot || (value != "yes" && value != "no")) return false;
    shape->oneShot = value == "yes";
    return true;
  }
  const auto bytes = parseByteCount(value);
  if (key != "chunk" || shape->chunkBytes != 0 || !bytes) return false;
  shape->chunkBytes = *bytes;
  return *bytes >= kLeastChunkBytes && *bytes <= kMostChunkBytes;
}

// "level0:NA;level1:ring;oneshot:no": each key at most once.
std::optional<Part> parsePart(std::string_view text) {
  Part result;
  std::array<bool, 4> seen{};
  for (const std::string_view part : split(text, ';')) {
    const size_t colon = part.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const std::string_view key = part.substr(0, colon);
    const std::string_view value = part.substr(colon + 1);
    if (colon != 6 || !key.starts_with("level")) {
      if (!parseShape(key, value, &result.shape)) return std::nullopt;
      continue;
    }
    const int index = key[5] - '0';
    const auto token = findAlgoToken(value);
    if (index < 0 || index > 3 || !token || std::exchange(seen[static_cast<size_t>(index)], true)) {
      return std::nullopt;
    }
    result.levels[static_cast<size_t>(index)] = *token;
  }
  return result;
}

class Rules {
 public:
  explicit Rules(std::vector<std::string>* warnings) : warnings_(warnings) {}

  // Drops what has no effect for `op`, with a line for each.
  AlgoLevels apply(AlgoOp op, AlgoLevels levels) {
    if (levels[0] != AlgoToken::kUnset && levels[0] != AlgoToken::kNa &&
        levels[0] != AlgoToken::kNull) {
      warn(op, 0, levels[0]);
      levels[0] = AlgoToken::kNa;
    }
    const bool meshAtLevel1 =
        levels[1] == AlgoToken::kFullMesh || levels[1] == AlgoToken::kPairwise;
    if (meshAtLevel1 && op != AlgoOp::kAllToAll) {
      warn(op, 1, levels[1]);
      levels[1] = AlgoToken::kUnset;
    }
    switch (levels[2]) {
      case AlgoToken::kUnset:
      case AlgoToken::kNa:
      case AlgoToken::kNull:
      case AlgoToken::kRing:
      case AlgoToken::kHalvingDoubling:
      case AlgoToken::kNhr:
      case AlgoToken::kNb:
      case AlgoToken::kPipeline:
        break;
      default:
        if (!(levels[2] == AlgoToken::kAhc && levels[1] == AlgoToken::kAhc)) {
          warn(op, 2, levels[2]);
          levels[2] = AlgoToken::kUnset;
        }
    }
    if (levels[1] == AlgoToken::kAhc) levels[2] = AlgoToken::kAhc;
    return levels;
  }

 private:
  void warn(AlgoOp op, int level, AlgoToken token) {
    if (warnings_ == nullptr) return;
    const std::string line = fmt::format("hccl algo op {}: level{}:{} is not supported, ignored",
                                         toString(op), level, toString(token));
    if (std::find(warnings_->begin(), warnings_->end(), line) == warnings_->end()) {
      warnings_->push_back(line);
    }
  }

  std::vector<std::string>* warnings_;
};

void setPart(AlgoConfig* config, size_t op, const Part& part, Rules* rules) {
  config->perOp[op] = rules->apply(static_cast<AlgoOp>(op), part.levels);
  config->shapes[op] = part.shape;
}

// "<op>=<levels>/<op>=<levels>[/others=<levels>]"; wherever it stands, "others" means the
// operations that no other part names.
bool parsePerOp(std::string_view text, AlgoConfig* config, Rules* rules) {
  std::array<bool, kAlgoOpCount> seen{};
  std::optional<Part> others;
  for (const std::string_view item : split(text, '/')) {
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view name = item.substr(0, equals);
    const auto part = parsePart(item.substr(equals + 1));
    if (!part || part->levels[0] == AlgoToken::kNull) return false;
    if (name == "others") {
      if (others) return false;
      others = part;
      continue;
    }
    const auto op = findAlgoOp(name);
    if (!op || std::exchange(seen[static_cast<size_t>(*op)], true)) return false;
    setPart(config, static_cast<size_t>(*op), *part, rules);
  }
  for (size_t i = 0; others && i < kAlgoOpCount; ++i) {
    if (!seen[i]) setPart(config, i, *others, rules);
  }
  return true;
}

}  // namespace

std::string_view toString(AlgoToken token) {
  for (const auto& [name, value] : kTokens) {
    if (value == token) return name;
  }
  return "";
}

std::string_view toString(AlgoOp op) {
  for (const auto& [name, value] : kOps) {
    if (value == op) return name;
  }
  return "";
}

std::optional<AlgoToken> findAlgoToken(std::string_view text) {
  for (const auto& [name, token] : kTokens) {
    if (name == text) return token;
  }
  return std::nullopt;
}

std::optional<AlgoOp> findAlgoOp(std::string_view text) {
  for (const auto& [name, op] : kOps) {
    if (name == text) return op;
  }
  return std::nullopt;
}

std::optional<uint64_t> parseByteCount(std::string_view text) {
  uint64_t unit = 1;
  if (!text.empty() && (text.back() < '0' || text.back() > '9')) {
    const size_t index = std::string_view("KMG").find(text.back());
    if (index == std::string_view::npos) return std::nullopt;
    unit = 1ULL << (10 * (index + 1));
    text.remove_suffix(1);
  }
  uint64_t number = 0;
  if (text.empty() || text.size() > 10) return std::nullopt;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return std::nullopt;
    number = number * 10 + static_cast<uint64_t>(digit - '0');
  }
  return number * unit;
}

std::optional<AlgoConfig> parseAlgoConfig(std::string_view text,
                                          std::vector<std::string>* warnings) {
  AlgoConfig config;
  std::remove_copy(text.begin(), text.end(), std::back_inserter(config.text), ' ');
  if (config.text.empty()) return config;
  Rules rules(warnings);
  if (config.text.find('=') != std::string::npos) {
    if (!parsePerOp(config.text, &config, &rules)) return std::nullopt;
    return config;
  }
  const auto part = parsePart(config.text);
  if (!part) return std::nullopt;
  config.flat = part->levels[0] == AlgoToken::kNull;
  const bool meshAtLevel1 =
      part->levels[1] == AlgoToken::kFullMesh || part->levels[1] == AlgoToken::kPairwise;
  // One line for a form that means all operations, not one for each of them.
  rules.apply(meshAtLevel1 ? AlgoOp::kAllReduce : AlgoOp::kAllToAll, part->levels);
  Rules quiet(nullptr);
  for (size_t i = 0; i < kAlgoOpCount; ++i) setPart(&config, i, *part, &quiet);
  return config;
}

std::string algoLevelsText(const AlgoLevels& levels) {
  return fmt::format("config level0:{}, level1:{}, level2:{}, level3:{}", toString(levels[0]),
                     toString(levels[1]), toString(levels[2]), toString(levels[3]));
}

}  // namespace hccl
