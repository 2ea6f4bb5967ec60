// What ranks say to each other while links are made: cards, the messages of the control channel,
// and the words and greetings of the RDMA set-up.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "transport/card.h"
#include "transport/rdma/setup_words.h"
#include "transport/wire.h"

using namespace hccl::transport;

namespace {

template <typename T>
void body(std::string_view bytes) {
  T value{};
  if (readBody(bytes, &value) && bytes.size() != sizeof(T)) std::abort();
  if (readBody(bytes, &value, true) && bytes.size() < sizeof(T)) std::abort();
}

void card(const std::string& text) {
  const auto parsed = Card::parse(text);
  if (!parsed.isOk()) return;
  const auto again = Card::parse(parsed->toText());
  if (!again.isOk() || again->toText() != parsed->toText()) std::abort();
}

void words(const std::string& text) {
  const auto parsed = rdma::SetupWords::parse(text);
  if (!parsed) return;
  const auto again = rdma::SetupWords::parse(parsed->text());
  if (!again || again->text() != parsed->text()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      card(std::string(bytes));
      break;
    case 1:
      words(std::string(bytes));
      break;
    case 2:
      body<HelloBody>(bytes);
      body<ChallengeBody>(bytes);
      body<JoinBody>(bytes);
      body<RejectBody>(bytes);
      break;
    default:
      body<WantBody>(bytes);
      body<AbortBody>(bytes);
      body<HeartbeatBody>(bytes);
  }
  return 0;
}
