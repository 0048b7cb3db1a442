// Who reads. A job's owner sees all of it, and so do the server's keepers (root, and the user whose
// server it is). Others see that it is there, what it asks for and holds, how far it is and why it
// is as it is; but nothing in its owner's words or paths: command, directory, checkpoints and their
// pattern, metrics, and what a worker's end was told with.
#pragma once

namespace paceline {

enum class Viewer { owner, other };

}  // namespace paceline
