"""Records what a Kubernetes API server makes of sequences of writes, for the tests of `lanai-apply`.

Each case is a list of steps on one object. A step keeps what was sent and what came of it, so that the same writes can be
replayed without a server. See README.md.
"""

import json
import pathlib
import sys
import time

from server import ask, object_of

OUT = pathlib.Path(__file__).resolve().parents[2] / "crates/apply/tests/it/recorded"
NAMESPACE = "recorded-apply"
TEXT = {"type": "string"}
SPEC = {
    "type": "object",
    "properties": {
        "text": TEXT,
        "number": {"type": "integer"},
        "defaulted": {"type": "string", "default": "d"},
        "plain": {"type": "array", "items": TEXT},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
        "keyed": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name", "protocol"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": TEXT,
                    "protocol": {"type": "string", "default": "TCP"},
                    "value": TEXT,
                    "other": TEXT,
                    "inner": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
                },
            },
        },
        "map": {"type": "object", "additionalProperties": TEXT},
        "maps": {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": TEXT}},
        "atomic": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": TEXT, "b": TEXT}},
        "object": {
            "type": "object",
            "properties": {"a": TEXT, "b": TEXT, "deep": {"type": "object", "properties": {"c": TEXT, "d": TEXT}}},
        },
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "any": {"x-kubernetes-int-or-string": True},
        "maybe": {"type": "string", "nullable": True},
    },
}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": SPEC,
        "status": {
            "type": "object",
            "properties": {
                "phase": TEXT,
                "conditions": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["type"],
                    "items": {"type": "object", "required": ["type"], "properties": {"type": TEXT, "status": TEXT}},
                },
            },
        },
    },
}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "samples.apply.example.com"},
    "spec": {
        "group": "apply.example.com",
        "scope": "Namespaced",
        "names": {"plural": "samples", "singular": "sample", "kind": "Sample", "listKind": "SampleList"},
        "versions": [
            {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": SCHEMA}, "subresources": {"status": {}}}
            for name in ("v1", "v2")
        ],
    },
}
PATCHES = {"merge": "application/merge-patch+json", "apply": "application/apply-patch+yaml"}


class Case:
    """The steps on one object."""

    def __init__(self, name, kind="Sample", group="apply.example.com", plural="samples", version="v1"):
        self.name, self.kind, self.group, self.plural, self.version, self.steps = name, kind, group, plural, version, []
        ask("DELETE", self.path())

    def api_version(self, version=None):
        version = version or self.version
        return f"{self.group}/{version}" if self.group else version

    def path(self, version=None, part=""):
        root = f"/apis/{self.group}" if self.group else "/api"
        return f"{root}/{version or self.version}/namespaces/{NAMESPACE}/{self.plural}/{self.name}{part}"

    def body(self, fields, version=None):
        given = dict(fields)
        metadata = {"name": self.name, "namespace": NAMESPACE, **given.pop("metadata", {})}
        return {"apiVersion": self.api_version(version), "kind": self.kind, "metadata": metadata, **given}

    def step(self, verb, manager, fields, force=False, version=None, part=None):
        path = self.path(version, f"/{part}" if part else "")
        query = f"?fieldManager={manager}" + ("&force=true" if force else "")
        if verb == "create":
            sent = self.body(fields, version)
            status, answer = object_of("POST", path.rsplit("/", 1)[0] + query, sent)
        elif verb == "apply":
            sent = self.body(fields, version)
            status, answer = object_of("PATCH", path + query, sent, {"Content-Type": PATCHES["apply"]})
        else:
            sent = fields
            status, answer = object_of("PATCH", path + query, sent, {"Content-Type": PATCHES["merge"]})
        step = {"verb": verb, "manager": manager, "sent": sent, "status": status}
        if force:
            step["force"] = True
        if part:
            step["part"] = part
        if version:
            step["version"] = version
        if answer["kind"] == "Status":
            step["message"] = answer["message"].replace("\u00a0", " ")
            step["causes"] = (answer.get("details") or {}).get("causes")
        else:
            step["object"] = answer
        self.steps.append(step)
        time.sleep(1.02 if verb != "apply" else 0)
        return self

    def create(self, manager, fields, **options):
        return self.step("create", manager, fields, **options)

    def apply(self, manager, fields, **options):
        return self.step("apply", manager, fields, **options)

    def merge(self, manager, fields, **options):
        return self.step("merge", manager, fields, **options)

    def write(self):
        OUT.mkdir(parents=True, exist_ok=True)
        case = {"group": self.group, "kind": self.kind, "steps": self.steps}
        (OUT / f"{self.name}.json").write_text(json.dumps(case, indent=1, sort_keys=True) + "\n")


