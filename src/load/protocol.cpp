#include "load/protocol.h"

#include <array>
#include <utility>

#include <simdjson.h>

namespace muster::load {
namespace {

using nlohmann::json;
namespace dom = simdjson::dom;

constexpr std::array<std::pair<const char*, Api>, 5> kApis = {{{"chat", Api::kChat},
                                                               {"completions", Api::kCompletions},
                                                               {"kserve", Api::kKserve},
                                                               {"tgi", Api::kTgi},
                                                               {"invocations", Api::kInvocations}}};

constexpr std::size_t kLargestAnswer = std::size_t{64} << 20;

bool chats(Api api) {
  return api == Api::kChat || api == Api::kInvocations;
}

/// The text that one event, or a whole answer, adds; nothing: it holds none.
std::optional<std::string_view> text_in(Api api, const dom::element& value) {
  std::string_view text;
  const auto found = [&text](auto result) { return !result.get(text) && !text.empty(); };
  switch (api) {
    case Api::kChat:
    case Api::kInvocations:
      // Reasoning is streamed before the answer and costs tokens as well.
      for (const char* where : {"/choices/0/delta/content", "/choices/0/delta/reasoning_content",
                                "/choices/0/message/content"}) {
        if (found(value.at_pointer(where))) return text;
      }
      break;
    case Api::kCompletions:
      if (found(value.at_pointer("/choices/0/text"))) return text;
      break;
    case Api::kKserve:
      if (found(value.at_key("text_output"))) return text;
      break;
    case Api::kTgi:
      if (found(value.at_pointer("/token/text"))) return text;
      if (found(value.at_key("generated_text"))) return text;
      // A list of one answer is how TGI replies to its root path.
      if (found(value.at_pointer("/0/generated_text"))) return text;
      break;
  }
  return std::nullopt;
}

std::optional<int> count_in(const dom::element& value, const char* pointer) {
  std::int64_t count = 0;
  if (value.at_pointer(pointer).get(count) || count < 0 || count > 1'000'000'000)
    return std::nullopt;
  return static_cast<int>(count);
}

/// Whether it could be the answer of this interface at all.
bool known_shape(Api api, const dom::element& value) {
  dom::element part;
  switch (api) {
    case Api::kChat:
    case Api::kInvocations:
    case Api::kCompletions:
      return !value.at_key("choices").get(part);
    case Api::kKserve:
      return !value.at_key("text_output").get(part);
    case Api::kTgi:
      return !value.at_key("token").get(part) || !value.at_key("generated_text").get(part) ||
             !value.at_pointer("/0/generated_text").get(part);
  }
  return false;
}

std::string message_in(const dom::element& value) {
  std::string_view text;
  for (const char* where : {"/error/message", "/error", "/detail", "/message"}) {
    if (!value.at_pointer(where).get(text)) return std::string(text);
  }
  dom::element error;
  return value.at_key("error").get(error) ? std::string() : std::string(simdjson::minify(error));
}

}  // namespace

const std::vector<std::string>& api_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    names.reserve(kApis.size());
    for (const auto& [name, api] : kApis) names.emplace_back(name);
    return names;
  }();
  return kNames;
}

std::optional<Api> parse_api(std::string_view name) {
  for (const auto& [known, api] : kApis) {
    if (name == known) return api;
  }
  return std::nullopt;
}

std::string path_of(const Dialect& dialect) {
  switch (dialect.api) {
    case Api::kChat:
      return "/v1/chat/completions";
    case Api::kCompletions:
      return "/v1/completions";
    case Api::kKserve:
      return "/v2/models/" + dialect.model + (dialect.stream ? "/generate_stream" : "/generate");
    case Api::kTgi:
      return dialect.stream ? "/generate_stream" : "/generate";
    case Api::kInvocations:
      return "/invocations";
  }
  return {};
}

