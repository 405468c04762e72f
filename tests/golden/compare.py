#!/usr/bin/env python3
"""Replay the recorded exchanges against another server and report semantic differences.

    python3 compare.py BASE_URL [--golden DIR] [--only TEXT] [--differences DIR] [--strict] [--verbose]

Compared: status, content type, content encoding, Allow, and the body as parsed JSON or XML.
Not compared: the server's own time stamps, versions__delta counters, the order of
applications, instances and XML siblings, white space, and the framework's own bodies
(Spring's error document, Jersey's WADL), which --strict brings in.
A "detail" beside an error text is not compared.
--differences DIR holds the answers a server gives differently on purpose: DIR/NAME.json with our "response",
which is then what is compared, its "reason", and "because": what the difference follows from. A file that lacks
one of them or is not needed fails. "<volatile>" in such a body stands for any string, number or boolean.
Exits 1 when a case differs.
"""
import argparse
import glob
import json
import os
import re
import sys
import xml.etree.ElementTree as ET

from record import HERE, Server, exchange

CLOCK_FROM = 1710000000000  # fixtures use 1700000000000 or so; anything later is a server's clock
CLOCK = re.compile(r"\d{13}$")
UNORDERED_LISTS = {"application", "instance"}
VOLATILE = "<volatile>"  # in a difference's body: a value that is another one in every run


def is_clock(v):
    return (isinstance(v, int) and not isinstance(v, bool) and v > CLOCK_FROM) or (
        isinstance(v, str) and CLOCK.match(v) and int(v) > CLOCK_FROM)


def norm_json(v, key=None):
    if isinstance(v, dict):
        return {k: norm_json(x, k) for k, x in v.items()}
    if isinstance(v, list):
        out = [norm_json(x) for x in v]
        if key in UNORDERED_LISTS:
            out.sort(key=lambda x: json.dumps(x, sort_keys=True))
        return out
    if key == "versions__delta" and v not in (-1, "-1"):
        return f"<counter {type(v).__name__}>"
    if key == "timestamp" and isinstance(v, str):
        return "<time>"
    return f"<clock {type(v).__name__}>" if is_clock(v) else v


def norm_xml(e):
    text = (e.text or "").strip()
    if e.tag == "versions__delta" and text != "-1":
        text = "<counter>"
    elif e.tag == "timestamp":
        text = "<time>"
    elif is_clock(text):
        text = "<clock>"
    kids = [norm_xml(c) for c in e]
    if e.tag != "responseList":
        kids.sort(key=lambda k: json.dumps(k, sort_keys=True))
    node = {"tag": e.tag}
    if e.attrib:
        node["attributes"] = dict(e.attrib)
    if text:
        node["text"] = text
    if kids:
        node["children"] = kids
    return node


def focus_json(v, names):
    apps = v.get("applications", {}).get("application") if isinstance(v, dict) else None
    if isinstance(apps, list):
        v["applications"]["application"] = [a for a in apps if a.get("name") in names]
    return v


def parsed(body, focus):
    s = body.lstrip()
    if not s:
        return "empty", None
    if s[0] in "{[":
        try:
            v = json.loads(s)
            return "json", norm_json(focus_json(v, focus) if focus else v)
        except ValueError:
            return "text", body
    if s[0] == "<" and not s.lower().startswith(("<html", "<!doctype html")):
        try:
            root = ET.fromstring(s)
            if focus:
                for a in root.findall("application"):
                    if a.findtext("name") not in focus:
                        root.remove(a)
            return "xml", norm_xml(root)
        except ET.ParseError:
            return "text", body
    return "text", body


def framework_body(r):
    """The servlet framework's own documents, which no client reads."""
    b = (r.get("body") or "").lstrip()
    if "wadl" in r["headers"].get("content-type", "") or "Whitelabel" in b:
        return True
    if r["status"] >= 400 and b.startswith("{"):
        try:
            return {"timestamp", "status", "error", "path"} <= set(json.loads(b))
        except ValueError:
            return False
    return r["status"] >= 400 and b.startswith("<Map><timestamp>")


