#include "load/protocol.h"

#include <gtest/gtest.h>

using namespace muster::load;
using nlohmann::json;

namespace {

Conversation two_turns() {
  Conversation conversation;
  conversation.system = "Be short";
  conversation.turns = {{"first", 1, 8}, {"second", 1, 9}};
  return conversation;
}

Answer read_all(const Dialect& dialect, const std::vector<std::string>& pieces) {
  AnswerReader reader(dialect, true);
  for (const std::string& piece : pieces) reader.feed(piece);
  reader.end();
  return reader.answer();
}

}  // namespace

TEST(LoadProtocol, AChatHoldsWhatWasSaidBefore) {
  const Dialect dialect{Api::kChat, "m", true, true, {{"top_p", 0.5}}};
  const json body = json::parse(body_of(dialect, two_turns(), 1, {"answer"}));
  EXPECT_EQ(body["messages"].size(), 4U);
  EXPECT_EQ(body["messages"][2]["content"], "answer");
  EXPECT_EQ(body["max_tokens"], 9);
  EXPECT_EQ(body["stream_options"]["include_usage"], true);
  EXPECT_EQ(body["ignore_eos"], true);
  EXPECT_EQ(body["top_p"], 0.5);
}

TEST(LoadProtocol, EveryInterfaceHasItsPathAndItsWords) {
  Dialect dialect{Api::kKserve, "ensemble", true, false, json::object()};
  EXPECT_EQ(path_of(dialect), "/v2/models/ensemble/generate_stream");
  EXPECT_EQ(json::parse(body_of(dialect, two_turns(), 0, {}))["text_input"], "Be short first");
  dialect = {Api::kTgi, "", false, false, json::object()};
  EXPECT_EQ(path_of(dialect), "/generate");
  EXPECT_EQ(json::parse(body_of(dialect, two_turns(), 0, {}))["parameters"]["max_new_tokens"], 8);
  dialect.api = Api::kInvocations;
  EXPECT_EQ(path_of(dialect), "/invocations");
}

TEST(LoadProtocol, ReadsAStreamedChat) {
  const Dialect dialect;
  const Answer answer = read_all(
      dialect,
      {"data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
       "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\ndata: {\"choices\":[{\"delta\":{"
       "\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}\n\n",
       "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\ndata: "
       "[DONE]\n\n"});
  EXPECT_EQ(answer.error_kind, "");
  EXPECT_EQ(answer.text, "Hello");
  EXPECT_EQ(answer.pieces, 2);  // the first event holds no text: it is no token
  EXPECT_EQ(answer.prompt_tokens, 5);
  EXPECT_EQ(answer.output_tokens, 2);
  EXPECT_EQ(answer.finish, "stop");
}

TEST(LoadProtocol, AStreamThatEndsEarlyIsNoAnswer) {
  const Dialect dialect;
  EXPECT_EQ(
      read_all(dialect, {"data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n"}).error_kind,
      "malformed");
  EXPECT_EQ(read_all(dialect, {"data: {\"choices\":[{\"del"}).error_kind, "malformed");
  const Dialect tgi{Api::kTgi, "", true, false, json::object()};
  EXPECT_EQ(read_all(tgi, {"data: {\"token\":{\"text\":\"x\"}}\n\n"}).error_kind, "");
}

TEST(LoadProtocol, ErrorsInAStreamAreErrors) {
  const Dialect dialect;
  const Answer answer =
      read_all(dialect, {"data: {\"error\":{\"message\":\"out of memory\"}}\n\n"});
  EXPECT_EQ(answer.error_kind, "api-error");
  EXPECT_EQ(answer.error, "out of memory");
  EXPECT_EQ(read_all(dialect, {"data: {\"hello\":1}\n\ndata: [DONE]\n\n"}).error_kind, "malformed");
}

TEST(LoadProtocol, ReadsWholeAnswersOfEveryInterface) {
  struct Case {
    Api api;
    const char* body;
  };
  for (const Case& one :
       {Case{Api::kChat,
             R"({"choices":[{"message":{"content":"hi"}}],"usage":{"completion_tokens":1}})"},
        Case{Api::kInvocations, R"({"choices":[{"message":{"content":"hi"}}]})"},
        Case{Api::kCompletions, R"({"choices":[{"text":"hi"}]})"},
        Case{Api::kKserve, R"({"model_name":"ensemble","text_output":"hi"})"},
        Case{Api::kTgi, R"({"generated_text":"hi","details":{"generated_tokens":1}})"},
        Case{Api::kTgi, R"([{"generated_text":"hi"}])"}}) {
    const Dialect dialect{one.api, "m", false, false, json::object()};
    const Answer answer = read_all(dialect, {one.body});
    EXPECT_EQ(answer.error_kind, "") << one.body;
    EXPECT_EQ(answer.text, "hi") << one.body;
  }
}

TEST(LoadProtocol, FindsTheMessageOfAnError) {
  EXPECT_EQ(error_message(R"({"error":{"message":"no such model"}})"), "no such model");
  EXPECT_EQ(error_message(R"({"error":"bad request"})"), "bad request");
  EXPECT_EQ(error_message(R"({"detail":"nope"})"), "nope");
  EXPECT_EQ(error_message("<html>"), "<html>");
  EXPECT_EQ(error_message(""), "");
}
