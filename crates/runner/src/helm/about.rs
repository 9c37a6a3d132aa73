//! What users should know about `render-helm-chart`.

use lanai_functions::report;
use lanai_functions::{Counterpart, Deviation, Doc, Failure, Field, Function};
use lanai_krm::ResourceList;

/// The function, as the page about functions and the look-up of images know it.
struct RenderHelmChart;

/// See [`about_helm`](super::about_helm).
pub(super) fn about() -> &'static dyn Function {
    &RenderHelmChart
}

impl Function for RenderHelmChart {
    fn name(&self) -> &'static str {
        "render-helm-chart"
    }

    fn tags(&self) -> &'static [&'static str] {
        &["v0.1", "v0.1.0", "v0.2", "v0.2.0", "v0.2.1", "v0.2.2", "v0.3", "v0.3.0"]
    }

    fn counterpart(&self) -> Counterpart {
        Counterpart::None { why: "what it answers is up to the `helm` that it calls; its own tests call one" }
    }

    fn doc(&self) -> Doc {
        DOC
    }

    /// Fails: what calls a program needs an evaluator with a grant, which is [`Helm`](super::Helm).
    fn run(&self, list: &mut ResourceList) -> Result<(), Failure> {
        let why = "render-helm-chart calls the program \"helm\", and cannot be run inside of this one";
        Err(Failure::report(list, report::error(why)))
    }
}

const DOC: Doc = Doc {
    purpose: "Renders Helm charts, and adds the resources that are not there yet: those of a group, kind, namespace and name that no \
              resource has. It calls the program `helm`, which has to be on the machine and to be allowed by name (`--allow-program \
              helm`). A chart that is not on the machine is fetched, which needs the network to be allowed. Charts and files of values \
              on the machine have to be mounted.",
    config: &[
        Field {
            path: "helmGlobals.chartHome",
            meaning: "the folder of charts, below the mounts; `tmp/charts` if there is none. A chart that is not in it is fetched. In a \
                      `ConfigMap`: `data.chartHome`",
        },
        Field {
            path: "helmGlobals.configHome",
            meaning: "the folder of helm's own configuration, below the mounts. In a `ConfigMap`: `data.configHome`",
        },
        Field {
            path: "helmCharts[].chartArgs.name",
            meaning: "the chart. In a `ConfigMap`, which has one chart: `data.name`, and so for `version`, `repo`, `releaseName`, \
                      `namespace`, `nameTemplate`, `includeCRDs`, `skipTests`",
        },
        Field { path: "helmCharts[].chartArgs.version", meaning: "its version; the newest if there is none" },
        Field {
            path: "helmCharts[].chartArgs.repo",
            meaning: "where it is fetched from: `https://` or `oci://`",
        },
        Field {
            path: "helmCharts[].chartArgs.registry",
            meaning: "the registry to log in to, for `oci://` with `auth`",
        },
        Field {
            path: "helmCharts[].chartArgs.auth",
            meaning: "`kind: Secret`, `name` and `namespace` of a resource of the package whose `data` has `username` and `password`",
        },
        Field { path: "helmCharts[].templateOptions.releaseName", meaning: "the name of the release" },
        Field {
            path: "helmCharts[].templateOptions.nameTemplate",
            meaning: "a template for the name of the release",
        },
        Field { path: "helmCharts[].templateOptions.namespace", meaning: "the namespace of the release" },
        Field { path: "helmCharts[].templateOptions.description", meaning: "a description of the release" },
        Field {
            path: "helmCharts[].templateOptions.apiVersions",
            meaning: "what the templates find in `.Capabilities.APIVersions`",
        },
        Field {
            path: "helmCharts[].templateOptions.includeCRDs",
            meaning: "whether the definitions of the chart are part of the answer",
        },
        Field {
            path: "helmCharts[].templateOptions.skipTests",
            meaning: "whether the tests of the chart are left out",
        },
        Field {
            path: "helmCharts[].templateOptions.values.valuesFiles",
            meaning: "files of values, below the mounts or `https://`. In a `ConfigMap`: `data.valuesFile`, one of them",
        },
        Field { path: "helmCharts[].templateOptions.values.valuesInline", meaning: "values" },
        Field {
            path: "helmCharts[].templateOptions.values.valuesMerge",
            meaning: "`override`: inline values win over those in files, and a file over those behind it; `merge`: values in files, \
                      or else those of the chart, win over inline ones, and a file over those before it; `replace`: there are inline \
                      values only. `override` if nothing is said",
        },
    ],
    example: "apiVersion: fn.kpt.dev/v1alpha1\nkind: RenderHelmChart\nmetadata:\n  name: render\nhelmCharts:\n- chartArgs:\n    name: \
              web\n    version: 1.2.3\n    repo: https://charts.example.com\n  templateOptions:\n    releaseName: shop\n    values:\n      \
              valuesInline:\n        replicas: 2\n",
    deviations: &[
        Deviation {
            there: "a chart that was fetched stays in the folder of charts",
            here: "it goes away: the function leaves nothing behind",
            fixtures: &["helm::a_chart_is_fetched_with_a_password"],
        },
        Deviation {
            there: "the password of a repository is an argument of helm, which every process of the machine can see",
            here: "helm reads it from its standard input",
            fixtures: &["helm::a_chart_is_fetched_with_a_password"],
        },
        Deviation {
            there: "a chart without `values.yaml` fails unless a file of values is named",
            here: "it has no values of its own",
            fixtures: &["helm::a_chart_needs_no_values"],
        },
        Deviation {
            there: "inline values that are false, zero or empty do not always win",
            here: "they win as others do: helm merges the values",
            fixtures: &["helm::inline_values_win"],
        },
    ],
};
