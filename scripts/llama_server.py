#!/usr/bin/env python3
"""llama.cpp's HTTP server on a free port of localhost, from the PyPI wheel `xllamacpp`.

usage: llama_server.py MODEL.gguf CHAT_TEMPLATE.jinja
Prints "listening http://127.0.0.1:PORT" when it is ready, and serves until it is told to stop.
"""
import os
import signal
import sys

import xllamacpp

STOP = {signal.SIGTERM, signal.SIGINT}


def parameters(model, template):
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {"local"}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 4096
    params.n_parallel = 1
    threads = int(os.environ.get("THREADS", "2"))
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.sampling.seed = 42
    params.ui = False
    # Without a template that knows tools, llama.cpp ignores them in silence.
    params.use_jinja = True
    with open(template, encoding="utf-8") as file:
        params.chat_template = file.read()
    if os.environ.get("API_KEY"):
        params.api_keys = [os.environ["API_KEY"]]
    return params


signal.pthread_sigmask(signal.SIG_BLOCK, STOP)
server = xllamacpp.Server(parameters(sys.argv[1], sys.argv[2]))
print("listening", server.listening_address, flush=True)
signal.sigwait(STOP)
os._exit(0)  # the native threads need no goodbye
