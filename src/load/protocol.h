// What is sent to a server and what its answer says, for the interfaces that inference servers
// speak. Pure.
//
//   chat         POST /v1/chat/completions         OpenAI
//   completions  POST /v1/completions              OpenAI
//   kserve       POST /v2/models/M/generate[_stream]   the generate extension of KServe v2, Triton
//   tgi          POST /generate[_stream]           Text Generation Inference
//   invocations  POST /invocations                 SageMaker, with a chat request as body
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "load/event_stream.h"
#include "load/workload.h"

namespace muster::load {

enum class Api { kChat, kCompletions, kKserve, kTgi, kInvocations };

/// chat, completions, kserve, tgi, invocations.
const std::vector<std::string>& api_names();
std::optional<Api> parse_api(std::string_view name);

/// What every request of a load has in common.
struct Dialect {
  Api api = Api::kChat;
  std::string model;
  bool stream = true;
  bool ignore_eos = false;  ///< asks for exactly the tokens: vLLM's and SGLang's extension
  nlohmann::json extra = nlohmann::json::object();  ///< members added to, or put over, each body
};

/// Path under the server's address.
std::string path_of(const Dialect& dialect);

/// Body of turn `turn` of a conversation whose earlier answers were `answers`.
std::string body_of(const Dialect& dialect, const Conversation& conversation, std::size_t turn,
                    const std::vector<std::string>& answers);

/// What an answer has told so far.
struct Answer {
  std::string text;
  int pieces = 0;                                   ///< events, or whole answers, that held text
  std::optional<int> prompt_tokens, output_tokens;  ///< as the server counts them
  std::string finish;                               ///< stop, length …; empty: not said
  std::string error_kind;                           ///< empty: none; else malformed, api-error
  std::string error;  ///< what the server says, or what was not understood
  bool done = false;  ///< the stream said that it is complete
};

/// Reads one answer as it comes. `keep_text` is off where nobody needs it.
class AnswerReader {
 public:
  AnswerReader(const Dialect& dialect, bool keep_text);

  /// A piece of the body of an answer of status 200; returns how many of its events held text.
  int feed(std::string_view piece);

  /// The body has ended: what is incomplete becomes an error.
  void end();

  const Answer& answer() const { return answer_; }

 private:
  bool take(std::string_view data);
  void malformed(std::string what);

  const Dialect& dialect_;
  bool keep_text_;
  EventStream events_;
  std::string whole_;  ///< body of an answer that does not stream
  Answer answer_;
};

/// The message in an error's body: OpenAI's error object, Triton's "error", a "detail"; else the
/// first 200 characters.
std::string error_message(std::string_view body);

}  // namespace muster::load
