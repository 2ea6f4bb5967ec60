// RankCommands: one rank under test, driven by lines of text, so that tests can be the same for
// ranks of this process and for processes of their own. Every command answers one line; errors
// answer "error <code> <EI code> <culprit> <text>".
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "transport/transport.h"

namespace hccl::transport {

class RankCommands {
 public:
  // endpoint DEVICE HOST PORT             -> the endpoint
  // card ENDPOINT                         (once for each rank, in order)
  // links NAME SECRET RANK DEVICE TRANSPORTS TIMEOUT
  // connect PEER[,PEER] KIND SECONDS      (KIND 0 collective, 1 point to point)
  // describe PEER KIND                    -> "<link class> <same process> <description>"
  // publish PEER VALUE                    signals on the `open` line and rings
  // await PEER VALUE SECONDS              -> "ok <seconds waited>", asleep in the engine meanwhile
  // alloc BYTES SEED                      -> offset in the arena, filled with a pattern
  // check PEER REF BYTES SEED             through resolve()
  // reach PEER REF BYTES                  -> "address" or "outside"
  // store PEER REF BYTES SEED             writes the pattern through resolve()
  // verify OFFSET BYTES SEED              of own memory
  // send PEER KIND BYTES SEED SEQUENCE SECONDS / receive (the same)
  // exchange PEER KIND BYTES SEED SEQUENCE SECONDS      both at once
  // exchange-device ...                   the same in memory of the device, allocated for it
  // counters PEER KIND                    -> "<sent> <received>"
  // failure SECONDS                       -> "none" or "<peer> <EI code> <text>"
  // left PEER SECONDS                     -> "left" or "there"
  // fork                                  -> the pid of a child that does nothing for 20 s
  // cancel | destroy | fds | maps | exit
  std::string run(const std::string& line);

  Links* links() { return links_.get(); }

 private:
  std::string connect(std::istringstream& in);
  std::string await(std::istringstream& in);
  struct Exchange {
    uint32_t peer = 0;
    int kind = 0;
    size_t bytes = 0;
    uint64_t seed = 0, sequence = 0;
    double seconds = 0;
  };
  static Exchange parseExchange(std::istringstream& in);
  std::string exchangeDevice(const Exchange& e);
  std::string exchangePlain(const Exchange& e, bool sends, bool receives);
  std::string transfer(const Exchange& e, std::byte* out, std::byte* into);
  std::string memory(const std::string& command, std::istringstream& in);
  std::string failure(double seconds);

  LinksConfig config_;
  std::unique_ptr<Links> links_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string failure_;
};

// Numbers of open descriptors and of mappings of this process.
size_t openFds();
size_t mappings();

}  // namespace hccl::transport
