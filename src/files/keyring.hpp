// The keys of the session that a process was started in.
#pragma once

namespace paceline {

// This thread, and what it starts, holds none of them from now on. Where the kernel has none, or lets nobody
// ask, they can't be used either. False: they are kept, and errno says why. By system calls only, so that a
// forked child may call it.
bool leave_session_keyring();

}  // namespace paceline
