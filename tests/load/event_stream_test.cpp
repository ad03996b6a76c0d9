#include "load/event_stream.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

using muster::load::EventStream;

namespace {

std::vector<std::string> events_of(EventStream& stream, const std::vector<std::string>& pieces) {
  std::vector<std::string> events;
  for (const std::string& piece : pieces) {
    stream.feed(piece, [&events](std::string_view data) {
      events.emplace_back(data);
      return true;
    });
  }
  return events;
}

}  // namespace

TEST(EventStream, ReadsWhatTheStandardDescribes) {
  EventStream stream;
  EXPECT_EQ(events_of(stream, {"\xEF\xBB\xBF"
                               "data: one\n\n: a comment\n\nevent: x\nid: 7\ndata: two\ndata:  "
                               "three\r\n\r\ndata\n\ndata:four\r\r"}),
            (std::vector<std::string>{"one", "two\n three", "", "four"}));
  EXPECT_FALSE(stream.torn());
}

TEST(EventStream, SaysThatTheLastEventIsCutOff) {
  EventStream stream;
  EXPECT_TRUE(events_of(stream, {"data: half"}).empty());
  EXPECT_TRUE(stream.torn());
}

TEST(EventStream, BoundsAnEvent) {
  EventStream stream;
  const std::string piece(1 << 20, 'x');
  bool taken = true;
  for (int i = 0; i < 6 && taken; ++i)
    taken = stream.feed(piece, [](std::string_view) { return true; });
  EXPECT_FALSE(taken);
}

// However the network cuts a stream, the same events come out.
RC_GTEST_PROP(EventStream, PiecesDoNotMatter, ()) {
  std::string text;
  const int count = *rc::gen::inRange(1, 6);
  for (int i = 0; i < count; ++i) {
    text += "data: " + *rc::gen::container<std::string>(rc::gen::inRange('a', 'z'));
    text += *rc::gen::element(std::string("\n\n"), std::string("\r\n\r\n"), std::string("\r\r"));
  }
  EventStream one;
  const auto whole = events_of(one, {text});
  std::vector<std::string> pieces;
  for (std::size_t from = 0; from < text.size();) {
    const auto size = static_cast<std::size_t>(*rc::gen::inRange(1, 5));
    pieces.push_back(text.substr(from, size));
    from += size;
  }
  EventStream two;
  RC_ASSERT(events_of(two, pieces) == whole);
  RC_ASSERT(whole.size() == static_cast<std::size_t>(count));
}
