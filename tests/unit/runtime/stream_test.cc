#include "src/runtime/stream.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <time.h>

#include <random>
#include <thread>
#include <vector>

#include "src/runtime/engine_core.h"
#include "tests/unit/runtime/test_tasks.h"

namespace hccl::runtime {
namespace {

using testing::add;
using testing::ScopedStream;

Deadline soon() {
  return Deadline::after(20);
}

TEST(Stream, RunsTasksInOrder) {
  ScopedStream stream;
  std::vector<int> order;  // written by one thread at a time, synchronised by the stream
  for (int i = 0; i < 1000; ++i) {
    add(stream.get(), [&order, i] {
      order.push_back(i);
      return Poll::kDone;
    });
  }
  ASSERT_TRUE(synchronize(stream.get(), soon()).isOk());
  ASSERT_EQ(order.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
  EXPECT_TRUE(streamIdle(stream.get()));
}

TEST(Stream, ResumesATaskUntilItIsDone) {
  ScopedStream stream;
  int steps = 0;
  std::atomic<int> retired{0};
  add(
      stream.get(),
      [&] {
        return ++steps < 200 ? (steps % 3 == 0 ? Poll::kIdle : Poll::kProgress) : Poll::kDone;
      },
      Status(), &retired);
  EXPECT_TRUE(synchronize(stream.get(), soon()).isOk());
  EXPECT_EQ(steps, 200);
  EXPECT_EQ(retired.load(), 1);
}

TEST(Stream, HandlesOfDestroyedStreamsAreDead) {
  void* handle = *createStream(0, 0, 0);
  ASSERT_NE(findStream(handle), nullptr);
  EXPECT_TRUE(destroyStream(handle, false).isOk());
  EXPECT_EQ(findStream(handle), nullptr);
  EXPECT_EQ(destroyStream(handle, false).code(), HCCL_E_PARA);
  EXPECT_EQ(findStream(nullptr), nullptr);
  EXPECT_EQ(findStream(&handle), nullptr);
  ScopedStream other;  // takes the slot again
  EXPECT_EQ(findStream(handle), nullptr);
}

TEST(Stream, SynchroniseTimesOutAndCanBeRepeated) {
  ScopedStream stream;
  std::atomic<bool> open{false};
  add(stream.get(), [&] { return open ? Poll::kDone : Poll::kIdle; });
  const uint64_t before = monotonicNs();
  EXPECT_EQ(synchronize(stream.get(), Deadline::after(0.05)).code(), HCCL_E_TIMEOUT);
  const double took = static_cast<double>(monotonicNs() - before) * 1e-9;
  EXPECT_GE(took, 0.049);
  EXPECT_LT(took, 1.0);
  EXPECT_FALSE(streamIdle(stream.get()));
  open = true;
  EXPECT_TRUE(synchronize(stream.get(), soon()).isOk());
}

TEST(Stream, KeepsTheFirstErrorUntilSynchronise) {
  ScopedStream stream;
  int ran = 0;
  const auto task = [&] {
    ++ran;
    return Poll::kDone;
  };
  add(stream.get(), task);
  add(stream.get(), task, Status(HCCL_E_REMOTE, "first"));
  add(stream.get(), task, Status(HCCL_E_INTERNAL, "second"));
  const Status status = synchronize(stream.get(), soon());
  EXPECT_EQ(status.code(), HCCL_E_REMOTE);
  EXPECT_EQ(status.text(), "first");
  EXPECT_EQ(ran, 3);  // continues after failures
  EXPECT_TRUE(synchronize(stream.get(), soon()).isOk());
}

TEST(Stream, StopModeDropsTasksAfterAFailure) {
  ScopedStream stream;
  stream.get()->failureMode = 1;
  std::atomic<int> ran{0};
  std::atomic<int> retired{0};
  const auto task = [&] {
    ++ran;
    return Poll::kDone;
  };
  add(stream.get(), task, Status(HCCL_E_REMOTE, "cause"), &retired);
  for (int i = 0; i < 5; ++i) add(stream.get(), task, Status(), &retired);
  EXPECT_EQ(synchronize(stream.get(), soon()).text(), "cause");
  EXPECT_EQ(ran.load(), 1);
  EXPECT_EQ(retired.load(), 6);
  add(stream.get(), task, Status(), &retired);
  EXPECT_TRUE(synchronize(stream.get(), soon()).isOk());
  EXPECT_EQ(ran.load(), 2);
}

// Adds a task that the enqueuing thread may do; `ran` gets the number of calls.
void addBrief(Stream* stream, std::function<Poll()> step) {
  auto* task = new testing::FunctionTask(std::move(step));
  task->isBrief = true;
  ASSERT_TRUE(enqueue(stream, task).isOk());
}

TEST(Stream, AssistDoesBriefTasksInTheCallingThread) {
  ScopedStream stream;
  const auto self = std::this_thread::get_id();
  for (int i = 0; i < 1000; ++i) {
    std::thread::id doer;
    addBrief(stream.get(), [&doer] {
      doer = std::this_thread::get_id();
      return Poll::kDone;
    });
    assist(stream.get());
    // Unless a progress thread was at it just then.
    ASSERT_TRUE(synchronize(stream.get(), soon()).isOk());
    if (doer == self) return;
  }
  FAIL() << "no task was done by the thread that assists";
}

TEST(Stream, AssistStopsAtATaskThatIsNotBrief) {
  ScopedStream stream;
  std::atomic<bool> mayRun{false};
  std::atomic<int> ran{0};
  add(stream.get(), [&] { return mayRun ? (++ran, Poll::kDone) : Poll::kIdle; });
  addBrief(stream.get(), [&] {
    ++ran;
    return Poll::kDone;
  });
  for (int i = 0; i < 100; ++i) assist(stream.get());
  EXPECT_EQ(ran.load(), 0);
  mayRun = true;
  ASSERT_TRUE(synchronize(stream.get(), soon()).isOk());
  EXPECT_EQ(ran.load(), 2);
}

// The thread that fills a stream drains it, too; what it leaves a progress thread takes over.
TEST(Stream, WhatAssistLeavesCompletesWithin5Ms) {
  ScopedStream stream;
  std::vector<double> took;
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 20000; ++k) {  // some milliseconds: the worker's tick comes meanwhile
      addBrief(stream.get(), [] { return Poll::kDone; });
      assist(stream.get());
    }
    std::atomic<uint64_t> doneNs{0};
    const uint64_t start = monotonicNs();
    const auto possible = start + 200'000;
    addBrief(stream.get(), [&doneNs, possible] {
      if (monotonicNs() < possible) return Poll::kIdle;
      doneNs = monotonicNs();
      return Poll::kDone;
    });
    assist(stream.get());
    timespec wait{0, 20'000'000};
    nanosleep(&wait, nullptr);
    ASSERT_NE(doneNs.load(), 0u);
    took.push_back(static_cast<double>(doneNs - possible) * 1e-6);
  }
  std::sort(took.begin(), took.end());
  EXPECT_LT(took[took.size() / 2], 5.0);
}

TEST(Stream, EnqueuedAndNeverSynchronisedCompletesWithin5Ms) {
  ScopedStream stream;
  std::vector<double> took;
  for (int i = 0; i < 40; ++i) {
    std::atomic<uint64_t> doneNs{0};
    const uint64_t start = monotonicNs();
    add(stream.get(), [&] {
      doneNs = monotonicNs();
      return Poll::kDone;
    });
    timespec wait{0, 20'000'000};
    nanosleep(&wait, nullptr);  // the program computes elsewhere
    ASSERT_NE(doneNs.load(), 0u);
    took.push_back(static_cast<double>(doneNs - start) * 1e-6);
  }
  std::sort(took.begin(), took.end());
  EXPECT_LT(took[took.size() / 2], 5.0);
  RecordProperty("medianMs", std::to_string(took[took.size() / 2]));
  RecordProperty("maxMs", std::to_string(took.back()));
}

// A task whose turn comes by an event that only another thread knows of.
TEST(Stream, WakeCompletesASleepingTaskPromptly) {
  ScopedStream stream;
  std::vector<double> took;
  for (int i = 0; i < 20; ++i) {
    std::atomic<bool> open{false};
    std::atomic<uint64_t> doneNs{0};
    add(stream.get(), [&] {
      if (!open) return Poll::kIdle;
      doneNs = monotonicNs();
      return Poll::kDone;
    });
    timespec wait{0, 10'000'000};
    nanosleep(&wait, nullptr);  // the worker is asleep by now
    const uint64_t start = monotonicNs();
    open = true;
    Engine::instance().wake();
    while (doneNs.load() == 0 && monotonicNs() - start < 1'000'000'000) std::this_thread::yield();
    took.push_back(static_cast<double>(doneNs - start) * 1e-6);
    EXPECT_TRUE(synchronize(stream.get(), soon()).isOk());
  }
  std::sort(took.begin(), took.end());
  EXPECT_LT(took[took.size() / 2], 5.0);
}

TEST(Stream, ManyStreamsFinishAll) {
  constexpr int kStreams = 200;
  std::vector<std::unique_ptr<ScopedStream>> streams;
  std::vector<int> counts(kStreams);
  for (int s = 0; s < kStreams; ++s) streams.push_back(std::make_unique<ScopedStream>());
  for (int round = 0; round < 50; ++round) {
    for (int s = 0; s < kStreams; ++s) {
      int* count = &counts[static_cast<size_t>(s)];
      add(streams[static_cast<size_t>(s)]->get(), [count] {
        ++*count;
        return Poll::kDone;
      });
    }
  }
  for (int s = 0; s < kStreams; ++s) {
    ASSERT_TRUE(synchronize(streams[static_cast<size_t>(s)]->get(), soon()).isOk());
    EXPECT_EQ(counts[static_cast<size_t>(s)], 50);
  }
}

// One thread serves several "ranks" whose tasks wait for each other in the opposite order.
TEST(Stream, AWaitingThreadAdvancesTheOtherStreams) {
  ScopedStream a;
  ScopedStream b;
  std::atomic<int> step{0};
  add(a.get(), [&] { return step >= 1 ? Poll::kDone : Poll::kIdle; });
  add(a.get(), [&] {
    step = 2;
    return Poll::kDone;
  });
  add(b.get(), [&] {
    step = 1;
    return Poll::kDone;
  });
  add(b.get(), [&] { return step >= 2 ? Poll::kDone : Poll::kIdle; });
  EXPECT_TRUE(synchronize(a.get(), soon()).isOk());
  EXPECT_TRUE(synchronize(b.get(), soon()).isOk());
}

TEST(Stream, ThreadsEnqueueAndSynchroniseAtRandom) {
  constexpr int kThreads = 8;
  constexpr int kStreams = 6;
  std::vector<std::unique_ptr<ScopedStream>> streams;
  for (int s = 0; s < kStreams; ++s) streams.push_back(std::make_unique<ScopedStream>());
  std::atomic<int> ran{0};
  std::atomic<int> retired{0};
  std::atomic<int> added{0};
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < 600; ++i) {
        Stream* stream = streams[random() % kStreams]->get();
        int left = static_cast<int>(random() % 4);
        added.fetch_add(1);
        add(
            stream,
            [&ran, left]() mutable {
              if (left-- > 0) return left % 2 == 0 ? Poll::kIdle : Poll::kProgress;
              ran.fetch_add(1);
              return Poll::kDone;
            },
            Status(), &retired);
        if (random() % 4 == 0 && !synchronize(stream, soon()).isOk()) failures.fetch_add(1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (auto& stream : streams) EXPECT_TRUE(synchronize(stream->get(), soon()).isOk());
  EXPECT_EQ(failures.load(), 0);
  EXPECT_EQ(ran.load(), added.load());
  EXPECT_EQ(retired.load(), added.load());
}

// Ranks as threads, each with its stream, in lock step through shared counters, often asleep.
TEST(Stream, RanksAsThreadsMeetWithoutLostWakeUps) {
  constexpr int kRanks = 5;
  constexpr int kRounds = 300;
  std::atomic<int> arrived{0};
  std::atomic<int> failures{0};
  std::vector<std::thread> ranks;
  const uint64_t start = monotonicNs();
  for (int r = 0; r < kRanks; ++r) {
    ranks.emplace_back([&, r] {
      ScopedStream stream;
      std::mt19937 random(static_cast<unsigned>(r));
      for (int round = 1; round <= kRounds; ++round) {
        if (random() % 50 == 0) {
          timespec nap{0, 2'000'000};
          nanosleep(&nap, nullptr);
        }
        bool mine = false;
        add(stream.get(), [&arrived, mine, round]() mutable {
          if (!mine) {
            mine = true;
            arrived.fetch_add(1);
            Engine::instance().wake();
            return Poll::kProgress;
          }
          return arrived.load() >= round * kRanks ? Poll::kDone : Poll::kIdle;
        });
        if (!synchronize(stream.get(), soon()).isOk()) failures.fetch_add(1);
      }
    });
  }
  for (auto& rank : ranks) rank.join();
  EXPECT_EQ(failures.load(), 0);
  EXPECT_LT(static_cast<double>(monotonicNs() - start) * 1e-9, 15.0);
}

TEST(Stream, DestroyWaitsForPendingTasks) {
  void* handle = *createStream(0, 0, 0);
  std::atomic<int> retired{0};
  const uint64_t open = monotonicNs() + 30'000'000;
  add(
      findStream(handle), [=] { return monotonicNs() >= open ? Poll::kDone : Poll::kIdle; },
      Status(), &retired);
  EXPECT_TRUE(destroyStream(handle, false).isOk());
  EXPECT_EQ(retired.load(), 1);
}

TEST(Stream, DestroyGivesUpOnATaskThatNeverMovesAndLetsItFinishLater) {
  destroyPatience() = 0.1;
  void* handle = *createStream(0, 0, 0);
  std::atomic<bool> open{false};
  std::atomic<int> retired{0};
  add(
      findStream(handle), [&] { return open ? Poll::kDone : Poll::kIdle; }, Status(), &retired);
  EXPECT_TRUE(destroyStream(handle, false).isOk());
  EXPECT_EQ(findStream(handle), nullptr);
  EXPECT_EQ(retired.load(), 0);
  open = true;
  EXPECT_TRUE(Engine::instance().helpUntil([&] { return retired == 1; }, soon()));
  destroyPatience() = 30.0;
}

TEST(Stream, ForcedDestroyThrowsTasksAway) {
  void* handle = *createStream(0, 0, 0);
  std::atomic<int> retired{0};
  for (int i = 0; i < 3; ++i) {
    add(
        findStream(handle), [] { return Poll::kIdle; }, Status(), &retired);
  }
  EXPECT_TRUE(destroyStream(handle, true).isOk());
  EXPECT_EQ(retired.load(), 3);
}

TEST(Stream, DeviceAbortEmptiesQueuesAndWakesWaiters) {
  ScopedStream stream;
  std::atomic<int> retired{0};
  for (int i = 0; i < 3; ++i) {
    add(
        stream.get(), [] { return Poll::kIdle; }, Status(), &retired);
  }
  Status seen;
  std::thread waiter([&] { seen = synchronize(stream.get(), soon()); });
  timespec wait{0, 20'000'000};
  nanosleep(&wait, nullptr);  // lets the waiter fall asleep; not needed for the result
  EXPECT_TRUE(abortDevice(0, Deadline::after(5)).isOk());
  waiter.join();
  EXPECT_EQ(retired.load(), 3);
  EXPECT_EQ(seen.code(), HCCL_E_RUNTIME);
}

}  // namespace
}  // namespace hccl::runtime
