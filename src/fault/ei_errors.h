// The EI error codes: one table of title, text, cause and remedy, and the channel through which a
// program reads them (aclGetRecentErrMsg).
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace hccl {

enum class Ei : int {
  kEnvironment = 1,        // value, variable, expected
  kExecTimeout = 2,        // peer rank, task, operator, communicator
  kOperatorArgument = 3,   // operator, value, parameter, expected
  kRankTableFile = 4,      // file, reason
  kInconsistent = 5,       // operator, group, parameter, local value, remote value
  kGetSocket = 6,          // reason
  kResource = 7,           // resource, info
  kVersion = 8,            // what, local, remote
  kTransport = 9,          // device, reason
  kP2p = 10,               // reason
  kDeviceMemory = 11,      // bytes
  kMemoryCopy = 12,        // remote rank, base, task, communicator
  kCqe = 13,               // local server, device, ip; peer server, device, ip
  kRankTableValue = 14,    // value, variable, expected
  kRankTableDetect = 15,   // reason
  kConfig = 16,            // value, config, expected
  kRankTableMissing = 17,  // config
  kUbCqe = 18,             // as kCqe
  kHostListen = 19,        // reason
  kNpuListen = 20,         // reason
  kInner = 9999,           // text
  kEjInit = 10001,         // EJ0001
  kEjEnvironment = 10002,  // suggestion
  kEjBind = 10003,         // reason
  kEjAddress = 10004,      // reason
};

struct EiInfo {
  Ei code;
  std::string_view title;
  std::string_view text;      // "%s" for each argument
  std::string_view keywords;  // "[L1][L2]" of the log line
  std::string_view cause;
  std::string_view solution;
};
std::span<const EiInfo> eiTable();
// nullptr for a code that the table does not have.
const EiInfo* findEi(int eiCode);
// "EI0019", "EJ0003".
std::string eiName(int eiCode);

// A Status whose text is the table's text with the arguments filled in (missing ones stay empty).
Status eiError(Ei code, HcclResult result, std::initializer_list<std::string_view> args,
               int culprit = kNoRank);
// EI0003 with the arguments in its order; NULL pointers: value "nullptr", expected "non-null
// pointer".
Status argumentError(HcclResult result, std::string_view op, std::string_view value,
                     std::string_view parameter, std::string_view expected);
Status nullPointerError(std::string_view op, std::string_view parameter);

// The block a program shows: "[PID: n] time Title(Code): text", "Possible Cause:", "Solution:".
// A Status without an EI code becomes EI9999.
std::string screenText(const Status& status);

// Stores the error for the calling thread (the first one is kept until it is read) and logs it as
// "<keywords>errNo[0x0000000005000001] text". `keywords` is "[L1][L2]"; empty takes the code's own.
// An OK status does nothing.
void reportError(const Status& status, std::string_view keywords = {},
                 const char* file = __builtin_FILE(), int line = __builtin_LINE());
// The same for an error that no API call is there to return: any thread's next read may take it.
void reportAsyncError(const Status& status, std::string_view keywords = {},
                      const char* file = __builtin_FILE(), int line = __builtin_LINE());

// What aclGetRecentErrMsg returns: the calling thread's first unread error, else the process' first
// unread asynchronous one, else nullptr. Reading clears it; the text lives until the thread's next
// read.
const char* recentErrorMessage();
void clearRecentErrors();

// "errNo[0x0000000005000001]"; hcom gives the HCOM form 0x0000000005010001.
std::string errNoText(HcclResult code, bool hcom = false);
// The default "[L1][L2]" of a code.
std::string_view eiKeywords(int eiCode);

// docs/errors.md.
std::string errorsMarkdown();

}  // namespace hccl
