"""Questions to a machine: command lines of ptttool, which go through every subpackage below. Their answers are JSON.

``python -m tests.testing.questions FOLDER`` asks the running machine, which under umockdev is a recorded one.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ptttool.cli.main import main

# Asked in this order: what one sets, the next ones read. {folder} is one to write into.
QUESTIONS = (
    "list",
    "list hisi_ptt0_2",
    "list 00:0a.0",
    "list hisi_ptt0_1",
    "list nvme1",
    "filters",
    "filters --device 0_2",
    "filters --device hisi_ptt2_0",
    "event --rootport 0000:00:10.0",
    "event --rootport 00:10.0 --rootport 00:11.0 --device hisi_ptt0_0",
    "event --rootport 00:14.0 --rootport 00:15.0 --device hisi_ptt0_2 --format 8dw --completions a --type cpl",
    "event --rootport nvme1 --device hisi_ptt0_2 --direction both --format 4dw",
    "event --rootport 00:10.0 --rootport 00:14.0",
    "event --rootport 00:0a.0",
    "event --rootport 00:12.0 --device hisi_ptt0_0 --direction outbound --type p,np",
    "event --rootport 00:12.0 --device hisi_ptt0_0 --direction outbound --type p,np --force",
    "event --rootport 00:12.0 --device hisi_ptt0_0 --pattern v1",
    "event --requester ens2 --device hisi_ptt0_0",
    "event --requester 08:00.1 --device 0_2 --format 8dw --cpu 1",
    "event --requester 08:00.1 --device 0_2 --cpu 3",
    "event --requester 00:15.0 --device 0_2",
    "event --requester 09:00.0",
    "event --requester eth9",
    "explain hisi_ptt0_2/filter=0x80500,type=7,direction=2,format=1/",
    "explain hisi_ptt0_0/filter=0x80003,type=0,direction=0,format=1/",
    "explain hisi_ptt0_0/filter=0x00100,type=1,pattern=1/",
    "explain hisi_ptt7_7/filter=0x80001,type=7/",
    "tune show",
    "tune show 0_2",
    "tune get hisi_ptt0_0",
    "tune get hisi_ptt0_0 qos_tx_p tx_path_rx_req_alloc_buf_level",
    "tune get hisi_ptt0_0 qos_tx_q",
    "tune set hisi_ptt0_0 qos_tx_p=2 qos_tx_np=0",
    "tune set hisi_ptt0_0 qos_tx_p=9 qos_tx_cpl=1",
    "tune set hisi_ptt0_0 qos_tx_p=-1",
    "tune set hisi_ptt0_0 qos_tx_p=0x1",
    "tune set hisi_ptt0_0 qos_tx_dp=1",
    "tune set hisi_ptt0_0 --dry-run qos_tx_cpl=2",
    "tune set hisi_ptt9_9 qos_tx_cpl=2",
    "tune get hisi_ptt0_0",
    "tune save {folder}/saved.toml",
    "tune save {folder}/saved.toml",
    "tune set hisi_ptt0_0 qos_tx_p=0 qos_tx_np=1",
    "tune set hisi_ptt2_0 rx_alloc_buf_level=0",
    "tune apply {folder}/saved.toml --dry-run",
    "tune apply {folder}/saved.toml",
    "tune apply {folder}/saved.toml",
    "tune apply {folder}/missing.toml",
    "tune apply {folder}/odd.toml",
    "tune apply {folder}/odd.toml --ignore-missing",
    "tune show",
)
ODD = "version = 1\n\n[devices.hisi_ptt0_0]\nqos_tx_p = 1\nqos_tx_new = 1\n\n[devices.hisi_ptt5_0]\nqos_tx_p = 1\n"
# What is not the machine's: where it is; /proc, which umockdev does not show.
APART = ("origin", "kernel", "hostname", "memory")


def ask_all(folder: str, machine: Sequence[str] = ()) -> dict[str, Any]:
    """Ask every question.

    Parameters
    ----------
    folder
        An empty folder.
    machine
        Options that name the machine; none for the one this runs on.

    Returns
    -------
    dict
        Number and question to exit code and document.
    """
    Path(f"{folder}/odd.toml").write_text(ODD, encoding="utf-8")
    answers: dict[str, Any] = {}
    for number, question in enumerate(QUESTIONS):
        words = question.format(folder=folder).split()
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
            code = main([*words, "--json", *machine])
        text = out.getvalue()
        for option in machine[1:]:
            text = text.replace(option, "this machine")
        text = re.sub(r'-C("?,?\s+"?)\d+', r"-C\1N", text.replace(folder, "FOLDER"))  # what CPUs have to do is of the moment
        document = json.loads(text)
        for name in APART:
            document.pop(name, None)
        if "driver" in document:  # the release of its kernel, and names of the distribution, are not the machine's either
            document["driver"] = document["driver"]["features"]
        for name in ("warnings", "notes"):  # nor is when a trace ends: that is of the kernel's release, and of its memory
            if name in document:
                document[name] = [one for one in document[name] if one["code"] != "late-commit"]
        answers[f"{number} {question}"] = [code, document]
    return answers


if __name__ == "__main__":
    print(json.dumps(ask_all(sys.argv[1])))
