"""Sends a table of requests to a Kubernetes API server and records its answers, a file per group. See README.md."""

import json
import pathlib
import re
import sys
import time

from server import ask

OUT = pathlib.Path(__file__).resolve().parent / "answers"
NS = "recorded"
CORE = f"/api/v1/namespaces/{NS}"
MAPS = f"{CORE}/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
THINGS = f"/apis/requests.example.com/v1/namespaces/{NS}/things"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NS}/leases"
MERGE, JSON, SMP, SSA = (
    {"Content-Type": f"application/{kind}"}
    for kind in ("merge-patch+json", "json-patch+json", "strategic-merge-patch+json", "apply-patch+yaml")
)
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
PARTIAL = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
PARTIAL_LIST = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
DISCOVERY = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
HEADERS = ("Content-Type", "Warning", "Retry-After", "Allow")
# Values that differ from run to run.
CHANGING = ("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "time", "continue", "lastTransitionTime", "selfLink", "description", "token", "expirationTimestamp")


def config(name, **fields):
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}


def thing(name, spec=None, **fields):
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": "requests.example.com/v1", "kind": "Thing", "metadata": metadata, **({"spec": spec} if spec is not None else {}), **fields}


def definition(**changes):
    text = {"type": "string"}
    spec = {
        "type": "object",
        "required": ["size"],
        "x-kubernetes-validations": [
            {"rule": "!has(self.low) || !has(self.high) || self.low <= self.high", "message": "low must not be above high"},
            {"rule": "self.size == oldSelf.size || self.size != 'fixed'", "message": "size cannot become fixed"},
            {"rule": "!has(self.low) || self.low != 13", "reason": "FieldValueForbidden", "fieldPath": ".low"},
            {"rule": "!has(self.low) || self.low != 14", "messageExpression": "'low is fourteen'"},
        ],
        "properties": {
            "size": {"type": "string", "enum": ["small", "large", "fixed"]},
            "low": {"type": "integer", "minimum": 1, "maximum": 100, "multipleOf": 1},
            "high": {"type": "integer", "exclusiveMinimum": True, "minimum": 0},
            "ratio": {"type": "number"},
            "name": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$"},
            "when": {"type": "string", "format": "date-time"},
            "address": {"type": "string", "format": "ipv4"},
            "flag": {"type": "boolean", "default": True},
            "list": {"type": "array", "minItems": 1, "maxItems": 3, "items": text},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": text},
            "keyed": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "required": ["name"], "properties": {"name": text, "value": {"type": "integer"}}},
            },
            "map": {"type": "object", "maxProperties": 2, "additionalProperties": {"type": "integer"}},
            "port": {"x-kubernetes-int-or-string": True},
            "choice": {"type": "object", "properties": {"a": text, "b": text}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            "any": {"type": "object", "properties": {"a": text, "b": text}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            "not": {"type": "string", "not": {"enum": ["bad"]}},
            "maybe": {"type": "string", "nullable": True},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.low", "statusReplicasPath": ".status.replicas"}},
        "selectableFields": [{"jsonPath": ".spec.size"}],
        "additionalPrinterColumns": [
            {"name": "Size", "type": "string", "jsonPath": ".spec.size"},
            {"name": "Low", "type": "integer", "jsonPath": ".spec.low", "priority": 1},
        ],
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": spec, "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "phase": text}}},
            }
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.requests.example.com"},
        "spec": {
            "group": "requests.example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList", "shortNames": ["tg"], "categories": ["all"]},
            "versions": [version],
            **changes,
        },
    }


def lease(name, **spec):
    metadata = {"name": name, **spec.pop("metadata", {})}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def boat(version, name, spec):
    return {"apiVersion": f"versions.example.com/{version}", "kind": "Boat", "metadata": {"name": name}, "spec": spec}


def versions(*names, storage="v1"):
    """A definition with several versions, of which the second has a field more."""
    more = {"v2": {"flag": {"type": "string", "default": "red"}}}
    schema = lambda name: {"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "string"}, **more.get(name, {})}},
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
    }}
    columns = {"v2": [{"name": "Flag", "type": "string", "jsonPath": ".spec.flag"}]}
    made = [{
        "name": name, "served": True, "storage": name == storage, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema(name)}, **({"additionalPrinterColumns": columns[name]} if name in columns else {}),
    } for name in names]
    names = {"plural": "boats", "singular": "boat", "kind": "Boat", "listKind": "BoatList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.versions.example.com"},
        "spec": {"group": "versions.example.com", "scope": "Namespaced", "names": names, "versions": made},
    }


