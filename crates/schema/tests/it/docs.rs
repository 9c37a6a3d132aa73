//! What the function says of itself.

use lanai_functions::catalog::find_in;
use lanai_krm::Resource;
use lanai_schema::function;

#[test]
fn the_example_is_a_configuration() {
    let example = Resource::parse(function().doc().example).unwrap();
    let data = example.root().get("data").unwrap();
    for (key, _) in data.entries() {
        let known = function().doc().config.iter().any(|field| field.path == key.value());
        assert!(known, "{key:?}");
    }
}

#[test]
fn images_of_both_names_find_it() {
    let all = [function()];
    for image in [
        "kubeconform",
        "kubeval",
        "ghcr.io/kptdev/krm-functions-catalog/kubeconform:latest",
        "gcr.io/kpt-fn/kubeval:v0.3",
        "kubeconform:v0.1.3",
    ] {
        assert!(find_in(&all, image).is_some(), "{image}");
    }
    for image in ["kubeconform:v9", "example.com/kubeconform:latest", "kubeconfor"] {
        assert!(find_in(&all, image).is_none(), "{image}");
    }
}
