"""Hugging Face's Trainer: a small BERT, made from its configuration, learns which of two words a sentence has more of."""

import os

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

from paceline.huggingface import PacelineCallback

WORDS, LENGTH = 32, 24


def sentences(count, seed):
    words = torch.randint(WORDS, (count, LENGTH), generator=torch.Generator().manual_seed(seed))
    labels = ((words == 1).sum(1) > (words == 2).sum(1)).long()
    return [{"input_ids": each, "labels": label} for each, label in zip(words, labels)]


def accuracy(predicted):
    return {"accuracy": float((predicted.predictions.argmax(-1) == predicted.label_ids).mean())}


def main():
    torch.manual_seed(0)
    config = BertConfig(vocab_size=WORDS, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                        intermediate_size=128, max_position_embeddings=LENGTH)
    arguments = TrainingArguments(
        output_dir="checkpoints/huggingface", max_steps=400, per_device_train_batch_size=32, learning_rate=1e-3,
        logging_steps=10, evaluation_strategy="steps", eval_steps=40, save_strategy="steps", save_steps=100,
        save_total_limit=2, report_to=[], disable_tqdm=True, use_cpu=not torch.cuda.is_available(),
        ddp_backend=None if torch.cuda.is_available() else "gloo")
    trainer = Trainer(BertForSequenceClassification(config), arguments, train_dataset=sentences(8000, 1),
                      eval_dataset=sentences(500, 2), compute_metrics=accuracy, callbacks=[PacelineCallback()])
    trainer.train(resume_from_checkpoint=os.environ.get("PACELINE_CHECKPOINT"))


if __name__ == "__main__":
    main()
