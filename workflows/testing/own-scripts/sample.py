"""Write COUNT samples to the file URI TO: python3 sample.py COUNT TO."""

import json
import random
import sys
from pathlib import Path

count, target = int(sys.argv[1]), Path(sys.argv[2].removeprefix("file://"))
generator = random.Random(7)
target.parent.mkdir(parents=True, exist_ok=True)
target.write_text(json.dumps([generator.gauss(1.5, 0.2) for _ in range(count)]))
print(f"{count} samples")
