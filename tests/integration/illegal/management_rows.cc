// The rules of communicator management.
#include <cstdio>
#include <cstring>
#include <fstream>

#include "tests/integration/illegal/rows.h"

namespace hccl::multirank {
namespace {

void append(std::vector<Row>& all, std::vector<Row> more) {
  for (Row& row : more) all.push_back(std::move(row));
}

// A communicator of the caller alone, made with a configuration and destroyed.
HcclResult aloneWith(const HcclCommConfig& config, HcclComm* keep = nullptr) {
  HcclRootInfo root;
  HcclResult result = HcclGetRootInfo(&root);
  if (result != HCCL_SUCCESS) return result;
  HcclComm comm = nullptr;
  result = HcclCommInitRootInfoConfig(1, &root, 0, &config, &comm);
  if (result == HCCL_SUCCESS && keep == nullptr) (void)HcclCommDestroy(comm);
  if (keep != nullptr) *keep = comm;
  return result;
}

HcclResult sub(World& w, uint32_t number, const std::vector<uint32_t>* ranks, uint64_t id,
               uint32_t rank, HcclComm* made = nullptr) {
  HcclCommConfig config = makeConfig();
  HcclComm comm = nullptr;
  std::vector<uint32_t> list = ranks == nullptr ? std::vector<uint32_t>() : *ranks;
  const HcclResult result = HcclCreateSubCommConfig(
      &w.comm, number, ranks == nullptr ? nullptr : list.data(), id, rank, &config, &comm);
  if (made != nullptr) {
    *made = comm;
  } else if (comm != nullptr) {
    (void)HcclCommDestroy(comm);
  }
  return result;
}

std::vector<Row> rootInfoRows() {
  return {
      {"root info without place",
       [](World&) { return HcclGetRootInfo(nullptr); },
       HCCL_E_PTR,
       {"EI0003"}},
      {"init of no ranks",
       [](World&) {
         HcclRootInfo root = {};
         HcclComm comm = nullptr;
         return HcclCommInitRootInfo(0, &root, 0, &comm);
       },
       HCCL_E_PARA,
       {"EI0003", "nRanks"}},
      {"init with a rank that is too high",
       [](World&) {
         HcclRootInfo root = {};
         HcclComm comm = nullptr;
         return HcclCommInitRootInfo(2, &root, 2, &comm);
       },
       HCCL_E_PARA,
       {"EI0003", "rank"}},
      {"init without root info",
       [](World&) {
         HcclComm comm = nullptr;
         return HcclCommInitRootInfo(2, nullptr, 0, &comm);
       },
       HCCL_E_PTR,
       {"EI0003", "rootInfo"}},
      {"init without place for the handle",
       [](World&) {
         HcclRootInfo root = {};
         return HcclCommInitRootInfo(2, &root, 0, nullptr);
       },
       HCCL_E_PTR,
       {"EI0003", "comm"}},
      {"init with a root info of zeros",
       [](World&) {
         HcclRootInfo root = {};
         HcclComm comm = nullptr;
         return HcclCommInitRootInfo(2, &root, 0, &comm);
       },
       HCCL_E_PARA,
       {}},
      {"several roots: none",
       [](World&) {
         HcclRootInfo root = {};
         HcclComm comm = nullptr;
         return HcclCommInitRootInfoScalable(2, 0, &root, 0, 0, nullptr, &comm);
       },
       HCCL_E_PARA,
       {}},
      {"several roots: more than ranks",
       [](World&) {
         HcclRootInfo roots[3] = {};
         HcclComm comm = nullptr;
         return HcclCommInitRootInfoScalable(2, 3, roots, 0, 0, nullptr, &comm);
       },
       HCCL_E_PARA,
       {}},
      {"destroy of NULL", [](World&) { return HcclCommDestroy(nullptr); }, HCCL_SUCCESS, {}},
      {"destroy of a dead one", [](World& w) { return HcclCommDestroy(w.dead); }, HCCL_E_PARA, {}},
      {"destroy of an unknown one",
       [](World&) { return HcclCommDestroy(reinterpret_cast<void*>(0x4711)); },
       HCCL_E_PARA,
       {}},
      {"init all of none",
       [](World&) {
         int32_t device = 0;
         HcclComm comm = nullptr;
         return HcclCommInitAll(0, &device, &comm);
       },
       HCCL_E_PARA,
       {}},
      {"init all with a device twice",
       [](World&) {
         int32_t devices[] = {0, 0};
         HcclComm comms[2] = {};
         return HcclCommInitAll(2, devices, comms);
       },
       HCCL_E_PARA,
       {}},
      {"init all without devices",
       [](World&) {
         HcclComm comm = nullptr;
         return HcclCommInitAll(1, nullptr, &comm);
       },
       HCCL_E_PTR,
       {}},
  };
}

std::vector<Row> configRows() {
  return {
      {"config without the magic word",
       [](World&) {
         HcclCommConfig config = makeConfig();
         std::memset(config.reserved, 0, sizeof(config.reserved));
         return aloneWith(config);
       },
       HCCL_E_PARA,
       {"EI0003", "magic word"}},
      {"config with no buffer",
       [](World&) {
         HcclCommConfig config = makeConfig();
         config.hcclBufferSize = 0;
         return aloneWith(config);
       },
       HCCL_E_PARA,
       {"EI0003", "should be equal to or greater than 1(MB)."}},
      {"config with an unknown determinism",
       [](World&) {
         HcclCommConfig config = makeConfig();
         config.hcclDeterministic = 3;
         return aloneWith(config);
       },
       HCCL_E_PARA,
       {"EI0003"}},
      {"config with zero copy 2",
       [](World&) {
         HcclCommConfig config = makeConfig();
         config.aclGraphZeroCopyEnable = 2;
         return aloneWith(config);
       },
       HCCL_E_PARA,
       {}},
      {"config with a negative execution time-out: ignored",
       [](World&) {
         HcclCommConfig config = makeConfig();
         config.hcclExecTimeOut = -7;
         return aloneWith(config);
       },
       HCCL_SUCCESS,
       {}},
      {"config with an unknown expansion mode: ignored",
       [](World&) {
         HcclCommConfig config = makeConfig();
         config.hcclOpExpansionMode = 77;
         return aloneWith(config);
       },
       HCCL_SUCCESS,
       {}},
      {"config of a later version: read as far as known",
       [](World&) {
         HcclCommConfig config = makeConfig();
         const uint32_t version = 99;
         std::memcpy(config.reserved + sizeof(size_t) + sizeof(uint32_t), &version,
                     sizeof(version));
         return aloneWith(config);
       },
       HCCL_SUCCESS,
       {}},
      {"config of version 1: its zero copy field is not read",
       [](World&) {
         HcclCommConfig config = makeConfig();
         const uint32_t version = 1;
         std::memcpy(config.reserved + sizeof(size_t) + sizeof(uint32_t), &version,
                     sizeof(version));
         config.aclGraphZeroCopyEnable = 2;
         return aloneWith(config);
       },
       HCCL_SUCCESS,
       {}},
      {"a name that is in use",
       [](World& w) {
         HcclCommConfig config = makeConfig();
         std::snprintf(config.hcclCommName, sizeof(config.hcclCommName), "twice%u", w.rank);
         HcclComm first = nullptr;
         HcclResult result = aloneWith(config, &first);
         if (result != HCCL_SUCCESS) return result;
         result = aloneWith(config);
         const std::string text = takeErrorText();  // the destruction below must not replace it
         (void)HcclCommDestroy(first);
         return text.find("EI0003") == std::string::npos ? HCCL_E_INTERNAL : result;
       },
       HCCL_E_PARA,
       {}},
      {"HcclSetConfig with an unknown value",
       [](World&) { return HcclSetConfig(HCCL_DETERMINISTIC, HcclConfigValue{3}); },
       HCCL_E_PARA,
       {}},
      {"HcclSetConfig of nothing known",
       [](World&) { return HcclSetConfig(HCCL_CONFIG_RESERVED, HcclConfigValue{0}); },
       HCCL_E_PARA,
       {}},
      {"HcclGetConfig without place",
       [](World&) { return HcclGetConfig(HCCL_DETERMINISTIC, nullptr); },
       HCCL_E_PTR,
       {}},
      {"HcclConfigGetInfo with little room",
       [](World& w) {
         char room[4];
         return HcclConfigGetInfo(w.comm, HCCL_CONFIG_TYPE_HCCL_ALGO, sizeof(room), room);
       },
       HCCL_E_PARA,
       {}},
  };
}

std::vector<Row> subCommRows() {
  static const std::vector<uint32_t> twice = {0, 0};
  static const std::vector<uint32_t> strange = {0, 99};
  return {
      {"sub-communicator for a rank outside",
       [](World& w) { return sub(w, 0, nullptr, 0xFFFFFFFF, 0); },
       HCCL_SUCCESS,
       {}},
      {"sub-communicator without list but with an id",
       [](World& w) { return sub(w, 1, nullptr, 5, 0); },
       HCCL_E_PARA,
       {}},
      {"sub-communicator with a list but without id",
       [](World& w) {
         const std::vector<uint32_t> self = {w.rank};
         return sub(w, 1, &self, 0xFFFFFFFF, 0);
       },
       HCCL_E_PARA,
       {}},
      {"sub-communicator of nobody",
       [](World& w) {
         const std::vector<uint32_t> self = {w.rank};
         return sub(w, 0, &self, 5, 0);
       },
       HCCL_E_PARA,
       {}},
      {"sub-communicator with a rank that is too high",
       [](World& w) {
         const std::vector<uint32_t> self = {w.rank};
         return sub(w, 1, &self, 5, 1);
       },
       HCCL_E_PARA,
       {}},
      {"sub-communicator with a rank twice",
       [](World& w) { return sub(w, 2, &twice, 5, 0); },
       HCCL_E_PARA,
       {}},
      {"sub-communicator with an unknown rank",
       [](World& w) { return sub(w, 2, &strange, 5, 0); },
       HCCL_E_PARA,
       {}},
      {"sub-communicator without parent",
       [](World& w) {
         HcclCommConfig config = makeConfig();
         HcclComm made = nullptr;
         uint32_t self = w.rank;
         return HcclCreateSubCommConfig(nullptr, 1, &self, 5, 0, &config, &made);
       },
       HCCL_E_PTR,
       {}},
      {"sub-communicator of a sub-communicator",
       [](World& w) {
         const std::vector<uint32_t> self = {w.rank};
         HcclComm first = nullptr;
         HcclResult result = sub(w, 1, &self, 6 + w.rank, 0, &first);
         if (result != HCCL_SUCCESS) return HCCL_E_INTERNAL;
         HcclCommConfig config = makeConfig();
         HcclComm second = nullptr;
         uint32_t zero = 0;
         result = HcclCreateSubCommConfig(&first, 1, &zero, 7, 0, &config, &second);
         (void)HcclCommDestroy(first);
         return result;
       },
       HCCL_E_PARA,
       {}},
      {"the default name of a sub-communicator",
       [](World& w) {
         const std::vector<uint32_t> self = {w.rank};
         HcclComm made = nullptr;
         HcclResult result = sub(w, 1, &self, 4711 + w.rank, 0, &made);
         char parent[128], name[128];
         if (result == HCCL_SUCCESS) result = HcclGetCommName(w.comm, parent);
         if (result == HCCL_SUCCESS) result = HcclGetCommName(made, name);
         (void)HcclCommDestroy(made);
         if (result != HCCL_SUCCESS) return result;
         const std::string expected = std::string(parent) + "_sub_" + std::to_string(4711 + w.rank);
         return name == expected ? HCCL_SUCCESS : HCCL_E_INTERNAL;
       },
       HCCL_SUCCESS,
       {}},
  };
}

HcclResult byTable(const std::string& path, uint32_t rank, HcclComm* keep = nullptr) {
  HcclComm comm = nullptr;
  const HcclResult result = HcclCommInitClusterInfo(path.c_str(), rank, &comm);
  if (keep != nullptr) {
    *keep = comm;
  } else if (comm != nullptr) {
    (void)HcclCommDestroy(comm);
  }
  return result;
}

std::string writeTable(const World& w, const std::string& version) {
  const std::string path = w.folder + "/table" + std::to_string(w.rank) + version + ".json";
  std::ofstream(path)
      << R"({"status":"completed","version":")" << version
      << R"(","server_count":"1","server_list":[{"server_id":"127.0.0.1","device":[{"device_id":")"
      << w.rank << R"(","rank_id":"0"}]}]})";
  return path;
}

