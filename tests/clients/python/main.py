"""Asks a Kubernetes API server with the official client for Python: lists, watches that resume, patches.

KUBECONFIG names the server. Each suite prints one line when it held; a failure ends the program.
"""

from kubernetes import client, config, watch
from kubernetes.client.rest import ApiException


def make(core, name, labels=None, data=None):
    body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels=labels), data=data or {"a": "1"})
    return core.create_namespaced_config_map("default", body)


def lists(core):
    for number in range(30):
        make(core, f"py-{number:02}", {"suite": "lists", "parity": str(number % 2)})
    whole = core.list_namespaced_config_map("default", label_selector="suite=lists")
    assert len(whole.items) == 30, len(whole.items)
    odd = core.list_namespaced_config_map("default", label_selector="suite=lists,parity=1")
    assert len(odd.items) == 15, len(odd.items)
    one = core.list_namespaced_config_map("default", field_selector="metadata.name=py-07")
    assert [item.metadata.name for item in one.items] == ["py-07"]
    names, token = [], None
    while True:
        page = core.list_namespaced_config_map("default", label_selector="suite=lists", limit=7, _continue=token)
        assert page.metadata.resource_version == (whole.metadata.resource_version if not names else first)
        first = page.metadata.resource_version
        names += [item.metadata.name for item in page.items]
        token = page.metadata._continue
        if not token:
            break
    assert names == sorted(names) and len(names) == 30, names


def watches(core):
    begin = core.list_namespaced_config_map("default").metadata.resource_version
    for number in range(5):
        make(core, f"watched-{number}", {"suite": "watches"})
    first = watch.Watch()
    seen, version = [], None
    for event in first.stream(core.list_namespaced_config_map, "default", label_selector="suite=watches",
                              resource_version=begin, timeout_seconds=20):
        seen.append((event["type"], event["object"].metadata.name))
        version = event["object"].metadata.resource_version
        if len(seen) == 3:
            first.stop()
    core.patch_namespaced_config_map("watched-1", "default", {"data": {"a": "2"}})
    core.delete_namespaced_config_map("watched-0", "default")
    # The second watch goes on where the first one ended.
    second = watch.Watch()
    for event in second.stream(core.list_namespaced_config_map, "default", label_selector="suite=watches",
                               resource_version=version, timeout_seconds=20):
        seen.append((event["type"], event["object"].metadata.name))
        if event["type"] == "DELETED":
            second.stop()
    expected = [("ADDED", f"watched-{number}") for number in range(5)]
    expected += [("MODIFIED", "watched-1"), ("DELETED", "watched-0")]
    assert seen == expected, seen
    try:
        for _ in watch.Watch().stream(core.list_namespaced_config_map, "default", resource_version="999999999", timeout_seconds=2):
            raise AssertionError("a version of the future has no events")
    except ApiException as refused:
        assert refused.status in (410, 504), refused


def patches(core):
    make(core, "patched", data={"a": "1", "b": "1"})
    # A dict is sent as a strategic merge patch, a list as a JSON patch.
    core.patch_namespaced_config_map("patched", "default", {"data": {"a": "2", "b": None}})
    core.patch_namespaced_config_map("patched", "default", [{"op": "add", "path": "/data/c", "value": "3"}])
    core.patch_namespaced_config_map("patched", "default", {"metadata": {"labels": {"x": "y"}}}, dry_run="All")
    found = core.read_namespaced_config_map("patched", "default")
    assert found.data == {"a": "2", "c": "3"} and found.metadata.labels is None, found
    found.data["a"] = "4"
    stale = found.metadata.resource_version
    core.replace_namespaced_config_map("patched", "default", found)
    found.metadata.resource_version = stale
    try:
        core.replace_namespaced_config_map("patched", "default", found)
        raise AssertionError("an old version is a conflict")
    except ApiException as conflict:
        assert conflict.status == 409, conflict
    custom = client.CustomObjectsApi()
    repository = {"apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository", "metadata": {"name": "py"},
                  "spec": {"type": "git", "git": {"repo": "https://git.example/py.git"}}}
    place = ("config.porch.kpt.dev", "v1alpha1", "default", "repositories")
    custom.create_namespaced_custom_object(*place, repository)
    changed = custom.patch_namespaced_custom_object(*place, "py", {"spec": {"description": "ours"}})
    assert changed["metadata"]["generation"] == 2 and changed["spec"]["description"] == "ours", changed
    custom.delete_namespaced_custom_object(*place, "py")
    core.delete_namespaced_config_map("patched", "default")


def main():
    config.load_kube_config()
    core = client.CoreV1Api()
    for suite in (lists, watches, patches):
        suite(core)
        print(suite.__name__, "held", flush=True)


if __name__ == "__main__":
    main()