def spec(**fields):
    return {"spec": fields}


def item(name, **fields):
    return {"name": name, **fields}


def cases():
    yield Case("leaves").apply("a", spec(text="1", number=1)).apply("b", spec(text="1")).apply("b", spec(text="2")).apply(
        "b", spec(text="2"), force=True
    ).apply("a", spec(number=1)).apply("a", spec(number=2)).apply("a", {}).apply("b", {})
    yield Case("idempotent").apply("a", spec(text="1", set=["x"], keyed=[item("k", value="v")], map={"m": "n"})).apply(
        "a", spec(text="1", set=["x"], keyed=[item("k", value="v")], map={"m": "n"})
    )
    yield Case("sets").apply("a", spec(set=["x", "y"])).apply("b", spec(set=["z", "y"])).apply("a", spec(set=["x"])).apply(
        "b", spec(set=["q", "z"])
    ).apply("a", {}).merge("m", spec(set=["n", "z", "q"])).apply("b", spec(set=["q"]))
    yield Case("keyed").apply("a", spec(keyed=[item("1", value="v"), item("2")])).apply(
        "b", spec(keyed=[item("3"), item("1", other="o")])
    ).apply("b", spec(keyed=[item("1", value="w")])).apply("b", spec(keyed=[item("1", value="w")]), force=True).apply(
        "a", spec(keyed=[item("2", protocol="UDP"), item("2")])
    ).apply("b", {}).apply("a", spec(keyed=[item("4"), item("2"), item("0")]))
    yield Case("keyed-order").apply("a", spec(keyed=[item("1"), item("2"), item("3"), item("4")])).apply(
        "b", spec(keyed=[item("3"), item("5"), item("1")])
    ).apply("c", spec(keyed=[item("6"), item("4"), item("7"), item("2")])).merge(
        "m", spec(keyed=[item("9", protocol="TCP"), item("1", protocol="TCP"), item("3", protocol="TCP")])
    ).apply("b", spec(keyed=[item("1"), item("3")]))
    yield Case("keyed-wrong").apply("a", spec(keyed=[item("1"), item("1")])).apply("a", spec(keyed=[{"value": "x"}]))
    yield Case("maps").apply("a", spec(map={"x": "1", "y": "2"}, maps={"p": {"q": "r"}, "e": {}})).apply(
        "b", spec(map={"z": "3"}, maps={"p": {"s": "t"}})
    ).apply("a", spec(map={"y": "2"}, maps={})).apply("a", {}).apply("b", {})
    yield Case("atomic").apply("a", spec(atomic={"a": "1"}, plain=["x"])).apply("b", spec(atomic={"b": "2"})).apply(
        "b", spec(atomic={"b": "2"}, plain=["y"]), force=True
    ).apply("a", spec(text="t")).apply("b", {})
    yield Case("objects").apply("a", spec(object={"a": "1", "deep": {"c": "1"}})).apply(
        "b", spec(object={"b": "1", "deep": {"d": "2"}})
    ).apply("a", spec(object={"a": "1"})).apply("a", {}).apply("b", spec(object={}))
    yield Case("unowned").create("c", spec(object={"a": "1", "b": "2"}, map={"x": "1"})).apply("a", spec(map={"y": "2"})).apply(
        "a", {}
    ).apply("a", spec(object={"deep": {"c": "1"}})).apply("a", {})
    yield Case("open").apply("a", spec(open={"x": {"y": 1, "z": [1, 2]}, "w": {}})).apply("b", spec(open={"x": {"v": True}})).apply(
        "b", spec(open={"x": {"z": [3]}})
    ).apply("a", spec(open={"x": {"y": 2}})).apply("a", {})
    yield Case("nulls").apply("a", spec(maybe=None, text="t")).apply("a", spec(maybe="x")).apply("b", spec(maybe=None)).apply(
        "b", spec(map=None, plain=None, object=None)
    )
    yield Case("unknown").apply("a", spec(nope=1)).apply("a", {"nope": 1, **spec(text="t", object={"zz": 1})})
    yield Case("updates").create("c", spec(text="1", number=1, map={"x": "1"})).merge("c", spec(number=2)).merge(
        "d", spec(number=3, text="1")
    ).merge("d", spec(text=None)).merge("d", spec(map={"x": None})).apply("a", spec(number=4)).apply(
        "a", spec(number=4), force=True
    ).merge("c", spec(number=5)).apply("a", spec(number=4), force=True)
    yield Case("metadata").apply(
        "a", {"metadata": {"labels": {"l": "1"}, "annotations": {"n": "1"}, "finalizers": ["example.com/f"]}}
    ).apply("b", {"metadata": {"labels": {"m": "2"}, "finalizers": ["example.com/g"]}}).apply("a", {"metadata": {"labels": {"l": "2"}}}).merge(
        "c", {"metadata": {"labels": {"l": None}, "finalizers": ["example.com/g"]}}
    ).apply("a", {}).merge("c", {"metadata": {"finalizers": None}})
    yield Case("status").apply("a", {**spec(text="1"), "status": {"phase": "x"}}).apply(
        "s", {"status": {"phase": "p", "conditions": [{"type": "Ready", "status": "True"}]}}, part="status"
    ).merge("u", {"status": {"phase": "q"}}, part="status").apply(
        "s", {"status": {"phase": "p", "conditions": [{"type": "Other", "status": "True"}]}}, part="status"
    ).apply("s", {"status": {"phase": "p"}, **spec(text="2")}, part="status", force=True).apply("a", spec(text="3")).apply(
        "a", {"status": {"phase": "r"}}, part="status"
    )
    yield Case("versions").apply("a", spec(text="1", number=1)).apply("a", spec(text="2"), version="v2").create(
        "c", spec()
    ).merge("u", spec(number=3), version="v2").merge("u", spec(number=4)).apply("b", spec(number=5)).apply("b", spec(number=5), force=True)
    yield Case("reset").apply("a", spec(text="1")).merge("m", {"metadata": {"managedFields": []}}).merge("m", spec(text="2")).apply(
        "a", spec(text="3")
    ).apply("a", spec(text="3"), force=True).merge("m", {"metadata": {"managedFields": [{}]}, **spec(number=7)})
    many = Case("many-managers").create("m0", spec(map={"k": "0"}))
    for number in range(1, 13):
        many.merge(f"m{number}", spec(map={f"k{number}": "x"}))
    yield many
    yield Case("configmap", "ConfigMap", "", "configmaps").create("c", {"data": {"x": "1", "y": "2"}}).apply(
        "a", {"data": {"x": "2"}}
    ).apply("a", {"data": {"x": "2", "z": "3"}}, force=True).apply("a", {"data": {"z": "3"}}).merge("m", {"data": {"z": None}}).merge(
        "m", {"immutable": True}
    )
    yield Case("secret", "Secret", "", "secrets").apply("a", {"stringData": {"x": "1"}, "data": {"y": "eA=="}}).apply(
        "b", {"type": "Opaque", "data": {"x": "Mg=="}}
    ).create("c", {})
    yield Case("account", "ServiceAccount", "", "serviceaccounts").create(
        "c", {"secrets": [{"name": "one"}], "imagePullSecrets": [{"name": "p"}]}
    ).apply("a", {"secrets": [{"name": "two"}], "imagePullSecrets": [{"name": "q"}]}).apply("a", {"secrets": [{"name": "two"}]}).apply("a", {})
    yield Case("role", "Role", "rbac.authorization.k8s.io", "roles").create(
        "c", {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
    ).apply("a", {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]}).apply(
        "a", {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]}, force=True
    )
    yield Case("lease", "Lease", "coordination.k8s.io", "leases").create("c", {"spec": {"holderIdentity": "x", "leaseDurationSeconds": 3}}).merge(
        "d", {"spec": {"holderIdentity": "y"}}
    ).apply("a", {"spec": {"leaseDurationSeconds": 3}}).apply("a", {})


def main():
    ask("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
    for _ in range(100):
        status, _, _ = ask("GET", f"/apis/apply.example.com/v2/namespaces/{NAMESPACE}/samples")
        if status == 200:
            break
        time.sleep(0.1)
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "definition.json").write_text(json.dumps(DEFINITION, indent=1, sort_keys=True) + "\n")
    wanted = sys.argv[1:]
    for case in cases():
        if not wanted or case.name in wanted:
            case.write()


if __name__ == "__main__":
    main()
