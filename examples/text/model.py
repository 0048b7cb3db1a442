"""A recurrent network that guesses a text's next character."""

from torch import nn

WINDOW = 64  # characters per sample


class LanguageModel(nn.Module):
    def __init__(self, characters, embedding=64, hidden=192):
        super().__init__()
        self.embedding = nn.Embedding(characters, embedding)
        self.memory = nn.GRU(embedding, hidden, batch_first=True)
        self.scores = nn.Linear(hidden, characters)

    def forward(self, read):
        """int64 [n, window] → scores of each next character, [n, characters, window]."""
        return self.scores(self.memory(self.embedding(read))[0]).transpose(1, 2)
