// libcurl, loaded when something is asked for the first time: most commands ask nobody, and it
// brings thirty libraries. Only for the library muster_http and those that drive many transfers.
#pragma once

#include <curl/curl.h>

namespace muster {

/// The functions of libcurl that are used; as curl/curl.h declares them.
struct CurlLibrary {
  decltype(&curl_global_init) global_init = nullptr;
  decltype(&curl_easy_init) easy_init = nullptr;
  decltype(&curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&curl_easy_setopt) set = nullptr;
  decltype(&curl_easy_perform) perform = nullptr;
  decltype(&curl_easy_getinfo) get = nullptr;
  decltype(&curl_easy_strerror) describe = nullptr;
  decltype(&curl_slist_append) list_append = nullptr;
  decltype(&curl_slist_free_all) list_free = nullptr;
  decltype(&curl_multi_init) multi_init = nullptr;
  decltype(&curl_multi_cleanup) multi_cleanup = nullptr;
  decltype(&curl_multi_setopt) multi_set = nullptr;
  decltype(&curl_multi_add_handle) multi_add = nullptr;
  decltype(&curl_multi_remove_handle) multi_remove = nullptr;
  decltype(&curl_multi_socket_action) multi_socket_action = nullptr;
  decltype(&curl_multi_info_read) multi_info_read = nullptr;

  /// Loaded and set up once. Null: it is not installed, or lacks one of them.
  static const CurlLibrary* load();
};

}  // namespace muster