std::vector<Row> tableRows() {
  return {
      {"cluster info without path",
       [](World&) {
         HcclComm comm = nullptr;
         return HcclCommInitClusterInfo(nullptr, 0, &comm);
       },
       HCCL_E_PTR,
       {"EI000"}},
      {"cluster info that is no json file",
       [](World& w) { return byTable(w.folder + "/table.txt", 0); },
       HCCL_E_INTERNAL,
       {"EI0004"}},
      {"cluster info that does not exist",
       [](World& w) { return byTable(w.folder + "/nothing.json", 0); },
       HCCL_E_PARA,
       {"EI0004"}},
      {"cluster info of an unknown version",
       [](World& w) { return byTable(writeTable(w, "7.7"), 0); },
       HCCL_E_NOT_SUPPORT,
       {"EI0014", "a valid version number"}},
      {"cluster info with a rank that is too high",
       [](World& w) { return byTable(writeTable(w, "1.0"), 1); },
       HCCL_E_PARA,
       {"EI0014", "rank_id"}},
      {"the world twice",
       [](World& w) {
         HcclComm world = nullptr;
         HcclResult result = byTable(writeTable(w, "1.0"), 0, &world);
         if (result != HCCL_SUCCESS) return result;
         char name[128] = "";
         result = HcclGetCommName(world, name);
         const bool named = result == HCCL_SUCCESS && std::string(name) == "hccl_world_group";
         result = byTable(writeTable(w, "1.0"), 0);
         (void)HcclCommDestroy(world);
         return named ? result : HCCL_E_INTERNAL;
       },
       HCCL_E_UNAVAIL,
       {}},
      {"the world again after its end",
       [](World& w) { return byTable(writeTable(w, "1.0"), 0); },
       HCCL_SUCCESS,
       {}},
  };
}

