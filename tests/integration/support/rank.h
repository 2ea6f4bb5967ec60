// What a rank of a job sees: who it is, a way to meet the others that does not depend on the
// library, and checks that end it with a text.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "hccl/hccl.h"

namespace hccl::multirank {

// Ends a rank. Its text becomes a failure of the job.
struct RankFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Ends a rank that waits for one that failed. Reported by nobody.
struct JobAborted : std::exception {};

class Rank {
 public:
  Rank(uint32_t rank, uint32_t ranks, int socket, std::vector<std::string> arguments)
      : rank_(rank), ranks_(ranks), socket_(socket), arguments_(std::move(arguments)) {}
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  uint32_t rank() const { return rank_; }
  uint32_t ranks() const { return ranks_; }
  const std::vector<std::string>& arguments() const { return arguments_; }
  // The value of "name=value" among the arguments, or the default.
  std::string argument(const std::string& name, const std::string& otherwise = "") const;

  // Every rank's bytes, by rank. All ranks call it.
  std::vector<std::string> allGather(const std::string& own);
  void meet() { (void)allGather(""); }
  // What the rank does now: told when the job has to be ended.
  void note(const std::string& text);
  void report(const std::string& text);
  // A failure that does not end the rank.
  void fail(const std::string& text);

 private:
  void send(char kind, const std::string& text);

  uint32_t rank_;
  uint32_t ranks_;
  int socket_;
  std::vector<std::string> arguments_;
};

// RankFailure with the expression, the code and the text of aclGetRecentErrMsg unless the call
// succeeded.
void expectOk(HcclResult result, const char* expression);
void expectOk(aclError result, const char* expression);
void expect(bool condition, const std::string& text);
#define HCCL_MUST(call) ::hccl::multirank::expectOk((call), #call)

// The text of the newest error of this thread, and none afterwards.
std::string takeErrorText();

// A communicator of all ranks of the job by root info. All ranks call it.
HcclComm openByRootInfo(Rank& rank, const HcclCommConfig* config = nullptr);
HcclCommConfig makeConfig();

// A device and a stream for the life of the object.
class Session {
 public:
  explicit Session(int32_t device);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  aclrtStream stream() const { return stream_; }
  // Waits for the stream; a RankFailure for an error or after `seconds`.
  void synchronise(int seconds = 100);

 private:
  int32_t device_;
  aclrtStream stream_ = nullptr;
};

}  // namespace hccl::multirank
