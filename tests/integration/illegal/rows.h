// Tables of calls that the library must refuse, and of odd ones that it must accept: the rules of
// the API, one a row. Every rank of the job runs every row; none of them communicates.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hccl/hccl.h"
#include "hccl/hccl_sym_win.h"
#include "hccl/hcom.h"
#include "tests/integration/support/rank.h"

namespace hccl::multirank {

// What rows may use. `dead` is the handle of a communicator that was destroyed.
struct World {
  HcclComm comm = nullptr;
  HcclComm dead = nullptr;
  aclrtStream stream = nullptr;
  uint32_t rank = 0;
  uint32_t ranks = 0;
  char* a = nullptr;  // two buffers of kBytes
  char* b = nullptr;
  std::vector<uint64_t> none, ones, displs;  // `ranks` entries each: 0, 1, and 0 1 2 ...
  std::string folder;                        // for files
  static constexpr size_t kBytes = 64 << 10;
};

struct Row {
  const char* name;
  std::function<HcclResult(World&)> call;
  HcclResult expected;
  std::vector<std::string> texts;  // all of them stand in the text of aclGetRecentErrMsg
};

std::vector<Row> collectiveRows();
std::vector<Row> managementRows();
// Of the rank table's world, of which a process has one: for rank 0 alone.
std::vector<Row> worldRows();

}  // namespace hccl::multirank
