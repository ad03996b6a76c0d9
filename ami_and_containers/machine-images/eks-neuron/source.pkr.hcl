# Rendered from image.yaml and facts/versions.yaml: change those, then `muster render --all`.
# The image to start from, as the Region's public parameter names it today.

data "amazon-parameterstore" "amazon_linux_2023" {
  region = var.region
  name   = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/neuron/recommended/image_id"
}

locals {
  source_ami_amazon_linux_2023 = data.amazon-parameterstore.amazon_linux_2023.value
}
