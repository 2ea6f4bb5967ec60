#include "src/fault/ei_errors.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "src/base/env.h"
#include "src/base/log.h"

namespace hccl {
namespace {

class EiErrors : public ::testing::Test {
 protected:
  void SetUp() override {
    log::Config none;
    none.level = log::Level::kNone;
    log::configure(none);
    clearRecentErrors();
  }
};

TEST_F(EiErrors, TableIsComplete) {
  std::set<std::string> names;
  for (const EiInfo& info : eiTable()) {
    EXPECT_TRUE(names.insert(eiName(static_cast<int>(info.code))).second);
    EXPECT_FALSE(info.title.empty() || info.text.empty());
    EXPECT_FALSE(info.cause.empty() || info.solution.empty());
  }
  for (int code = 1; code <= 20; ++code) EXPECT_EQ(names.count(eiName(code)), 1u) << code;
  for (const char* name : {"EJ0001", "EJ0002", "EJ0003", "EJ0004", "EI9999"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
}

TEST_F(EiErrors, TextsWithArguments) {
  const Status listen = eiError(Ei::kHostListen, HCCL_E_UNAVAIL,
                                {"The IP address 1.2.3.4 and port 60000 have already been bound."});
  EXPECT_EQ(
      listen.text(),
      "Failed to enable listening for the host network adapter socket. Reason: The IP address "
      "1.2.3.4 and port 60000 have already been bound.");
  EXPECT_EQ(listen.eiCode(), 19);
  EXPECT_EQ(listen.code(), HCCL_E_UNAVAIL);
  const Status timeout = eiError(Ei::kExecTimeout, HCCL_E_TIMEOUT, {"3", "task", "op", "comm"}, 3);
  EXPECT_EQ(timeout.culprit(), 3);
  EXPECT_EQ(timeout.text(),
            "A timeout occurs when the Notify register waits for execution. Waiting peer rank: 3; "
            "task information: task; communication operator information: op; communicator: comm.");
  EXPECT_EQ(eiError(Ei::kConfig, HCCL_E_PARA, {"100%s"}).text(),
            "Value 100%s for config  is invalid. Expected value: .")
      << "an argument is not a template, missing ones stay empty";
  EXPECT_EQ(nullPointerError("HcclAllReduce", "sendBuf").text(),
            "Failed to verify parameters of operator HcclAllReduce. Value nullptr for parameter "
            "sendBuf is invalid. The expected value is non-null pointer.");
  EXPECT_EQ(nullPointerError("HcclAllReduce", "sendBuf").code(), HCCL_E_PTR);
}

// base makes EI0001 without this table: both must say the same.
TEST_F(EiErrors, EnvironmentTextIsTheTables) {
  const Status base = invalidEnvironment("8", "HCCL_RDMA_SL", "range[0, 7]");
  const Status table = eiError(Ei::kEnvironment, HCCL_E_PARA, {"8", "HCCL_RDMA_SL", "range[0, 7]"});
  EXPECT_EQ(base.text(), table.text());
  EXPECT_EQ(base.eiCode(), table.eiCode());
}

TEST_F(EiErrors, ScreenFormat) {
  const std::string text =
      screenText(eiError(Ei::kEnvironment, HCCL_E_PARA, {"8", "HCCL_RDMA_SL", "range[0, 7]"}));
  const std::regex format(
      "\\[PID: " + std::to_string(::getpid()) +
      "\\] [0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}\\.[0-9]{3} "
      "Config_Error_Invalid_Environment_Variable\\(EI0001\\): Value 8 for environment variable "
      "HCCL_RDMA_SL is invalid\\. Expected value: range\\[0, 7\\]\\.\n"
      "        Possible Cause: .+\n        Solution: .+\n");
  EXPECT_TRUE(std::regex_match(text, format)) << text;
  EXPECT_NE(screenText(Status(HCCL_E_INTERNAL, "odd")).find("Inner_Error(EI9999): odd\n"),
            std::string::npos);
}

TEST_F(EiErrors, FirstErrorOfTheThreadIsKeptAndReadingClears) {
  EXPECT_EQ(recentErrorMessage(), nullptr);
  reportError(Status::ok());
  EXPECT_EQ(recentErrorMessage(), nullptr);
  reportError(Status(HCCL_E_PARA, "first"));
  reportError(Status(HCCL_E_PARA, "second"));
  std::thread([] { EXPECT_EQ(recentErrorMessage(), nullptr) << "another thread's error"; }).join();
  const char* text = recentErrorMessage();
  ASSERT_NE(text, nullptr);
  EXPECT_NE(std::string(text).find("first"), std::string::npos);
  EXPECT_EQ(recentErrorMessage(), nullptr);
  reportError(Status(HCCL_E_PARA, "third"));
  EXPECT_NE(std::string(recentErrorMessage()).find("third"), std::string::npos);
}

TEST_F(EiErrors, AsynchronousErrorsReachAnyThreadOnce) {
  std::thread([] {
    reportAsyncError(Status(HCCL_E_REMOTE, "background one"));
    reportAsyncError(Status(HCCL_E_REMOTE, "background two"));
  }).join();
  reportError(Status(HCCL_E_PARA, "own"));
  EXPECT_NE(std::string(recentErrorMessage()).find("own"), std::string::npos);
  EXPECT_NE(std::string(recentErrorMessage()).find("background one"), std::string::npos);
  EXPECT_EQ(recentErrorMessage(), nullptr);
  reportAsyncError(Status(HCCL_E_REMOTE, "background three"));
  clearRecentErrors();
  EXPECT_EQ(recentErrorMessage(), nullptr);
}

TEST_F(EiErrors, ErrNo) {
  EXPECT_EQ(errNoText(HCCL_E_PARA), "errNo[0x0000000005000001]");
  EXPECT_EQ(errNoText(HCCL_E_PARA, true), "errNo[0x0000000005010001]");
  EXPECT_EQ(errNoText(HCCL_E_OOM), "errNo[0x0000000005000018]");
}

TEST_F(EiErrors, LogLine) {
  std::string root = ::testing::TempDir() + "hccl_ei_XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  log::Config config;
  config.root = root;
  log::configure(config);
  reportError(eiError(Ei::kRankTableMissing, HCCL_E_NOT_FOUND, {"rank_id"}));
  reportError(Status(HCCL_E_INTERNAL, "plain"), "[InitGroupStage][Resource]");
  const std::string command = "cat " + root + "/debug/plog/*.log";
  FILE* pipe = ::popen(command.c_str(), "r");
  char buffer[4096] = {};
  const size_t size = std::fread(buffer, 1, sizeof(buffer) - 1, pipe);
  ::pclose(pipe);
  const std::string text(buffer, size);
  EXPECT_NE(text.find("[InitGroupStage][RanktableCheck]errNo[0x0000000005000006] EI0017: Config "
                      "rank_id is missing in the ranktable file.\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("[InitGroupStage][Resource]errNo[0x0000000005000004] plain\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("[ei_errors_test.cc:"), std::string::npos) << "the reporter's place";
  (void)!::system(("rm -rf " + root).c_str());
}

TEST_F(EiErrors, DocumentHasEveryCode) {
  const std::string text = errorsMarkdown();
  for (const EiInfo& info : eiTable()) {
    EXPECT_NE(text.find("\n## " + eiName(static_cast<int>(info.code)) + ": "), std::string::npos);
  }
}

}  // namespace
}  // namespace hccl
