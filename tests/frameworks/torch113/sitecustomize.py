"""PyTorch 1.13 can't import its sharded tensors under Python 3.11. Lightning hooks them into each module that it makes; here there are
none to hook."""

import sys
import types

sys.modules["torch.distributed._shard.sharded_tensor"] = types.SimpleNamespace(
    pre_load_state_dict_hook=lambda *_: None, state_dict_hook=lambda *_: None)
