"""Write the mean of the samples at the file URI FROM to TO: python3 average.py FROM TO."""

import json
import sys
from pathlib import Path

source, target = (Path(uri.removeprefix("file://")) for uri in sys.argv[1:3])
samples = json.loads(source.read_text())
mean = sum(samples) / len(samples)
target.write_text(json.dumps({"mean": mean, "samples": len(samples)}))
print(f"mean {mean:.3f}")