std::vector<Row> questionRows() {
  return {
      {"size without place",
       [](World& w) { return HcclGetRankSize(w.comm, nullptr); },
       HCCL_E_PTR,
       {"EI0003"}},
      {"rank of nothing",
       [](World&) {
         uint32_t rank = 0;
         return HcclGetRankId(nullptr, &rank);
       },
       HCCL_E_PTR,
       {"EI0003"}},
      {"rank of a dead one",
       [](World& w) {
         uint32_t rank = 0;
         return HcclGetRankId(w.dead, &rank);
       },
       HCCL_E_PARA,
       {}},
      {"name without place",
       [](World& w) { return HcclGetCommName(w.comm, nullptr); },
       HCCL_E_PTR,
       {"EI0003"}},
      {"handle of an unknown name",
       [](World&) {
         HcclComm comm = nullptr;
         return HcclCommGetHandleWithName("nobody has this name", &comm);
       },
       HCCL_E_NOT_FOUND,
       {}},
      {"handle of the own name",
       [](World& w) {
         char name[128];
         HcclComm comm = nullptr;
         HcclResult result = HcclGetCommName(w.comm, name);
         if (result == HCCL_SUCCESS) result = HcclCommGetHandleWithName(name, &comm);
         return comm == w.comm ? result : HCCL_E_INTERNAL;
       },
       HCCL_SUCCESS,
       {}},
      {"asynchronous error without place",
       [](World& w) { return HcclGetCommAsyncError(w.comm, nullptr); },
       HCCL_E_PTR,
       {"EI0003"}},
      {"symmetric window with flag 0",
       [](World& w) {
         HcclCommSymWindow window = nullptr;
         return HcclCommSymWinRegister(w.comm, w.a, World::kBytes, &window, 0);
       },
       HCCL_E_PARA,
       {}},
      {"state callback with a name that is too long",
       [](World&) {
         const std::string name(160, 'x');
         return HcclCommRegCommStateCallback(
             name.c_str(), [](HcclComm, HcclCommStatePhase, void*) { return HCCL_SUCCESS; },
             nullptr);
       },
       HCCL_E_PARA,
       {}},
  };
}

}  // namespace

std::vector<Row> worldRows() {
  return tableRows();
}

std::vector<Row> managementRows() {
  std::vector<Row> all = rootInfoRows();
  append(all, configRows());
  append(all, subCommRows());
  append(all, questionRows());
  return all;
}

}  // namespace hccl::multirank
