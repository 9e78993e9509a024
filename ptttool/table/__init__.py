"""The one columnar layer: schemas, batches, and conditions on them."""
