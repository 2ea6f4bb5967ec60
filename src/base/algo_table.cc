#include "src/base/algo_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <tuple>

#include "src/base/env.h"

namespace hccl {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kVariable = "HCCL_ALGO_TABLE";
constexpr uint64_t kMaxFileBytes = 16ULL << 20;
constexpr size_t kMaxRows = 100000;
constexpr uint64_t kMaxBytes = 1ULL << 50;
constexpr const char* kLinks[] = {"shared", "rdma", "tcp"};

auto keyOf(const AlgoTableRow& row) {
  return std::tie(row.op, row.ranks, row.servers, row.links);
}

Status wrong(const std::string& path, std::string_view where, std::string_view expected) {
  return invalidEnvironment(fmt::format("{} ({})", path, where), kVariable, expected);
}

// Reads one row; the first wrong field is kept.
class RowReader {
 public:
  RowReader(const Json& json, size_t number, const std::string& path)
      : json_(json), number_(number), path_(path) {}

  Result<AlgoTableRow> read() {
    if (!json_.is_object()) return wrong(path_, fmt::format("row {}", number_), "a JSON object");
    row_.number = number_;
    if (const Json* op = text("op", "an operation as in HCCL_ALGO")) {
      const auto found = findAlgoOp(op->get<std::string>());
      found ? void(row_.op = *found) : refuse("op", op->dump(), "an operation as in HCCL_ALGO");
    }
    row_.ranks = static_cast<uint32_t>(number("ranks", 2, 1U << 20, std::nullopt));
    row_.servers = static_cast<uint32_t>(number("servers", 1, 1U << 20, 1));
    row_.maxBytes = number("max_bytes", 0, kMaxBytes, std::nullopt);
    if (const Json* links = text("links", "shared, rdma or tcp")) {
      row_.links = links->get<std::string>();
      if (std::find(std::begin(kLinks), std::end(kLinks), row_.links) == std::end(kLinks)) {
        refuse("links", links->dump(), "shared, rdma or tcp");
      }
    }
    row_.flat = algorithm("algorithm");
    row_.level1 = algorithm("level1");
    row_.level2 = algorithm("level2");
    const bool levels = row_.level1 != AlgoToken::kUnset;
    if ((row_.flat != AlgoToken::kUnset) == levels) {
      refuse("algorithm", "", "either \"algorithm\" (all ranks as one level) or \"level1\"");
    }
    if (row_.level2 != AlgoToken::kUnset && !levels) refuse("level2", "", "a \"level1\" beside it");
    shape();
    unknownFields();
    if (!failure_.isOk()) return failure_;
    return std::move(row_);
  }

 private:
  void refuse(std::string_view field, const std::string& value, std::string_view expected) {
    if (!failure_.isOk()) return;
    failure_ = wrong(path_,
                     fmt::format("row {}, field \"{}\"{}{}", number_, field,
                                 value.empty() ? "" : ": ", value.substr(0, 100)),
                     expected);
  }

  const Json* text(const char* field, std::string_view expected) {
    const auto it = json_.find(field);
    if (it != json_.end() && it->is_string()) return &*it;
    refuse(field, it == json_.end() ? "missing" : it->dump(), expected);
    return nullptr;
  }

  uint64_t number(const char* field, uint64_t low, uint64_t high,
                  std::optional<uint64_t> otherwise) {
    const auto it = json_.find(field);
    if (it == json_.end() && otherwise) return *otherwise;
    if (it != json_.end() && it->is_number_unsigned()) {
      const auto value = it->get<uint64_t>();
      if (value >= low && value <= high) return value;
    }
    refuse(field, it == json_.end() ? "missing" : it->dump(),
           fmt::format("an integer from {} to {}", low, high));
    return low;
  }

  AlgoToken algorithm(const char* field) {
    const auto it = json_.find(field);
    if (it == json_.end()) return AlgoToken::kUnset;
    const auto token = it->is_string() ? findAlgoToken(it->get<std::string>()) : std::nullopt;
    if (token && *token != AlgoToken::kNull && *token != AlgoToken::kNa) return *token;
    refuse(field, it->dump(), "the name of an algorithm as in HCCL_ALGO");
    return AlgoToken::kUnset;
  }

  void shape() {
    const auto oneShot = json_.find("one_shot");
    if (oneShot != json_.end()) {
      if (!oneShot->is_boolean()) refuse("one_shot", oneShot->dump(), "true or false");
      row_.shape.oneShot = oneShot->is_boolean() && oneShot->get<bool>();
    }
    if (json_.contains("chunk_bytes")) {
      row_.shape.chunkBytes = number("chunk_bytes", kLeastChunkBytes, kMostChunkBytes, {});
    }
  }