def diff(want, got, path=""):
    if isinstance(want, dict) and isinstance(got, dict):
        out = []
        for k in sorted(set(want) | set(got)):
            p = f"{path}.{k}"
            if k not in got:
                out.append(f"{p}: missing, expected {short(want[k])}")
            elif k not in want:
                out.append(f"{p}: not expected: {short(got[k])}")
            else:
                out += diff(want[k], got[k], p)
        return out
    if isinstance(want, list) and isinstance(got, list):
        out = [] if len(want) == len(got) else [f"{path}: {len(got)} items, expected {len(want)}"]
        for n, (a, b) in enumerate(zip(want, got)):
            out += diff(a, b, f"{path}[{n}]")
        return out
    if want == VOLATILE and isinstance(got, (str, int, float)):
        return []
    return [] if want == got and type(want) is type(got) else [f"{path}: {short(got)}, expected {short(want)}"]


def short(v):
    s = json.dumps(v, ensure_ascii=False)
    return s if len(s) < 120 else s[:117] + "..."


def media(v):
    return re.sub(r"\s", "", (v or "-")).lower()


def without_detail(v):
    if isinstance(v, dict) and v.get("tag") == "error":
        return {**v, "children": [k for k in v.get("children", []) if k.get("tag") != "detail"]}
    if isinstance(v, dict) and "error" in v:
        return {k: x for k, x in v.items() if k != "detail"}
    return v


def differences(doc, got, strict):
    want = doc["response"]
    out = []
    if want["status"] != got["status"]:
        out.append(f"status: {got['status']}, expected {want['status']}")
    soft = framework_body(want) and not strict
    if soft:
        return out
    for h in ("content-type", "content-encoding"):
        a, b = media(want["headers"].get(h)), media(got["headers"].get(h))
        if a != b:
            out.append(f"{h}: {b}, expected {a}")
    if "allow" in want["headers"] and strict:
        a, b = (sorted(media(x["headers"].get("allow")).split(",")) for x in (want, got))
        if a != b:
            out.append(f"allow: {b}, expected {a}")
    if "body_base64" in want or "body_base64" in got:
        if want.get("body_base64") != got.get("body_base64"):
            out.append("body: the bytes differ")
        return out
    ka, va = parsed(want["body"], doc.get("focus"))
    kb, vb = parsed(got["body"], doc.get("focus"))
    if want["status"] >= 400:
        vb = without_detail(vb)
    if ka != kb:
        out.append(f"body: {kb} {short(got['body'])}, expected {ka} {short(want['body'])}")
    else:
        out += diff(va, vb, "body")
    return out


def judged(mine, doc, got, strict, same):
    """What is wrong with a difference on purpose; `same`: the answer is the recorded one."""
    lacking = [k for k in ("response", "reason", "because") if not mine.get(k)]
    if lacking:
        return [f"listed as a difference without {k!r}" for k in lacking]
    if same:
        return ["listed as a difference, but the answer is the recorded one"]
    return differences({**doc, "response": mine["response"]}, got, strict)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("base", nargs="?", default=os.environ.get("BASE_URL", "http://localhost:8761/eureka"))
    p.add_argument("--golden", default=HERE)
    p.add_argument("--only", default="")
    p.add_argument("--differences")
    p.add_argument("--strict", action="store_true")
    p.add_argument("--verbose", action="store_true")
    a = p.parse_args()
    own = {}
    for path in glob.glob(os.path.join(a.differences, "*.json")) if a.differences else []:
        with open(path, encoding="utf-8") as f:
            own[os.path.basename(path)[:-5]] = json.load(f)
    server = Server(a.base)
    passed, failed, ours = 0, 0, 0
    for path in sorted(glob.glob(os.path.join(a.golden, "[0-9][0-9][0-9]-*.json"))):
        name = os.path.basename(path)[:-5]
        if a.only not in name:
            continue
        with open(path, encoding="utf-8") as f:
            doc = json.load(f)
        mine = own.pop(name, None) or own.pop(doc["name"], None)
        try:
            got = exchange(server, doc)
            found = differences(doc, got, a.strict)
            if mine:
                found = judged(mine, doc, got, a.strict, same=not found)
        except OSError as e:
            found = [f"no answer: {e!r}"]
            server.close()
        if not found:
            passed += 1
            ours += mine is not None
            if a.verbose:
                print(f"ok    {name}")
            continue
        failed += 1
        print(f"DIFF  {name}: {doc['request']['method']} {doc['request']['path']}")
        for d in found[:12]:
            print(f"        {d}")
        if len(found) > 12:
            print(f"        and {len(found) - 12} more")
    server.empty()
    for name in sorted(own) if not a.only else []:
        failed += 1
        print(f"DIFF  {name}: listed as a difference, but there is no such case")
    print(f"{ours} of them by a reasoned difference")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
