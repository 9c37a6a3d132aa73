//! What configures `render-helm-chart`.

use lanai_functions::config;
use lanai_krm::Resource;
use lanai_yaml::NodeRef;

/// Where charts are if nothing is said.
const CHART_HOME: &str = "tmp/charts";

/// A chart to render.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Chart {
    /// The folder of charts.
    pub home: String,
    /// The folder of helm's own configuration.
    pub config_home: Option<String>,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
    /// Where it is fetched from.
    pub repo: Option<String>,
    /// The registry to log in to.
    pub registry: Option<String>,
    /// Where name and password are.
    pub auth: Option<SecretName>,
    /// What is rendered.
    pub template: Template,
    /// Files of values.
    pub values_files: Vec<String>,
    /// Values, as JSON.
    pub values_inline: Option<String>,
    /// Which values win.
    pub values_merge: ValuesMerge,
}

/// What goes into the templates beside values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Template {
    /// The name of the release.
    pub release: Option<String>,
    /// A template for it.
    pub name_from: Option<String>,
    /// Its namespace.
    pub namespace: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// What the cluster can do.
    pub api_versions: Vec<String>,
    /// Whether definitions are part of the answer.
    pub include_crds: bool,
    /// Whether tests are left out.
    pub skip_tests: bool,
}

/// Which values win.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ValuesMerge {
    /// Inline ones, then files, the first first.
    #[default]
    Override,
    /// Files, the last first, then inline ones.
    Merge,
    /// There are inline ones only.
    Replace,
}

/// The name of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SecretName {
    /// Its namespace; the default one where nothing is said.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Reads the charts of a configuration.
///
/// # Errors
/// In words, when it is something else.
pub(super) fn read(config: Option<&Resource>) -> Result<Vec<Chart>, String> {
    let kind = config.and_then(Resource::kind).unwrap_or_default();
    match (config, &*kind) {
        (Some(config), "ConfigMap") => flat(config).map(|chart| vec![chart]),
        (Some(config), "RenderHelmChart") => typed(config.root()),
        (Some(_) | None, _) => Err("`functionConfig` must be `ConfigMap` or `RenderHelmChart`".into()),
    }
}

fn flat(config: &Resource) -> Result<Chart, String> {
    let pairs = config::pairs(config, "data").map_err(|wrong| wrong.to_string())?;
    let text = |key: &str| config::value(&pairs, key).filter(|value| !value.is_empty()).map(String::from);
    checked(Chart {
        home: text("chartHome").unwrap_or_else(|| CHART_HOME.into()),
        config_home: text("configHome"),
        name: text("name").unwrap_or_default(),
        version: text("version"),
        repo: text("repo"),
        template: Template {
            release: text("releaseName"),
            name_from: text("nameTemplate"),
            namespace: text("namespace"),
            include_crds: text("includeCRDs").is_some_and(|value| value == "true"),
            skip_tests: text("skipTests").is_some_and(|value| value == "true"),
            ..Template::default()
        },
        values_files: text("valuesFile").into_iter().collect(),
        ..Chart::default()
    })
}

fn typed(root: NodeRef<'_>) -> Result<Vec<Chart>, String> {
    let globals = Fields::of(root, "", "helmGlobals")?;
    let Some(list) = config::list(root, "helmCharts").map_err(|wrong| wrong.to_string())? else {
        return Ok(Vec::new());
    };
    let charts = list.items().enumerate();
    charts
        .map(|(at, chart)| {
            let place = format!("helmCharts[{at}].");
            let arguments = Fields::of(chart, &place, "chartArgs")?;
            let options = Fields::of(chart, &place, "templateOptions")?;
            let values = options.fields("values")?;
            checked(Chart {
                home: globals.text("chartHome")?.unwrap_or_else(|| CHART_HOME.into()),
                config_home: globals.text("configHome")?,
                name: arguments.text("name")?.unwrap_or_default(),
                version: arguments.text("version")?,
                repo: arguments.text("repo")?,
                registry: arguments.text("registry")?,
                auth: auth(&arguments)?,
                template: Template {
                    release: options.text("releaseName")?,
                    name_from: options.text("nameTemplate")?,
                    namespace: options.text("namespace")?,
                    description: options.text("description")?,
                    api_versions: options.texts("apiVersions")?,
                    include_crds: options.is_true("includeCRDs")?,
                    skip_tests: options.is_true("skipTests")?,
                },
                values_files: values.texts("valuesFiles")?,
                values_inline: inline(&values)?,
                values_merge: match values.text("valuesMerge")?.as_deref() {
                    None | Some("override") => ValuesMerge::Override,
                    Some("merge") => ValuesMerge::Merge,
                    Some("replace") => ValuesMerge::Replace,
                    Some(_) => return Err("valuesMerge must be one of [merge override replace]".into()),
                },
            })
        })
        .collect()
}

fn checked(chart: Chart) -> Result<Chart, String> {
    if chart.name.is_empty() {
        return Err("a chart has no name; `name` says which one is meant".into());
    }
    Ok(chart)
}

fn auth(arguments: &Fields<'_>) -> Result<Option<SecretName>, String> {
    let auth = arguments.fields("auth")?;
    if auth.node.is_none() {
        return Ok(None);
    }
    if auth.text("kind")?.is_none_or(|kind| kind != "Secret") {
        return Err("auth `kind` must be `Secret`".into());
    }
    Ok(Some(SecretName {
        namespace: auth.text("namespace")?.unwrap_or_else(|| "default".into()),
        name: auth.text("name")?.unwrap_or_default(),
    }))
}

