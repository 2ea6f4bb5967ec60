#include "transport/link_error_info.h"

#include <fmt/core.h>

#include <cmath>

#include "src/base/log.h"

namespace hccl::transport {
namespace {

std::string ipOf(const std::string& address) {
  return address.substr(0, address.rfind(':'));
}

std::string portOf(const std::string& address) {
  const size_t at = address.rfind(':');
  return at == std::string::npos ? "" : address.substr(at + 1);
}

bool isReached(const LinkErrorRow& row) {
  return row.reason.rfind(kConnectedReason, 0) == 0;
}

}  // namespace

std::string linkStatusOf(const std::string& reason) {
  if (reason.empty()) return "no connect";
  if (reason.rfind(kConnectedReason, 0) == 0) return "connected";
  return reason.find("timed out") != std::string::npos ? "time out" : "connect failed";
}

std::vector<std::string> linkErrorLines(const LinkErrorFacts& facts) {
  std::vector<std::string> lines = {
      "   _________________________LINK_ERROR_INFO___________________________",
      fmt::format("   | comm error, device[{}] ", facts.device),
      "   |  dest_ip(user_rank)  |   dest_port   |  src_ip(user_rank)   |   src_port   |   MyRole  "
      " "
      "|   Status    |    TlsStatus   |",
      "   "
      "|----------------------|---------------|----------------------|--------------|------------"
      "|-------------|----------------|"};
  for (const LinkErrorRow& row : facts.rows) {
    // The lower rank waits for the call of the higher one.
    const char* role = facts.rank < row.peer ? "server" : "client";
    lines.push_back(
        fmt::format("   |  {}({})   |  {}  |   {}({})  |  {}  |  {} | {} |   DISABLE  | "
                    "LinkInfo",
                    ipOf(row.peerAddress), row.peer, portOf(row.peerAddress), ipOf(facts.address),
                    facts.rank, portOf(facts.address), role, linkStatusOf(row.reason)));
  }
  for (const LinkErrorRow& row : facts.rows) {
    lines.push_back(fmt::format(
        "[InitChannelStage][Timeout]Transport init error! createLink "
        "para:rank[{}]-localUserrank[{}]-localIpAddr[{}], "
        "remoteRank[{}]-remoteUserrank[{}]-remoteIpAddr[{}], machineType[{}], linkMode[1], "
        "isUsedRdma[0], tag[{}]",
        facts.rank, facts.rank, facts.name, row.peer, row.peer, row.peerName,
        facts.rank < row.peer ? 0 : 1, facts.communicator));
  }
  return lines;
}

std::vector<std::string> detectionLines(const LinkErrorFacts& facts) {
  std::vector<std::string> lines = {
      "-------------------CONNECT TIMEOUT DETECT RESULT-----------------------"};
  for (const LinkErrorRow& row : facts.rows) {
    if (isReached(row)) continue;
    lines.push_back(fmt::format(
        "This node ({}) detects that srcRank {} ({}) fails to connect to dstRank {} ({}): {}. "
        "Continue to analyze the fault based on the logs of srcRank and dstRank.",
        facts.name, facts.rank, facts.name, row.peer, row.peerName,
        row.reason.empty() ? "no answer" : row.reason));
  }
  if (lines.size() > 1) {
    lines.emplace_back(
        "1. Both ranks report the time-out: the network between them. 2. dstRank reports another "
        "error: follow that one. 3. dstRank is silent: its process hangs or has ended.");
  } else {
    lines.emplace_back(
        "This node detects no exception event. The possible cause is that the behaviors of "
        "different ranks are inconsistent: other operations or parameters, or sends and receives "
        "in a cycle. HCCL_ENTRY_LOG_ENABLE=1 logs every call.");
  }
  return lines;
}

void logLinkErrors(const LinkErrorFacts& facts) {
  HCCL_ERROR("[Wait][LinkEstablish]wait socket establish timeout, role[{}] rank[{}] timeout[{} s]",
             facts.rows.empty() || facts.rank < facts.rows.front().peer ? 0 : 1, facts.rank,
             std::llround(facts.seconds));
  for (const std::string& line : linkErrorLines(facts)) HCCL_ERROR("{}", line);
  for (const std::string& line : detectionLines(facts)) HCCL_ERROR("{}", line);
}

}  // namespace hccl::transport
