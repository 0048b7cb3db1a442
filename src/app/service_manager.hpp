// Tells the service manager that started this program how it is, by the protocol of sd_notify(3): a
// datagram to the socket that NOTIFY_SOCKET names.
#pragma once

#include <string_view>

namespace paceline {

// "READY=1", "STOPPING=1". Nothing happens where nobody wants to know.
void tell_service_manager(std::string_view state);

}  // namespace paceline
