"""`RankingLoss` for CrossEncoderTrainer, on a tiny cross-encoder of random weights: nothing is downloaded."""

import numpy as np
import pytest

from directrank.errors import DataError

torch = pytest.importorskip("torch")
datasets = pytest.importorskip("datasets")
transformers = pytest.importorskip("transformers")
cross_encoder = pytest.importorskip("sentence_transformers.cross_encoder")
losses = pytest.importorskip("directrank.torch")
RankingLoss = pytest.importorskip("directrank.apps.text.sentence_transformers").RankingLoss

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("default")]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "heat", "wing", "flow", "good", "poor", "plain"]
GRADES = {"good": 2.0, "plain": 1.0, "poor": 0.0}


@pytest.fixture
def model(tmp_path):
    tokenizer = transformers.BertTokenizerFast(vocab={word: place for place, word in enumerate(WORDS)})
    assert tokenizer.tokenize("good flow") == ["good", "flow"]
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=32, num_labels=1, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    folder = tmp_path / "model"
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return cross_encoder.CrossEncoder(str(folder), num_labels=1)


def lists():
    """Queries, documents and labels; the second query has fewer documents."""
    queries = ["heat", "wing"]
    documents = [["good flow", "poor flow", "plain wing", "poor heat"], ["plain heat", "good heat"]]
    return queries, documents, [[GRADES[text.split()[0]] for text in own] for own in documents]


def scores_of(model, queries, documents):
    pairs = [(query, each) for query, own in zip(queries, documents, strict=True) for each in own]
    with torch.no_grad():
        return model(
            {
                name: each.to(model.device)
                for name, each in model.preprocess(pairs).items()
                if hasattr(each, "to")
            }
        )["scores"].view(-1)


@pytest.mark.parametrize("name", ["lambdaloss(nDCG@10)", "listnet", "approxndcg", "ranksvm"])
@pytest.mark.parametrize("mini_batch_size", [None, 1, 4])
def test_is_the_loss_of_torch_on_the_scores_of_the_model(model, name, mini_batch_size):
    queries, documents, labels = lists()
    loss = RankingLoss(model, name, mini_batch_size=mini_batch_size)
    value = loss([queries, documents], [torch.tensor(each) for each in labels])
    scores = scores_of(model, queries, documents)
    expected = losses.RankingLoss(name)(scores, np.concatenate(labels), qid=np.repeat([0, 1], [4, 2]))
    assert float(value) == pytest.approx(float(expected), rel=1e-3)
    value.backward()
    gradients = [each.grad for each in model.parameters() if each.grad is not None]
    assert gradients
    assert all(torch.isfinite(each).all() for each in gradients)
    assert any(each.abs().sum() > 0 for each in gradients)


def test_the_trainer_learns(model, tmp_path):
    queries, documents, labels = lists()
    data = datasets.Dataset.from_dict({"query": queries * 8, "docs": documents * 8, "labels": labels * 8})
    loss = RankingLoss(model, "lambdaloss(nDCG@10)")
    as_tensors = [torch.tensor(each) for each in labels]
    before = float(loss([queries, documents], as_tensors))
    arguments = cross_encoder.CrossEncoderTrainingArguments(
        output_dir=str(tmp_path / "out"), num_train_epochs=20, per_device_train_batch_size=4,
        learning_rate=1e-2, report_to="none", save_strategy="no", logging_strategy="no", disable_tqdm=True,
    )  # fmt: skip
    cross_encoder.CrossEncoderTrainer(model=model, args=arguments, train_dataset=data, loss=loss).train()
    assert float(loss([queries, documents], as_tensors)) < 0.5 * before
    scores = scores_of(model, queries, documents).cpu().numpy()
    assert scores[:4].argmax() == 0
    assert scores[4:].argmax() == 1


def test_what_does_not_fit_is_refused(model):
    queries, documents, labels = lists()
    loss = RankingLoss(model, "listnet")
    with pytest.raises(DataError, match="lists as long as those of documents"):
        loss([queries, documents], [torch.tensor(labels[0][:2]), torch.tensor(labels[1])])
    assert loss.get_config_dict()["mini_batch_size"] is None
