#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""deploy/k8s: each object is valid by the models that Kubernetes generates from its API (python3-kubernetes): no unknown
key, no missing one, each value of its type. What it mounts and passes fits the agent."""
import os
import re
import subprocess
import sys

PYTHON = "/usr/bin/python3"  # the distribution's, which has python3-kubernetes
if os.path.realpath(sys.executable) != os.path.realpath(PYTHON) and os.path.exists(PYTHON):
    os.execv(PYTHON, [PYTHON, os.path.abspath(__file__)])

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../lib"))
import bad
from bad import ok

try:
    import yaml
    from kubernetes import client
except ImportError:
    bad.skip_all("no python3-kubernetes: make deps-fleet")

DEPLOY = os.path.join(HERE, "../../deploy/k8s")
PLAIN = {"str": str, "int": int, "bool": bool, "float": (int, float), "object": (str, int, dict)}


def complaints(value, kind, path):
    """What is wrong with a value of a type of the API."""
    inner = re.match(r"(list|dict)\((?:str, )?\[?(.*?)\]?\)$|list\[(.*)\]$", kind)
    if kind.startswith("list["):
        if not isinstance(value, list):
            return [f"{path}: not a list"]
        return [c for i, each in enumerate(value) for c in complaints(each, kind[5:-1], f"{path}[{i}]")]
    if inner and inner[1] == "dict":
        if not isinstance(value, dict):
            return [f"{path}: not a map"]
        return [c for key, each in value.items() for c in complaints(each, inner[2], f"{path}.{key}")]
    if kind in PLAIN:
        good = isinstance(value, PLAIN[kind]) and (kind == "bool" or not isinstance(value, bool))
        return [] if good else [f"{path}: {value!r} is no {kind}"]
    return object_complaints(value, getattr(client, kind), path)


def object_complaints(value, model, path):
    names = {key: name for name, key in model.attribute_map.items()}
    unknown = [f"{path}: no key {key!r}" for key in value if key not in names]
    found = [c for key, each in value.items() if key in names
             for c in complaints(each, model.openapi_types[names[key]], f"{path}.{key}")]
    try:
        model(**{names[key]: each for key, each in value.items() if key in names})
    except ValueError as error:
        found.append(f"{path}: {error}")
    return unknown + found


def objects():
    with open(os.path.join(DEPLOY, "jankbpf.yaml"), encoding="utf-8") as file:
        return list(yaml.safe_load_all(file))


def model_of(each):
    group, _, version = each["apiVersion"].rpartition("/")
    return getattr(client, version.capitalize() + each["kind"]) if group in ("", "apps") else None


def check_agent(found):
    """The configuration and the arguments of the DaemonSet are the agent's."""
    path = bad.scratch("jankbpf.conf")
    with open(path, "w", encoding="utf-8") as file:
        file.write(found["ConfigMap"]["data"]["jankbpf.conf"])
    os.chmod(path, 0o644)
    spec = found["DaemonSet"]["spec"]["template"]["spec"]
    container = spec["containers"][0]
    args = [arg.replace("$(POD_IP)", "127.0.0.1").replace("/etc/jankbpf/jankbpf.conf", path) for arg in container["args"]]
    done = subprocess.run([bad.JANK, *args, "--check-config"], capture_output=True, text=True, timeout=60, check=False)
    ok(not done.returncode and "listen = 127.0.0.1:9435" in done.stdout, "the agent takes configuration and arguments",
       done.stdout + done.stderr)
    volumes = {volume["name"] for volume in spec["volumes"]}
    ok(volumes == {mount["name"] for mount in container["volumeMounts"]}, "each volume is mounted", volumes)
    added = {"CAP_" + name for name in container["securityContext"]["capabilities"]["add"]}
    with open(os.path.join(DEPLOY, "../systemd/jankbpf.service"), encoding="utf-8") as file:
        unit = set(re.search(r"CapabilityBoundingSet=(.*)", file.read())[1].split())
    ok(added == unit, "its capabilities are those of the unit of systemd", added ^ unit)


def main():
    found = {each["kind"]: each for each in objects()}
    for kind, each in found.items():
        model = model_of(each)
        wrong = object_complaints(each, model, kind) if model else ["no such kind"]
        ok(not wrong, f"{kind} is valid", wrong)
    seeded = {**found["DaemonSet"], "spec": {"template": {"spec": {"containers": [{"nam": "x", "image": 3}]}}}}
    wrong = object_complaints(seeded, client.V1DaemonSet, "seeded")
    ok(len(wrong) >= 4, "an unknown key, a missing one and a wrong type are seen", wrong)
    check_agent(found)
    bad.done()


main()
