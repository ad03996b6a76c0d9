"""Composer's Trainer fits a small network to points, on as many processes as its launcher starts."""
import sys

import torch
from composer import ComposerModel, Trainer
from composer.utils import dist


class Line(ComposerModel):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def forward(self, batch):
        return self.layer(batch[0])

    def loss(self, outputs, batch):
        return torch.nn.functional.mse_loss(outputs, batch[1])


def main():
    steps = int(sys.argv[1])
    # What a shell would make something else of.
    assert sys.argv[2:] == ['two words', 'say "x"'], sys.argv
    torch.manual_seed(1)
    x = torch.rand(16 * steps * 2, 1)
    data = torch.utils.data.TensorDataset(x, 3 * x + 1)
    loader = torch.utils.data.DataLoader(data, batch_size=16, sampler=dist.get_sampler(data, shuffle=True))
    model = Line()
    trainer = Trainer(model=model, train_dataloader=loader, max_duration='%dba' % steps, device='cpu',
                      optimizers=torch.optim.SGD(model.parameters(), lr=0.2), progress_bar=False, log_to_console=True,
                      console_log_interval='1ba')
    trainer.fit()
    print('Rank %d: world of %d on cpu over %s' % (dist.get_global_rank(), dist.get_world_size(), torch.distributed.get_backend()), flush=True)
    trainer.close()


main()