std::string body_of(const Dialect& dialect, const Conversation& conversation, std::size_t turn,
                    const std::vector<std::string>& answers) {
  const int limit = conversation.turns[turn].output;
  json body = json::object();
  std::string text = conversation.system;
  if (chats(dialect.api)) {
    json messages = json::array();
    if (!conversation.system.empty())
      messages.push_back({{"role", "system"}, {"content", conversation.system}});
    for (std::size_t i = 0; i <= turn; ++i) {
      messages.push_back({{"role", "user"}, {"content", conversation.turns[i].prompt}});
      if (i < turn) messages.push_back({{"role", "assistant"}, {"content", answers[i]}});
    }
    body["messages"] = std::move(messages);
  } else {
    for (std::size_t i = 0; i <= turn; ++i) {
      if (!text.empty()) text += ' ';
      text += conversation.turns[i].prompt;
      if (i < turn) text += ' ' + answers[i];
    }
  }
  switch (dialect.api) {
    case Api::kChat:
    case Api::kInvocations:
    case Api::kCompletions:
      if (dialect.api == Api::kCompletions) body["prompt"] = text;
      if (!dialect.model.empty()) body["model"] = dialect.model;
      body["max_tokens"] = limit;
      body["temperature"] = 0;
      if (dialect.stream) {
        body["stream"] = true;
        body["stream_options"] = {{"include_usage", true}};
      }
      if (dialect.ignore_eos) body["ignore_eos"] = true;
      break;
    case Api::kKserve:
      body["text_input"] = text;
      body["max_tokens"] = limit;
      if (dialect.stream) body["stream"] = true;
      break;
    case Api::kTgi:
      body["inputs"] = text;
      body["parameters"] = {{"max_new_tokens", limit}, {"details", true}};
      break;
  }
  body.update(dialect.extra);
  return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

AnswerReader::AnswerReader(const Dialect& dialect, bool keep_text)
    : dialect_(dialect), keep_text_(keep_text) {}

void AnswerReader::malformed(std::string what) {
  if (!answer_.error_kind.empty()) return;
  answer_.error_kind = "malformed";
  answer_.error = std::move(what);
}

bool AnswerReader::take(std::string_view data) {
  // One a thread: parsing needs no allocation once it has seen the largest event.
  thread_local dom::parser parser;
  if (data == "[DONE]") {
    answer_.done = true;
    return true;
  }
  dom::element value;
  if (parser.parse(data.data(), data.size(), true).get(value)) {
    malformed("not JSON: " + std::string(data.substr(0, 120)));
    return false;
  }
  dom::element error;
  if (!value.at_key("error").get(error) && !error.is_null()) {
    answer_.error_kind = "api-error";
    answer_.error = message_in(value);
    return false;
  }
  if (!known_shape(dialect_.api, value)) {
    malformed("not an answer of this interface: " + std::string(data.substr(0, 120)));
    return false;
  }
  if (const auto text = text_in(dialect_.api, value)) {
    // TGI repeats the whole text in its last event; that event has a token of its own.
    ++answer_.pieces;
    if (keep_text_) answer_.text += *text;
  }
  for (const char* where : {"/usage/prompt_tokens", "/details/prefill_tokens"}) {
    if (const auto count = count_in(value, where)) answer_.prompt_tokens = count;
  }
  for (const char* where :
       {"/usage/completion_tokens", "/details/generated_tokens", "/0/details/generated_tokens"}) {
    if (const auto count = count_in(value, where)) answer_.output_tokens = count;
  }
  std::string_view finish;
  for (const char* where : {"/choices/0/finish_reason", "/details/finish_reason"}) {
    if (!value.at_pointer(where).get(finish)) answer_.finish = finish;
  }
  return true;
}

int AnswerReader::feed(std::string_view piece) {
  const int before = answer_.pieces;
  if (!answer_.error_kind.empty()) return 0;
  if (!dialect_.stream) {
    if (whole_.size() + piece.size() > kLargestAnswer) {
      malformed("the answer is larger than 64 MiB");
    } else {
      whole_ += piece;
    }
    return 0;
  }
  if (!events_.feed(piece, [this](std::string_view data) { return take(data); }))
    malformed("an event of the stream is larger than 4 MiB");
  return answer_.pieces - before;
}

void AnswerReader::end() {
  if (!answer_.error_kind.empty()) return;
  if (!dialect_.stream) {
    if (take(whole_)) answer_.done = true;
    return;
  }
  // OpenAI's streams end with [DONE]; the others say nothing, and an event cut short shows.
  const bool says_done = dialect_.api == Api::kChat || dialect_.api == Api::kCompletions;
  if (events_.torn() || (says_done && !answer_.done)) {
    malformed("the stream ended early");
  } else {
    answer_.done = true;
  }
}

std::string error_message(std::string_view body) {
  thread_local dom::parser parser;
  dom::element value;
  if (!parser.parse(body.data(), body.size(), true).get(value)) {
    if (std::string message = message_in(value); !message.empty()) return message;
  }
  return std::string(body.substr(0, 200));
}

}  // namespace muster::load
