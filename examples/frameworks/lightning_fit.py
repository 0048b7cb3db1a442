"""Lightning: a small network learns which points lie near the middle."""

import os

import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from paceline.lightning import PacelineCallback

FOLDER = "checkpoints/lightning"


class Circle(LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    def training_step(self, batch, index):
        points, inside = batch
        loss = nn.functional.cross_entropy(self.net(points), inside)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, index):
        points, inside = batch
        right = (self.net(points).argmax(1) == inside).float()
        self.log("accuracy", right.mean(), batch_size=len(points), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.003)


def points(count, seed):
    chosen = torch.rand(count, 2, generator=torch.Generator().manual_seed(seed)) * 2 - 1
    return TensorDataset(chosen, (chosen.square().sum(1) < 0.6).long())


def main():
    trainer = Trainer(
        max_steps=2500, accelerator="auto", devices=int(os.environ.get("LOCAL_WORLD_SIZE", 1)),
        num_nodes=int(os.environ.get("GROUP_WORLD_SIZE", 1)), logger=False, enable_progress_bar=False,
        callbacks=[ModelCheckpoint(FOLDER, every_n_train_steps=200), PacelineCallback(FOLDER)])
    trainer.fit(Circle(), DataLoader(points(12000, 1), batch_size=32, shuffle=True), DataLoader(points(1000, 2), batch_size=250),
                ckpt_path=os.environ.get("PACELINE_CHECKPOINT"))


if __name__ == "__main__":
    main()