def row(name, method, path, body=None, headers=None):
    return {"name": name, "method": method, "path": path, "body": body, "headers": headers or {}}


def groups():
    get, post, put, patch, delete = "GET", "POST", "PUT", "PATCH", "DELETE"
    yield "discovery", [
        row("api", get, "/api"),
        row("core", get, "/api/v1"),
        row("groups aggregated", get, "/apis", headers=DISCOVERY),
        row("api aggregated", get, "/api", headers=DISCOVERY),
        row("group", get, "/apis/coordination.k8s.io"),
        row("version of a group", get, "/apis/coordination.k8s.io/v1"),
        row("rbac", get, "/apis/rbac.authorization.k8s.io/v1"),
        row("definitions", get, "/apis/apiextensions.k8s.io/v1"),
        row("unknown group", get, "/apis/nope.example.com"),
        row("unknown version", get, "/apis/coordination.k8s.io/v7"),
        row("unknown path", get, "/nope"),
        row("unknown resource", get, "/api/v1/nopes"),
        row("version", get, "/version"),
        row("livez", get, "/livez"),
        row("readyz", get, "/readyz"),
        row("healthz", get, "/healthz"),
        row("openapi v3 index", get, "/openapi/v3"),
    ]
    yield "create", [
        row("namespace", post, "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}}),
        row("namespace again", post, "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}}),
        row("namespace with a dot", post, "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a.b"}}),
        row("config map", post, MAPS, config("one", data={"a": "1"})),
        row("config map again", post, MAPS, config("one")),
        row("dry run", post, MAPS + "?dryRun=All", config("dry", data={"a": "1"})),
        row("dry run left nothing", get, MAPS + "/dry"),
        row("bad dry run", post, MAPS + "?dryRun=Some", config("dry")),
        row("no name", post, MAPS, {"apiVersion": "v1", "kind": "ConfigMap"}),
        row("bad name", post, MAPS, config("Bad_Name")),
        row("long name", post, MAPS, config("a" * 254)),
        row("bad label key", post, MAPS, config("two", metadata={"labels": {"-a": "b"}})),
        row("bad label value", post, MAPS, config("two", metadata={"labels": {"a": "b c"}})),
        row("bad annotation", post, MAPS, config("two", metadata={"annotations": {"a b": "c"}})),
        row("bad finalizer", post, MAPS, config("two", metadata={"finalizers": ["plain"]})),
        row("bad owner", post, MAPS, config("two", metadata={"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "one", "uid": ""}]})),
        row("bad data key", post, MAPS, config("two", data={"a b": "c"})),
        row("wrong type of a value", post, MAPS, config("two", data={"a": 1})),
        row("wrong type of a field", post, MAPS, config("two", data=[])),
        row("wrong type of a label", post, MAPS, config("two", metadata={"labels": {"a": 1}})),
        row("other namespace", post, MAPS, config("two", metadata={"namespace": "other"})),
        row("missing namespace", post, "/api/v1/namespaces/missing/configmaps", config("two")),
        row("resource version on create", post, MAPS, config("two", metadata={"resourceVersion": "5"})),
        row("wrong kind", post, MAPS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "two"}}),
        row("wrong version", post, MAPS, {"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "two"}}),
        row("no kind", post, MAPS, {"metadata": {"name": "two"}}),
        row("no JSON", post, MAPS, "{"),
        row("empty body", post, MAPS, ""),
        row("unknown content type", post, MAPS, "x", {"Content-Type": "text/plain"}),
        row("yaml", post, MAPS, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\n", {"Content-Type": "application/yaml"}),
        row("unknown field warns", post, MAPS, config("warn", nope=1)),
        row("unknown field strict", post, MAPS + "?fieldValidation=Strict", config("strict", nope=1, metadata={"nmae": "x"})),
        row("unknown field ignored", post, MAPS + "?fieldValidation=Ignore", config("ignore", nope=1)),
        row("duplicate field strict", post, MAPS + "?fieldValidation=Strict", '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"dup"},"data":{"a":"1","a":"2"}}'),
        row("bad field validation", post, MAPS + "?fieldValidation=Maybe", config("two")),
        row("generate name", post, MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "gen-", "labels": {"gen": "1"}}}),
        row("secret", post, f"{CORE}/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}}),
        row("secret without base64", post, f"{CORE}/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "t"}, "data": {"a": "%%"}}),
        row("secret of a type without its key", post, f"{CORE}/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "t"}, "type": "kubernetes.io/tls"}),
        row("long field manager", post, MAPS + "?fieldManager=" + "m" * 129, config("two")),
    ]
    yield "get", [
        row("object", get, MAPS + "/one"),
        row("missing", get, MAPS + "/missing"),
        row("table", get, MAPS + "/one", headers=TABLE),
        row("metadata only", get, MAPS + "/one", headers=PARTIAL),
        row("yaml", get, MAPS + "/one", headers={"Accept": "application/yaml"}),
        row("not acceptable", get, MAPS + "/one", headers={"Accept": "text/csv"}),
        row("method", "TRACE", MAPS + "/one"),
        row("missing sub-resource", get, MAPS + "/one/status"),
    ]
    yield "list", [
        row("config maps", get, MAPS),
        row("by label", get, MAPS + "?labelSelector=gen%3D1"),
        row("by label in", get, MAPS + "?labelSelector=gen+in+(1,2),!other"),
        row("bad label selector", get, MAPS + "?labelSelector=a%3D%3D%3Db"),
        row("by name", get, MAPS + "?fieldSelector=metadata.name%3Done"),
        row("by name not", get, MAPS + "?fieldSelector=metadata.name!%3Done"),
        row("unknown field", get, MAPS + "?fieldSelector=data.a%3D1"),
        row("bad field selector", get, MAPS + "?fieldSelector=a"),
        row("limit", get, MAPS + "?limit=1"),
        row("bad limit", get, MAPS + "?limit=x"),
        row("bad continue", get, MAPS + "?limit=1&continue=nope"),
        row("bad resource version", get, MAPS + "?resourceVersion=nope"),
        row("match without version", get, MAPS + "?resourceVersionMatch=Exact"),
        row("bad match", get, MAPS + "?resourceVersion=1&resourceVersionMatch=Nope"),
        row("exact zero", get, MAPS + "?resourceVersion=0&resourceVersionMatch=Exact"),
        row("future version", get, MAPS + "?resourceVersion=999999999&timeoutSeconds=1"),
        row("table", get, MAPS + "?limit=1", headers=TABLE),
        row("metadata only", get, MAPS, headers=PARTIAL_LIST),
        row("all namespaces", get, "/api/v1/configmaps?fieldSelector=metadata.namespace%3D" + NS),
        row("empty namespace", get, "/api/v1/namespaces/missing/configmaps"),
        row("initial events without watch", get, MAPS + "?sendInitialEvents=true"),
        row("watch for a second", get, MAPS + "?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Done"),
        row("watch from too old", get, MAPS + "?watch=true&timeoutSeconds=1&resourceVersion=1"),
        row("watch with initial events", get, MAPS + "?watch=true&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&fieldSelector=metadata.name%3Done"),
        row("watch with initial events but no match", get, MAPS + "?watch=true&timeoutSeconds=1&sendInitialEvents=true"),
    ]
    yield "update", [
        row("replace", put, MAPS + "/one", config("one", data={"a": "2"})),
        row("the same again", put, MAPS + "/one", config("one", data={"a": "2"})),
        row("old resource version", put, MAPS + "/one", config("one", metadata={"resourceVersion": "1"})),
        row("bad resource version", put, MAPS + "/one", config("one", metadata={"resourceVersion": "x"})),
        row("other name", put, MAPS + "/one", config("two")),
        row("other uid", put, MAPS + "/one", config("one", metadata={"uid": "x"})),
        row("missing", put, MAPS + "/missing", config("missing")),
        row("missing with version", put, MAPS + "/missing", config("missing", metadata={"resourceVersion": "1"})),
        row("immutable", put, MAPS + "/one", config("one", data={"a": "2"}, immutable=True)),
        row("change of what is immutable", put, MAPS + "/one", config("one", data={"a": "3"}, immutable=True)),
        row("immutable no more", put, MAPS + "/one", config("one", data={"a": "2"})),
        row("dry run", put, MAPS + "/yaml?dryRun=All", config("yaml", data={"x": "y"})),
        row("change of a secret's type", patch, f"{CORE}/secrets/s", {"type": "other"}, MERGE),
    ]
    many = [{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 10001
    yield "patch", [
        row("merge", patch, MAPS + "/yaml", {"data": {"a": "1", "b": "2"}}, MERGE),
        row("merge removes", patch, MAPS + "/yaml", {"data": {"a": None}}, MERGE),
        row("merge changes nothing", patch, MAPS + "/yaml", {}, MERGE),
        row("merge of wrong type", patch, MAPS + "/yaml", {"data": 1}, MERGE),
        row("merge no object", patch, MAPS + "/yaml", "[]", MERGE),
        row("merge no JSON", patch, MAPS + "/yaml", "{", MERGE),
        row("merge unknown strict", patch, MAPS + "/yaml?fieldValidation=Strict", {"nope": 1}, MERGE),
        row("merge old version", patch, MAPS + "/yaml", {"metadata": {"resourceVersion": "1"}}, MERGE),
        row("merge missing", patch, MAPS + "/missing", {}, MERGE),
        row("merge other name", patch, MAPS + "/yaml", {"metadata": {"name": "x"}}, MERGE),
        row("json", patch, MAPS + "/yaml", [{"op": "add", "path": "/data/c", "value": "3"}], JSON),
        row("json test fails", patch, MAPS + "/yaml", [{"op": "test", "path": "/data/c", "value": "4"}], JSON),
        row("json missing path", patch, MAPS + "/yaml", [{"op": "remove", "path": "/data/zz"}], JSON),
        row("json bad operation", patch, MAPS + "/yaml", [{"op": "fly", "path": "/data"}], JSON),
        row("json no list", patch, MAPS + "/yaml", {"a": 1}, JSON),
        row("json too many", patch, MAPS + "/yaml", many, JSON),
        row("strategic", patch, MAPS + "/yaml", {"metadata": {"finalizers": ["example.com/f"]}}, SMP),
        row("strategic adds", patch, MAPS + "/yaml", {"metadata": {"finalizers": ["example.com/g"]}}, SMP),
        row("strategic deletes", patch, MAPS + "/yaml", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/f", "example.com/g"]}}, SMP),
        row("strategic replaces", patch, MAPS + "/yaml", {"data": {"$patch": "replace", "z": "1"}}, SMP),
        row("strategic bad directive", patch, MAPS + "/yaml", {"data": {"$patch": "fly"}}, SMP),
        row("apply", patch, MAPS + "/applied?fieldManager=a", config("applied", data={"a": "1"}), SSA),
        row("apply conflict", patch, MAPS + "/applied?fieldManager=b", config("applied", data={"a": "2"}), SSA),
        row("apply forced", patch, MAPS + "/applied?fieldManager=b&force=true", config("applied", data={"a": "2"}), SSA),
        row("apply removes", patch, MAPS + "/applied?fieldManager=b", config("applied"), SSA),
        row("apply without manager", patch, MAPS + "/applied", config("applied"), SSA),
        row("apply other name", patch, MAPS + "/applied?fieldManager=a", config("other"), SSA),
        row("apply managed fields", patch, MAPS + "/applied?fieldManager=a", config("applied", metadata={"managedFields": [{"manager": "x"}]}), SSA),
        row("apply unknown field", patch, MAPS + "/applied?fieldManager=a", config("applied", nope=1), SSA),
        row("apply other version", patch, MAPS + "/applied?fieldManager=a", {**config("applied"), "apiVersion": "v2"}, SSA),
        row("apply with resource version on missing", patch, MAPS + "/new?fieldManager=a", config("new", metadata={"resourceVersion": "1"}), SSA),
        row("force without apply", patch, MAPS + "/yaml?force=true", {}, MERGE),
        row("unknown patch type", patch, MAPS + "/yaml", {}, {"Content-Type": "application/json"}),
    ]
    yield "definitions", [
        row("create", post, CRDS, definition()),
        row("create again", post, CRDS, definition()),
        row("wrong name", post, CRDS, {**definition(), "metadata": {"name": "x.y"}}),
        row("no structural schema", post, CRDS, definition(versions=[{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": {}}}}}])),
        row("no storage version", post, CRDS, definition(versions=[{"name": "v1", "served": True, "storage": False, "schema": {"openAPIV3Schema": {"type": "object"}}}])),
        row("bad scope", post, CRDS, definition(scope="Nowhere")),
        row("bad group", post, CRDS, {**definition(group="nodot"), "metadata": {"name": "things.nodot"}}),
        {**row("wait", get, CRDS + "/things.requests.example.com"), "until": "Established"},
        row("discovery", get, "/apis/requests.example.com/v1"),
        row("change of the group", patch, CRDS + "/things.requests.example.com", {"spec": {"scope": "Cluster"}}, MERGE),
    ]
    wrong = {
        "required": {}, "wrong type": {"size": 1}, "enum": {"size": "huge"}, "minimum": {"size": "small", "low": 0}, "maximum": {"size": "small", "low": 101},
        "exclusive": {"size": "small", "high": 0}, "short": {"size": "small", "name": "a"}, "long": {"size": "small", "name": "abcdef"},
        "pattern": {"size": "small", "name": "AB"}, "date": {"size": "small", "when": "now"}, "address": {"size": "small", "address": "1.2.3"},
        "few items": {"size": "small", "list": []}, "many items": {"size": "small", "list": ["1", "2", "3", "4"]}, "item type": {"size": "small", "list": [1]},
        "set twice": {"size": "small", "set": ["a", "a"]}, "key twice": {"size": "small", "keyed": [{"name": "a"}, {"name": "a"}]},
        "key missing": {"size": "small", "keyed": [{"value": 1}]}, "map value": {"size": "small", "map": {"a": "b"}}, "many fields": {"size": "small", "map": {"a": 1, "b": 2, "c": 3}},
        "int or string": {"size": "small", "port": True}, "one of none": {"size": "small", "choice": {}}, "one of both": {"size": "small", "choice": {"a": "1", "b": "2"}},
        "any of none": {"size": "small", "any": {}}, "not": {"size": "small", "not": "bad"}, "rule": {"size": "small", "low": 5, "high": 4},
        "rule with reason": {"size": "small", "low": 13}, "rule with expression": {"size": "small", "low": 14}, "null": {"size": "small", "name": None, "maybe": None},
        "several": {"size": "huge", "low": 0, "name": "A"},
    }
    yield "custom", [row(f"wrong: {name}", post, THINGS + "?fieldManager=t", thing("wrong", spec)) for name, spec in wrong.items()] + [
        row("no spec", post, THINGS, thing("bare")),
        row("defaults", post, THINGS, thing("one", {"size": "small", "low": 2})),
        row("unknown field", post, THINGS, thing("two", {"size": "small", "nope": 1})),
        row("unknown field strict", post, THINGS + "?fieldValidation=Strict", thing("three", {"size": "small", "nope": 1, "keyed": [{"name": "a", "x": 1}]})),
        row("open fields", post, THINGS, thing("four", {"size": "large", "open": {"any": {"thing": 1}}})),
        row("transition", patch, THINGS + "/one", {"spec": {"size": "fixed"}}, MERGE),
        row("status is ignored", patch, THINGS + "/one", {"status": {"phase": "x"}}, MERGE),
        row("status", patch, THINGS + "/one/status", {"status": {"phase": "x", "replicas": 3}, "spec": {"size": "large"}}, MERGE),
        row("generation", patch, THINGS + "/one", {"spec": {"low": 3}}, MERGE),
        row("scale", get, THINGS + "/one/scale"),
        row("scale up", patch, THINGS + "/one/scale", {"spec": {"replicas": 7}}, MERGE),
        row("strategic is refused", patch, THINGS + "/one", {}, SMP),
        row("table", get, THINGS, headers=TABLE),
        row("by selectable field", get, THINGS + "?fieldSelector=spec.size%3Dlarge"),
        row("by other field", get, THINGS + "?fieldSelector=spec.low%3D1"),
        row("apply", patch, THINGS + "/applied?fieldManager=a", thing("applied", {"size": "small", "keyed": [{"name": "a", "value": 1}]}), SSA),
        row("apply conflict", patch, THINGS + "/applied?fieldManager=b", thing("applied", {"size": "large", "keyed": [{"name": "a", "value": 2}, {"name": "b"}]}), SSA),
        row("apply unknown", patch, THINGS + "/applied?fieldManager=b", thing("applied", {"size": "small", "nope": 1}), SSA),
    ]
    # Which kinds can be replaced without saying which version one has seen.
    unconditional = [row(f"{name} without a version", put, path, body) for name, path, body in (
        ("secret", f"{CORE}/secrets/s", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}),
        ("namespace", f"/api/v1/namespaces/{NS}", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}}),
        ("account", f"{CORE}/serviceaccounts/robot", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}),
        ("role", f"{RBAC}/namespaces/{NS}/roles/giver", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "giver"}, "rules": []}),
        ("event", f"{CORE}/events/e", {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": {"namespace": NS, "kind": "ConfigMap", "name": "one"}}),
        ("definition", CRDS + "/things.requests.example.com", definition()),
    )]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "b"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "ann"}]}
    review = "/apis/authorization.k8s.io/v1/"
    yield "access", [
        row("role", post, f"{RBAC}/namespaces/{NS}/roles", role),
        row("role without verbs", post, f"{RBAC}/namespaces/{NS}/roles", {**role, "metadata": {"name": "q"}, "rules": [{"apiGroups": [""], "resources": ["pods"]}]}),
        row("binding", post, f"{RBAC}/namespaces/{NS}/rolebindings", binding),
        row("binding to another role", put, f"{RBAC}/namespaces/{NS}/rolebindings/b", {**binding, "roleRef": {**binding["roleRef"], "name": "z"}}),
        row("binding of nothing", post, f"{RBAC}/namespaces/{NS}/rolebindings", {**binding, "metadata": {"name": "c"}, "roleRef": {"kind": "Pod", "name": ""}}),
        row("can I", post, review + "selfsubjectaccessreviews", {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}),
        row("can ann", post, review + "subjectaccessreviews", {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": "ann", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": NS}}}),
        row("review of nothing", post, review + "subjectaccessreviews", {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {}}),
        row("who am I", post, "/apis/authentication.k8s.io/v1/selfsubjectreviews", {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}),
        row("as ann", get, MAPS, headers={"Impersonate-User": "ann"}),
        row("as ann, allowed", get, f"{CORE}/pods", headers={"Impersonate-User": "ann"}),
        row("token of nobody", post, "/apis/authentication.k8s.io/v1/tokenreviews", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "x"}}),
        row("list of reviews", get, review + "subjectaccessreviews"),
    ]
    held = dict(holderIdentity="a", leaseDurationSeconds=15, leaseTransitions=1, acquireTime="2026-01-01T00:00:00.000000Z", renewTime="2026-01-01T00:00:01.000000Z")
    yield "leases", [
        row("held", post, LEASES, lease("held", **held)),
        row("put without a version", put, LEASES + "/held", lease("held", **{**held, "holderIdentity": "", "leaseDurationSeconds": 1})),
        row("given back", patch, LEASES + "/held", {"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}}, MERGE),
        row("given back without a holder", patch, LEASES + "/held", {"spec": {"holderIdentity": None, "leaseTransitions": 2}}, MERGE),
        row("taken", patch, LEASES + "/held", {"spec": {"holderIdentity": "b"}}, MERGE),
        row("made with an empty holder", post, LEASES, lease("empty", holderIdentity="")),
        row("no time at all", post, LEASES, lease("zero", holderIdentity="a", leaseDurationSeconds=0)),
        row("negative transitions", post, LEASES, lease("negative", leaseTransitions=-1)),
        row("preferred without a strategy", post, LEASES, lease("preferred", preferredHolder="b")),
        row("unknown strategy", post, LEASES, lease("strategy", strategy="Mine")),
        row("no such time", post, LEASES, lease("when", renewTime="now")),
        row("a time without fractions", post, LEASES, lease("whole", renewTime="2026-01-01T00:00:01Z")),
        row("made by put", put, LEASES + "/put", lease("put", holderIdentity="a")),
        row("put of another name", put, LEASES + "/other", lease("put", holderIdentity="a")),
        row("put of an old version", put, LEASES + "/missing", lease("missing", metadata={"resourceVersion": "1"})),
        row("no spec", post, LEASES, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "bare"}}),
        row("table", get, LEASES + "/held", headers=TABLE),
        row("applied", patch, LEASES + "/held?fieldManager=t", lease("held", holderIdentity="c"), SSA),
    ]
    partial = lambda kind: {"Accept": f"application/json;as={kind};v=v1;g=meta.k8s.io"}
    yield "forms", [
        row("table with objects", get, MAPS + "/one?includeObject=Object", headers=TABLE),
        row("table without objects", get, MAPS + "/one?includeObject=None", headers=TABLE),
        row("table with something", get, MAPS + "/one?includeObject=Some", headers=TABLE),
        row("older table", get, MAPS + "/one", headers={"Accept": "application/json;as=Table;v=v1beta1;g=meta.k8s.io"}),
        row("table or object", get, MAPS + "/one", headers={"Accept": TABLE["Accept"] + ",application/json"}),
        row("unknown form or object", get, MAPS + "/one", headers={"Accept": "application/json;as=Picture;v=v1;g=meta.k8s.io,application/json"}),
        row("unknown form", get, MAPS + "/one", headers={"Accept": "application/json;as=Picture;v=v1;g=meta.k8s.io"}),
        row("list for one", get, MAPS + "/one", headers=partial("PartialObjectMetadataList")),
        row("one for a list", get, MAPS, headers=partial("PartialObjectMetadata")),
        row("anything", get, MAPS + "/one", headers={"Accept": "*/*"}),
        row("any application", get, MAPS + "/one", headers={"Accept": "application/*"}),
        row("made as a table", post, MAPS + "?dryRun=All", config("tabled"), TABLE),
        row("refused as a table", post, MAPS, config("one"), TABLE),
        row("watched by name", get, MAPS + "/one?watch=true&timeoutSeconds=1"),
        row("post to an object", post, MAPS + "/one", config("one")),
        row("put to a collection", put, MAPS, config("one")),
        row("patch of a collection", patch, MAPS, {}, MERGE),
        row("unknown parameter", get, MAPS + "/one?nope=1"),
        row("slash at the end", get, MAPS + "/?fieldSelector=metadata.name%3Done"),
        row("namespaced without a namespace", post, "/api/v1/configmaps", config("one")),
        row("namespace of what has none", get, f"{RBAC}/namespaces/{NS}/clusterroles"),
        row("status of a namespace", get, f"/api/v1/namespaces/{NS}/status"),
    ]
    whoami = ("/apis/authentication.k8s.io/v1/selfsubjectreviews", {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
    asked = lambda **spec: {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    gives = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "giver"}, "rules": [{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"], "verbs": ["create", "update", "patch"]}]}
    given = {**binding, "metadata": {"name": "giver"}, "roleRef": {**binding["roleRef"], "name": "giver"}, "subjects": [{"kind": "User", "name": "gus"}]}
    gus = {"Impersonate-User": "gus"}
    known = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "recorded-whoami"}, "rules": [{"apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"], "verbs": ["create"]}]}
    everybody = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "recorded-whoami"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "recorded-whoami"}, "subjects": [{"kind": "Group", "name": "system:authenticated"}]}
    yield "identities", [
        row("role for everybody", post, f"{RBAC}/clusterroles", known),
        row("everybody", post, f"{RBAC}/clusterrolebindings", everybody),
        row("group of nobody", post, *whoami, {"Impersonate-Group": "dev"}),
        row("uid of nobody", post, *whoami, {"Impersonate-Uid": "7"}),
        row("extra of nobody", post, *whoami, {"Impersonate-Extra-Scope": "all"}),
        row("user", post, *whoami, {"Impersonate-User": "ann"}),
        row("all of a user", post, *whoami, {"Impersonate-User": "ann", "Impersonate-Group": "dev", "Impersonate-Uid": "7", "Impersonate-Extra-Scope": "all"}),
        row("service account", post, *whoami, {"Impersonate-User": f"system:serviceaccount:{NS}:robot"}),
        row("nobody", post, *whoami, {"Impersonate-User": "system:anonymous"}),
        row("account", post, f"{CORE}/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}),
        row("token", post, f"{CORE}/serviceaccounts/robot/token", asked(audiences=["x"], expirationSeconds=3600)),
        row("token for a moment", post, f"{CORE}/serviceaccounts/robot/token", asked(expirationSeconds=5)),
        row("token of nobody", post, f"{CORE}/serviceaccounts/nobody/token", asked()),
        row("read a token", get, f"{CORE}/serviceaccounts/robot/token"),
        row("role to give roles", post, f"{RBAC}/namespaces/{NS}/roles", gives),
        row("given", post, f"{RBAC}/namespaces/{NS}/rolebindings", given),
        row("more than one has", post, f"{RBAC}/namespaces/{NS}/roles", {**role, "metadata": {"name": "more"}}, gus),
        row("what one has", post, f"{RBAC}/namespaces/{NS}/roles", {**gives, "metadata": {"name": "same"}}, gus),
        row("bind more than one has", post, f"{RBAC}/namespaces/{NS}/rolebindings", {**binding, "metadata": {"name": "more"}}, gus),
        row("event", post, f"{CORE}/events", {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": {"namespace": NS, "kind": "ConfigMap", "name": "one"}}),
        *unconditional,
        row("review elsewhere", post, f"/apis/authorization.k8s.io/v1/namespaces/{NS}/localsubjectaccessreviews", {"apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview", "spec": {"user": "ann", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "other"}}}),
    ]
    one, two = (f"/apis/versions.example.com/{name}/namespaces/{NS}/boats" for name in ("v1", "v2"))
    yield "versions", [
        row("define", post, CRDS, versions("v1", "v2")),
        {**row("wait", get, CRDS + "/boats.versions.example.com"), "until": "Established"},
        row("make", post, one + "?fieldManager=t", boat("v1", "a", {"size": "small"})),
        row("read in another", get, two + "/a"),
        row("list in another", get, two),
        row("table in another", get, two, headers=TABLE),
        row("patch in another", patch, two + "/a?fieldManager=t", {"spec": {"flag": "blue"}}, MERGE),
        row("read in the first", get, one + "/a"),
        row("wrong version for the path", post, two, boat("v1", "b", {})),
        row("apply in another", patch, two + "/a?fieldManager=u", boat("v2", "a", {"size": "large"}), SSA),
        row("apply in another by force", patch, two + "/a?fieldManager=u&force=true", boat("v2", "a", {"size": "large"}), SSA),
        row("status in another", patch, two + "/a/status?fieldManager=t", {"status": {"phase": "x"}, "spec": {"size": "x"}}, MERGE),
        row("replace without a version", put, two + "/a?fieldManager=t", boat("v2", "a", {"flag": "green"})),
        row("version that is not there", get, f"/apis/versions.example.com/v3/namespaces/{NS}/boats"),
        row("group", get, "/apis/versions.example.com"),
        row("resources", get, "/apis/versions.example.com/v2"),
        row("take away what is stored", patch, CRDS + "/boats.versions.example.com", {"spec": {"versions": versions("v2", storage="v2")["spec"]["versions"]}}, MERGE),
        row("two that are stored", patch, CRDS + "/boats.versions.example.com", {"spec": {"versions": [{**one, "storage": True} for one in versions("v1", "v2")["spec"]["versions"]]}}, MERGE),
        row("another that is stored", patch, CRDS + "/boats.versions.example.com", {"spec": {"versions": versions("v1", "v2", storage="v2")["spec"]["versions"]}}, MERGE),
        row("another scope", patch, CRDS + "/boats.versions.example.com", {"spec": {"scope": "Cluster"}}, MERGE),
        row("delete in another", delete, two + "/a"),
    ]
    yield "delete", [
        row("dry run", delete, MAPS + "/one?dryRun=All"),
        row("precondition fails", delete, MAPS + "/one", {"preconditions": {"uid": "x"}}),
        row("precondition of version fails", delete, MAPS + "/one", {"preconditions": {"resourceVersion": "1"}}),
        row("bad policy", delete, MAPS + "/one?propagationPolicy=Nope"),
        row("policy and orphan", delete, MAPS + "/one", {"propagationPolicy": "Orphan", "orphanDependents": True}),
        row("delete", delete, MAPS + "/one"),
        row("delete again", delete, MAPS + "/one"),
        row("with a finalizer", post, MAPS, config("fin", metadata={"finalizers": ["example.com/f"]})),
        row("delete with a finalizer", delete, MAPS + "/fin"),
        row("add a finalizer while deleted", patch, MAPS + "/fin", {"metadata": {"finalizers": ["example.com/f", "example.com/g"]}}, MERGE),
        row("remove the finalizer", patch, MAPS + "/fin", {"metadata": {"finalizers": None}}, MERGE),
        row("gone", get, MAPS + "/fin"),
        row("foreground", delete, MAPS + "/yaml?propagationPolicy=Foreground"),
        row("collection by label", delete, MAPS + "?labelSelector=gen%3D1"),
        row("custom", delete, THINGS + "/one"),
        row("bad body", delete, MAPS + "/applied", "{"),
        row("wrong options", delete, MAPS + "/applied", {"kind": "Pod", "apiVersion": "v1"}),
        row("collection of namespaces", delete, "/api/v1/namespaces"),
        row("definition", delete, CRDS + "/things.requests.example.com"),
    ]


def settled(value, key=None):
    """A value without what differs from run to run."""
    if key in CHANGING and value not in (None, ""):
        return f"<{key}>"
    if isinstance(value, dict):
        return {name: settled(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [settled(inner) for inner in value]
    if isinstance(value, str):
        value = re.sub(r"gen-[a-z0-9]{5}\b", "gen-<random>", value)
        return re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>", value)
    return value


def record(entry):
    until = entry.pop("until", None)
    for _ in range(100):
        status, headers, text = ask(entry["method"], entry["path"], entry["body"], entry["headers"])
        if not until or re.search(rf'"type":"{until}","status":"True"', text):
            break
        time.sleep(0.1)
    answer = {"status": status, "headers": {name: headers[name] for name in HEADERS if name in headers}}
    try:
        answer["body"] = settled(json.loads(text))
    except ValueError:
        lines = [line for line in text.split("\n") if line]
        try:
            answer["events"] = [settled(json.loads(line)) for line in lines]
        except ValueError:
            answer["text"] = text[:2000]
    if isinstance(entry["body"], list) and len(entry["body"]) > 100:
        entry["body"] = {"repeat": entry["body"][0], "times": len(entry["body"])}
    return {**entry, "answer": answer}


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    wanted = sys.argv[1:]
    total = 0
    for name, rows in groups():
        recorded = [record(entry) for entry in rows]
        total += len(recorded)
        if not wanted or name in wanted:
            (OUT / f"{name}.json").write_text(json.dumps(recorded, indent=1) + "\n")
    print(total, "requests")


if __name__ == "__main__":
    main()