fn inline(values: &Fields<'_>) -> Result<Option<String>, String> {
    let Some(node) = values.fields("valuesInline")?.node else { return Ok(None) };
    let read: serde_json::Value =
        node.deserialize().map_err(|cause| format!("the values cannot be read: {cause}"))?;
    Ok(Some(read.to_string()))
}

/// The fields of a mapping, which may be missing.
struct Fields<'a> {
    node: Option<NodeRef<'a>>,
    place: String,
}

impl<'a> Fields<'a> {
    fn of(node: NodeRef<'a>, place: &str, field: &str) -> Result<Self, String> {
        let found = config::mapping(node, field).map_err(|wrong| at(place, &wrong))?;
        Ok(Self { node: found, place: format!("{place}{field}.") })
    }

    fn fields(&self, field: &str) -> Result<Self, String> {
        match self.node {
            Some(node) => Self::of(node, &self.place, field),
            None => Ok(Self { node: None, place: self.place.clone() }),
        }
    }

    /// A text; an empty one is none.
    fn text(&self, field: &str) -> Result<Option<String>, String> {
        let Some(node) = self.node else { return Ok(None) };
        let found = config::scalar(node, field).map_err(|wrong| at(&self.place, &wrong))?;
        Ok(found.filter(|text| !text.is_empty()))
    }

    fn texts(&self, field: &str) -> Result<Vec<String>, String> {
        let Some(node) = self.node else { return Ok(Vec::new()) };
        let list = config::list(node, field).map_err(|wrong| at(&self.place, &wrong))?;
        let texts = list.into_iter().flat_map(NodeRef::items).map(|item| item.as_str().map(String::from));
        texts.collect::<Option<_>>().ok_or_else(|| format!("\"{}{field}\" is a list of texts", self.place))
    }

    fn is_true(&self, field: &str) -> Result<bool, String> {
        Ok(self.text(field)?.is_some_and(|value| value == "true"))
    }
}

/// The whole path of a field that is wrong.
fn at(place: &str, wrong: &config::Wrong) -> String {
    let path = format!("{place}{}", wrong.path);
    config::Wrong { path, found: wrong.found, expected: wrong.expected }.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<Vec<Chart>, String> {
        read(Some(&Resource::parse(text).unwrap()))
    }

    #[test]
    fn a_config_map_has_one_chart() {
        let charts = check(
            "kind: ConfigMap\ndata: {name: web, version: 1.10, includeCRDs: 'true', skipTests: 'yes', valuesFile: a.yaml, repo: ''}\n",
        );
        let expected = Chart {
            home: "tmp/charts".into(),
            name: "web".into(),
            version: Some("1.10".into()),
            template: Template { include_crds: true, ..Template::default() },
            values_files: vec!["a.yaml".into()],
            ..Chart::default()
        };
        assert_eq!(charts, Ok(vec![expected]));
    }

    #[test]
    fn a_typed_configuration_has_many() {
        let charts = check(
            "kind: RenderHelmChart\nhelmGlobals: {chartHome: /charts, configHome: /config}\nhelmCharts:\n- chartArgs: {name: a, auth: {kind: Secret, name: s}}\n  \
             templateOptions: {apiVersions: [x/v1], skipTests: true, values: {valuesInline: {a: 1, b: [c]}, valuesMerge: merge}}\n- chartArgs: {name: b}\n",
        )
        .unwrap();
        assert_eq!(charts.len(), 2);
        assert_eq!(charts[0].home, "/charts");
        assert_eq!(charts[0].auth, Some(SecretName { namespace: "default".into(), name: "s".into() }));
        assert_eq!(charts[0].template.api_versions, ["x/v1"]);
        assert!(charts[0].template.skip_tests);
        assert_eq!(charts[0].values_inline.as_deref(), Some(r#"{"a":1,"b":["c"]}"#));
        assert_eq!(charts[0].values_merge, ValuesMerge::Merge);
        assert_eq!(charts[1].config_home.as_deref(), Some("/config"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |text: &str, why: &str| assert_eq!(check(text).unwrap_err(), why);
        let kinds = "`functionConfig` must be `ConfigMap` or `RenderHelmChart`";
        wrong("kind: Other\n", kinds);
        assert_eq!(read(None).unwrap_err(), kinds);
        wrong("kind: ConfigMap\n", "a chart has no name; `name` says which one is meant");
        let chart = |rest: &str| {
            format!("kind: RenderHelmChart\nhelmCharts:\n- {{chartArgs: {{name: a}}, {rest}}}\n")
        };
        wrong(
            &chart("templateOptions: {values: {valuesMerge: both}}"),
            "valuesMerge must be one of [merge override replace]",
        );
        wrong(
            &chart("templateOptions: {values: 3}"),
            "the field \"helmCharts[0].templateOptions.values\" of the function config is a scalar, a mapping is expected",
        );
        wrong(
            &chart("templateOptions: {apiVersions: [[]]}"),
            "\"helmCharts[0].templateOptions.apiVersions\" is a list of texts",
        );
        wrong(
            "kind: RenderHelmChart\nhelmCharts: [{chartArgs: {name: a, auth: {kind: Other}}}]\n",
            "auth `kind` must be `Secret`",
        );
        wrong(
            "kind: RenderHelmChart\nhelmCharts: {}\n",
            "the field \"helmCharts\" of the function config is a mapping, a list is expected",
        );
    }
}
