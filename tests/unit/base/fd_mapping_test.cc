#include <fcntl.h>
#include <gtest/gtest.h>

#include "src/base/fd.h"
#include "src/base/mapping.h"

namespace hccl {
namespace {

bool isOpen(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

TEST(UniqueFd, OwnsOneDescriptor) {
  UniqueFd first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int number = first.get();
  UniqueFd second(std::move(first));
  EXPECT_FALSE(first.isValid());  // NOLINT(bugprone-use-after-move): this is what is tested
  EXPECT_TRUE(isOpen(number));
  second = UniqueFd();
  EXPECT_FALSE(isOpen(number));
  UniqueFd third(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int kept = third.release();
  EXPECT_TRUE(isOpen(kept));
  ::close(kept);
}

TEST(Mapping, MovesAndUnmaps) {
  auto created = Mapping::create(8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  ASSERT_TRUE(created.isOk());
  Mapping mapping = std::move(*created);
  void* address = mapping.data();
  EXPECT_EQ(mapping.size(), 8192u);
  unsigned char resident[2];
  EXPECT_EQ(::mincore(address, 8192, resident), 0);
  mapping.reset();
  EXPECT_NE(::mincore(address, 8192, resident), 0) << "still mapped";
  EXPECT_FALSE(mapping.isValid());
}

TEST(Mapping, ErrorCarriesTheErrno) {
  const auto failed = Mapping::create(4096, PROT_READ, MAP_SHARED, -1);
  EXPECT_EQ(failed.status().code(), HCCL_E_MEMORY);
  EXPECT_NE(failed.status().text().find("Bad file descriptor"), std::string::npos);
}

}  // namespace
}  // namespace hccl
