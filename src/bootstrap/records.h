// The bodies of rendezvous frames, as JSON. Decoding checks every field: a body comes from a member
// that proved the secret, but it may be of a broken or hostile program.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/topology/cluster.h"

namespace hccl::bootstrap {

// What an agent tells a root. With several roots, rank r belongs to group r % rootCount; the leader
// of group g > 0 joins the first root on behalf of its group.
struct JoinRecord {
  uint32_t rankCount = 0;  // of the communicator
  uint32_t rank = 0;       // of the sender
  uint32_t rootCount = 1;
  uint32_t rootIndex = 0;       // which root is asked
  std::vector<RankInfo> ranks;  // the sender's own; of its whole group when it leads one
  std::string agreed;           // JSON object or empty
  std::string group;            // the communicator's name, for texts
  Status failure;               // a leader's: the group has failed
};

struct Verdict {
  Status status;
  std::vector<RankInfo> ranks;  // when the status is OK
  // After a timeout of the root: what its agents log.
  std::string faultInfo;
  uint32_t connected = 0;
  uint32_t rankCount = 0;
};

// Errors: HCCL_E_PARA (a text of the caller is not UTF-8).
Result<std::string> encodeJoin(const JoinRecord& record);
Result<std::string> encodeVerdict(const Verdict& verdict);
Result<std::string> encodeRankList(const std::vector<RankInfo>& ranks);
// Errors: HCCL_E_PARA with what is wrong in the body.
Result<JoinRecord> decodeJoin(std::string_view body);
Result<Verdict> decodeVerdict(std::string_view body);
Result<std::vector<RankInfo>> decodeRankList(std::string_view body);

// The facts of `agreed` as texts. Errors: HCCL_E_PARA when it is neither empty nor a JSON object.
Result<std::map<std::string, std::string>> decodeAgreed(std::string_view agreed);

}  // namespace hccl::bootstrap
