# Rendered from image.yaml and facts/versions.yaml: change those, then `muster render --all`.

# Of its own, since Packer before 1.7 does not know this block.
packer {
  required_version = ">= 1.7.0"
  required_plugins {
    amazon = {
      version = ">= 1.2.8, < 2.0.0"
      source  = "github.com/hashicorp/amazon"
    }
    ansible = {
      version = ">= 1.1.1, < 2.0.0"
      source  = "github.com/hashicorp/ansible"
    }
  }
}