  void unknownFields() {
    static const std::set<std::string> known = {"op",        "ranks",       "servers", "links",
                                                "max_bytes", "algorithm",   "level1",  "level2",
                                                "one_shot",  "chunk_bytes", "measured"};
    for (const auto& [name, value] : json_.items()) {
      if (!known.contains(name)) refuse(name, "unknown", "no fields but those of the format");
    }
  }

  const Json& json_;
  const size_t number_;
  const std::string& path_;
  AlgoTableRow row_;
  Status failure_;
};

std::string hashOf(const std::vector<AlgoTableRow>& rows) {
  uint64_t h = 0xcbf29ce484222325ULL;
  for (const AlgoTableRow& row : rows) {
    for (const char c : row.text() + "\n") {
      h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    }
  }
  return fmt::format("{:016x}", h);
}

}  // namespace

std::string AlgoTableRow::text() const {
  std::string result = fmt::format("{} {} {} {} {}", toString(op), ranks, servers, links, maxBytes);
  if (flat != AlgoToken::kUnset) result += fmt::format(" {}", toString(flat));
  if (level1 != AlgoToken::kUnset) result += fmt::format(" level1:{}", toString(level1));
  if (level2 != AlgoToken::kUnset) result += fmt::format(" level2:{}", toString(level2));
  if (shape.oneShot) result += *shape.oneShot ? " one-shot" : " not one-shot";
  if (shape.chunkBytes != 0) result += fmt::format(" chunk {}", shape.chunkBytes);
  return result;
}

Result<std::shared_ptr<const AlgoTable>> AlgoTable::load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (file) content << file.rdbuf();
  if (!file) return wrong(path, "cannot be read", "a readable JSON file that hccl_tune wrote");
  return parse(content.str(), path);
}

Result<std::shared_ptr<const AlgoTable>> AlgoTable::parse(std::string_view content,
                                                          const std::string& path) {
  if (content.size() > kMaxFileBytes) {
    return wrong(path, fmt::format("{} bytes", content.size()), "a file of at most 16 MB");
  }
  Json root;
  try {
    root = Json::parse(content);
  } catch (const Json::parse_error& error) {
    const auto end = content.begin() + static_cast<ptrdiff_t>(std::min(error.byte, content.size()));
    const auto line = 1 + std::count(content.begin(), end, '\n');
    return wrong(path, fmt::format("line {}, byte {}", line, error.byte), "a JSON text");
  }
  if (!root.is_object()) return wrong(path, "the whole file", "a JSON object");
  const auto version = root.find("version");
  if (version == root.end() || *version != 1) {
    return wrong(path, "field \"version\"", "1");
  }
  const auto list = root.find("rows");
  if (list == root.end() || !list->is_array() || list->size() > kMaxRows) {
    return wrong(path, "field \"rows\"", "a list of at most 100000 rows");
  }
  auto table = std::make_shared<AlgoTable>();
  table->path_ = path;
  for (const Json& json : *list) {
    HCCL_ASSIGN_OR_RETURN(AlgoTableRow row, RowReader(json, table->rows_.size() + 1, path).read());
    table->rows_.push_back(std::move(row));
  }
  auto& rows = table->rows_;
  std::sort(rows.begin(), rows.end(), [](const AlgoTableRow& a, const AlgoTableRow& b) {
    return std::tuple_cat(keyOf(a), std::tie(a.maxBytes, a.number)) <
           std::tuple_cat(keyOf(b), std::tie(b.maxBytes, b.number));
  });
  const auto twice = std::adjacent_find(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return keyOf(a) == keyOf(b) && a.maxBytes == b.maxBytes;
  });
  if (twice != rows.end()) {
    return wrong(path, fmt::format("row {}, field \"max_bytes\"", std::next(twice)->number),
                 fmt::format("a size that row {} does not have", twice->number));
  }
  table->hash_ = hashOf(rows);
  return std::shared_ptr<const AlgoTable>(std::move(table));
}

const AlgoTableRow* AlgoTable::find(AlgoOp op, uint32_t ranks, uint32_t servers,
                                    std::string_view links, uint64_t bytes) const {
  const auto wanted = std::tuple(op, ranks, servers, links, bytes);
  const auto it = std::lower_bound(
      rows_.begin(), rows_.end(), wanted, [](const AlgoTableRow& row, const auto& key) {
        return std::tuple(row.op, row.ranks, row.servers, std::string_view(row.links),
                          row.maxBytes) < key;
      });
  if (it == rows_.end() || it->op != op || it->ranks != ranks || it->servers != servers ||
      it->links != links) {
    return nullptr;
  }
  return &*it;
}

}  // namespace hccl
