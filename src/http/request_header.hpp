// What is HTTP but could be read in two ways: a proxy in front and this server must never disagree
// where a request ends, what it asks for, or of which host.
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <string_view>

#include "base/result.hpp"

namespace paceline {

// `raw`: the header's bytes as they came. Errors: invalid: a folded line, an encoding that isn't
// "chunked", an encoding beside a length, no host or several, a target that is no path.
Result<void> check_header(
    std::string_view raw,
    const boost::beast::http::request<boost::beast::http::string_body>& request);

}  // namespace paceline
