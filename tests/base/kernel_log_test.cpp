#include "base/kernel_log.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

KernelMessage only(const std::string& line) {
  const KernelMessages log = parse_kernel_log(line);
  EXPECT_EQ(log.messages.size(), 1U) << line;
  EXPECT_TRUE(log.not_understood.empty()) << line;
  return log.messages.empty() ? KernelMessage() : log.messages[0];
}

TEST(KernelLogTest, ReadsEveryForm) {
  const std::string xid = "NVRM: Xid (PCI:0000:53:00): 79, GPU has fallen off the bus";
  EXPECT_EQ(only("3,1234,5678901,-;" + xid), (KernelMessage{5.678901, "", "err", xid}));
  EXPECT_EQ(only("[    5.678901] " + xid), (KernelMessage{5.678901, "", "", xid}));
  EXPECT_EQ(only("<3>[    5.678901] " + xid), (KernelMessage{5.678901, "", "err", xid}));
  EXPECT_EQ(only("kern  :err   : [    5.678901] " + xid),
            (KernelMessage{5.678901, "", "err", xid}));
  EXPECT_EQ(only("[Mon Nov 30 09:48:00 2026] " + xid),
            (KernelMessage{std::nullopt, "Mon Nov 30 09:48:00 2026", "", xid}));
  EXPECT_EQ(only("2026-11-30T09:48:00,123456+00:00 " + xid),
            (KernelMessage{std::nullopt, "2026-11-30T09:48:00,123456+00:00", "", xid}));
  EXPECT_EQ(only("14,1,0,c;user\\x0amessage").text, "user\nmessage");
  EXPECT_EQ(only("14,1,0,c;user").level, "info");  // facility 1, level 6
}

TEST(KernelLogTest, KeepsWhatItDoesNotUnderstand) {
  const KernelMessages log = parse_kernel_log(
      "6,1,100,-;usb 1-1: new device\n"
      " SUBSYSTEM=usb\n"
      " DEVICE=+usb:1-1\n"
      "dmesg: read kernel buffer failed: Operation not permitted\n"
      "[ 1.0] fine\r\n"
      "\n");
  ASSERT_EQ(log.messages.size(), 2U);
  EXPECT_EQ(log.messages[1].text, "fine");
  EXPECT_EQ(log.not_understood,
            std::vector<std::string>{"dmesg: read kernel buffer failed: Operation not permitted"});
}

TEST(KernelLogTest, TheTwinReadsText) {
  TextKernelLog log("[ 1.5] a\n");
  EXPECT_EQ(log.read()->messages[0].seconds, 1.5);
}

}  // namespace
}  // namespace muster
